"""`profet cost`: time and cost per epoch and per training on every instance."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from profet_cli.arguments import add_format, add_training
from profet_cli.documents import Document, memory_document
from profet_cli.inputs import open_models
from profet_cli.memory import fit_cell, fits_in_memory
from profet_cli.output import MISSING, print_json, print_notes, print_table, print_warnings
from profet_cli.training import predicted_training
from profet_core.catalog import load_catalog
from profet_core.cost import CostRow, CostTable, cost_table
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_duration, format_significant, format_usd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The training."""
    add_format(parser)
    add_training(parser)


def run(options: argparse.Namespace) -> None:
    """Predict, cost and print."""
    models = open_models(options)
    catalog = load_catalog().with_prices(dict(options.price))
    training = predicted_training(options, models, catalog)
    steps = training.steps
    table = cost_table(
        steps.latencies_ms,
        catalog,
        images=options.images,
        validation_images=options.validation_images,
        batch_size=steps.batch_size,
        epochs=options.epochs,
        anchor=options.anchor,
    )
    instances = [row.instance for row in table.rows]
    fits = fits_in_memory(models, catalog, training.profile, options.anchor, instances, steps.batch_size)
    step_times = {row.instance: row for row in steps.step_times}
    if options.format == "json":
        costs = _cost_document(table, step_times)
        warnings = list(training.warnings)
        print_json({"anchor": options.anchor, **costs, "warnings": warnings, "memory": memory_document(fits)})
    else:
        print_warnings(training.warnings)
        _print_costs(table, step_times, fits)


def _cost_document(table: CostTable, step_times: Mapping[str, StepTime]) -> Document:
    return {
        "images": table.images,
        "validation_images": table.validation_images,
        "batch_size": table.batch_size,
        "epochs": table.epochs,
        "rows": [_row_document(row, step_times[row.instance]) for row in table.rows],
    }


def _row_document(row: CostRow, step_time: StepTime) -> Document:
    return {
        "instance": row.instance,
        "latency_ms": row.latency_ms,
        "usd_per_hour": row.usd_per_hour,
        "status": row.status,
        "step_usd": row.step_usd,
        "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
        "images_per_s": row.images_per_s,
        "epoch_s": row.epoch_s,
        "epoch_usd": row.epoch_usd,
        "total_s": row.total_s,
        "total_usd": row.total_usd,
        "speedup": row.speedup,
        "basis": step_time.basis,
        "note": step_time.note,
    }


def _print_costs(table: CostTable, step_times: Mapping[str, StepTime], fits: Mapping[str, FitAnswer]) -> None:
    columns = ("instance", "in memory (batch)", "an epoch", "$ an epoch", f"{table.epochs} epochs", "$ in all")
    print_table(
        (*columns, "images/s", "speed-up", "basis", "status"),
        [_text_row(row, fit_cell(fits, row.instance), step_times[row.instance].basis) for row in table.rows],
    )
    print_notes(step_times[row.instance] for row in table.rows)


def _text_row(row: CostRow, fit: str, basis: str) -> tuple[str, ...]:
    return (
        row.instance,
        fit,
        format_duration(row.epoch_s),
        format_usd(row.epoch_usd),
        format_duration(row.total_s),
        format_usd(row.total_usd),
        format_significant(row.images_per_s),
        MISSING if row.speedup is None else f"{row.speedup:.2f}x",
        basis,
        row.status,
    )
