"""`profet cost`: time and cost per epoch and per training on every instance."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.inputs import open_models
from profet_cli.memory import fit_cell, fits_document, fits_in_memory
from profet_cli.output import print_json, print_table, print_warnings
from profet_cli.training import training_steps
from profet_core.catalog import load_catalog
from profet_core.cost import CostRow, cost_table
from profet_core.units import format_duration, format_significant, format_usd


def run(options: argparse.Namespace) -> None:
    """Predict, cost and print."""
    models = open_models(options)
    catalog = load_catalog().with_prices(dict(options.price))
    steps = training_steps(options, models, catalog)
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
    fits = fits_in_memory(models, catalog, steps.profile, options.anchor, instances, steps.batch_size)
    rests = {row.instance: row for row in steps.step_times}
    if options.format == "json":
        document = asdict(table)
        document["rows"] = [
            {**row, "basis": rests[row["instance"]].basis, "note": rests[row["instance"]].note}
            for row in document["rows"]
        ]
        warnings, memory = list(steps.warnings), fits_document(fits)
        print_json({"anchor": options.anchor, **document, "warnings": warnings, "memory": memory})
        return
    print_warnings(steps.warnings)
    columns = ("instance", "in memory (batch)", "an epoch", "$ an epoch", f"{table.epochs} epochs", "$ in all")
    print_table(
        (*columns, "images/s", "speed-up", "basis", "status"),
        [_text_row(row, fit_cell(fits, row.instance), rests[row.instance].basis) for row in table.rows],
    )
    for name in instances:
        if rests[name].note:
            print(f"{name}, {rests[name].basis}: {rests[name].note}")


def _text_row(row: CostRow, fit: str, basis: str) -> tuple[str, ...]:
    return (
        row.instance,
        fit,
        format_duration(row.epoch_s),
        format_usd(row.epoch_usd),
        format_duration(row.total_s),
        format_usd(row.total_usd),
        format_significant(row.images_per_s),
        "-" if row.speedup is None else f"{row.speedup:.2f}x",
        basis,
        row.status,
    )
