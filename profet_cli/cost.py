"""`profet cost`: time and cost per epoch and per training on every instance."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict

from profet_cli.inputs import open_models, predict_profile, read_profile_file
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.anchor import Prediction
from profet_core.artifacts import Models
from profet_core.catalog import Catalog, load_catalog
from profet_core.cost import CostRow, check_profiled_batch, cost_table
from profet_core.errors import InputError
from profet_core.scaling import axis_range, scale
from profet_core.scaling_context import ScaleContext
from profet_core.units import format_duration, format_significant, format_usd


def run(options: argparse.Namespace) -> None:
    """Predict, cost and print."""
    models = open_models(options)
    catalog = load_catalog().with_prices(dict(options.price))
    profile = read_profile_file(options.trace)
    prediction = predict_profile(options, models, catalog, profile, options.latency_ms)
    batch_size = check_profiled_batch(options.profiled_batch, profile.meta.batch_size)
    latencies_ms, warnings = prediction.latencies_ms, prediction.warnings
    if options.at_batch is not None:
        largest = _predict_largest(options, models, catalog, batch_size)
        latencies_ms = _at_batch(
            options.at_batch, models, prediction.latencies_ms, largest.latencies_ms, profile.meta.pixels
        )
        warnings = (*warnings, *(f"--largest: {text}" for text in largest.warnings))
        batch_size = options.at_batch
    elif options.largest is not None:
        raise InputError("--largest is for another batch size: name it with --at-batch.")
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
        print_json({"anchor": options.anchor, **asdict(table), "warnings": list(warnings)})
        return
    print_warnings(warnings)
    print_table(
        ("instance", "an epoch", "$ an epoch", f"{table.epochs} epochs", "$ in all", "images/s", "speed-up", "status"),
        [_text_row(row) for row in table.rows],
    )


def _predict_largest(options: argparse.Namespace, models: Models, catalog: Catalog, profiled_batch: int) -> Prediction:
    """What `--largest`, the profile at the other end of the batch axis, is predicted to take."""
    low, high = axis_range("batch")
    if options.largest is None:
        raise InputError(f"--at-batch needs both ends: TRACE at batch {low} and --largest TRACE at batch {high}.")
    if profiled_batch != low:
        raise InputError(f"--at-batch needs TRACE recorded at batch {low}, not {profiled_batch}.")
    profile = read_profile_file(options.largest)
    if profile.meta.batch_size not in (None, high):
        raise InputError(f"--largest must be recorded at batch {high}, not {profile.meta.batch_size}.")
    return predict_profile(options, models, catalog, profile, options.largest_latency_ms)


def _at_batch(
    at_batch: int,
    models: Models,
    smallest_ms: Mapping[str, float],
    largest_ms: Mapping[str, float],
    pixels: int | None,
) -> dict[str, float]:
    """Latencies at `at_batch`, carried there from both ends, for every instance whose ends are both known."""
    context = ScaleContext(other_size=pixels)
    return {
        name: scale(models, name, "batch", latency_ms, largest_ms[name], at_batch, context=context).latency_ms
        for name, latency_ms in smallest_ms.items()
        if name in largest_ms
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
