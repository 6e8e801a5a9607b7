"""`profet cost`: time and cost per epoch and per training on every instance."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.inputs import open_models, predict_profile, read_profile_file
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.anchor import Prediction
from profet_core.artifacts import Models
from profet_core.catalog import Catalog, load_catalog
from profet_core.cost import CostRow, check_profiled_batch, cost_table
from profet_core.errors import InputError
from profet_core.scaling import axis_range, scale
from profet_core.units import format_duration, format_significant, format_usd


def run(options: argparse.Namespace) -> None:
    """Predict, cost and print."""
    models = open_models(options)
    catalog = load_catalog().with_prices(dict(options.price))
    profile = read_profile_file(options.trace)
    prediction = predict_profile(options, models, catalog, profile, options.latency_ms)
    batch_size = check_profiled_batch(options.profiled_batch, profile.meta.batch_size)
    latencies_ms = prediction.latencies_ms
    if options.at_batch is not None:
        latencies_ms = _at_batch(options, models, catalog, prediction, batch_size)
        batch_size = options.at_batch
    table = cost_table(
        latencies_ms,
        catalog,
        images=options.images,
        validation_images=options.validation_images,
        batch_size=batch_size,
        epochs=options.epochs,
        anchor=options.anchor,
    )
    if options.format == "json":
        print_json({"anchor": options.anchor, **asdict(table), "warnings": list(prediction.warnings)})
        return
    print_warnings(prediction.warnings)
    print_table(
        ("instance", "an epoch", "$ an epoch", f"{table.epochs} epochs", "$ in all", "images/s", "speed-up", "status"),
        [_text_row(row) for row in table.rows],
    )


def _at_batch(
    options: argparse.Namespace, models: Models, catalog: Catalog, smallest: Prediction, profiled_batch: int
) -> dict[str, float]:
    """Latencies at `--at-batch`, carried there from the profiles at both ends of the batch axis."""
    low, high = axis_range("batch")
    if options.largest is None:
        raise InputError(f"--at-batch needs both ends: TRACE at batch {low} and --largest TRACE at batch {high}.")
    if profiled_batch != low:
        raise InputError(f"--at-batch needs TRACE recorded at batch {low}, not {profiled_batch}.")
    profile = read_profile_file(options.largest)
    if profile.meta.batch_size not in (None, high):
        raise InputError(f"--largest must be recorded at batch {high}, not {profile.meta.batch_size}.")
    largest = predict_profile(options, models, catalog, profile, options.largest_latency_ms).latencies_ms
    return {
        name: scale(models, name, "batch", latency_ms, largest[name], options.at_batch).latency_ms
        for name, latency_ms in smallest.latencies_ms.items()
        if name in largest
    }


def _text_row(row: CostRow) -> tuple[str, ...]:
    return (
        row.instance,
        format_duration(row.epoch_s),
        format_usd(row.epoch_usd),
        format_duration(row.total_s),
        format_usd(row.total_usd),
        format_significant(row.images_per_s),
        "-" if row.speedup is None else f"{row.speedup:.2f}x",
        row.status,
    )
