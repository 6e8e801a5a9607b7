"""`profet predict`: step latency of a profiled network on every instance."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.inputs import open_models, predict_profile, read_profile_file, read_trace
from profet_cli.memory import fit_cell, fits_document, fits_in_memory
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, load_catalog
from profet_core.errors import NoPredictionError
from profet_core.prediction.correction import correct_by_measurement
from profet_core.prediction.diagnosis import diagnose
from profet_core.prediction.estimates import Likeness
from profet_core.prediction.input_wait import input_wait_warning
from profet_core.prediction.records import InstancePrediction, Prediction
from profet_core.profiles import Profile
from profet_core.units import format_ms, format_price, format_usd


def run(options: argparse.Namespace) -> None:
    """Predict and print."""
    trace = read_trace(options)
    models, catalog = open_models(options), load_catalog()
    profile, prediction = predict_profile(options, models, catalog, trace, options.latency_ms)
    if options.measured:
        reference, seen = prediction, profile
        if options.measured_trace:
            seen, reference = _predict_measured(options, models, catalog)
        prediction = correct_by_measurement(
            prediction, reference, dict(options.measured), meta=profile.meta, reference_meta=seen.meta
        )
    instances = [row.instance for row in prediction.predictions]
    fits = fits_in_memory(models, catalog, profile, prediction.anchor, instances)
    if options.format == "json":
        print_json({**prediction_document(prediction), "memory": fits_document(fits)})
        return
    print_warnings((*prediction.warnings, *(f"ignored: {note}" for note in profile.ignored)))
    level = prediction.interval_level
    bounds = () if level is None else (f"low ({level:.0%})", f"high ({level:.0%})")
    print_table(
        ("instance", "ms a step", *bounds, "in memory (batch)", "$ per 1,000 steps", "$ an hour", "basis", "status"),
        [_text_row(row, fit_cell(fits, row.instance), level is not None) for row in prediction.predictions],
    )
    for row in prediction.predictions:
        if row.note:
            print(f"{row.instance}, {row.basis}: {row.note}")
    kinds = dict.fromkeys(row.basis for row in prediction.predictions)
    print("Basis: " + "; ".join(f"{kind}: {kind.words}" for kind in kinds) + ".")
    if prediction.likeness and not prediction.likeness.warned_of:
        print(_likeness_text(prediction.likeness))
    found = diagnose(profile, prediction.anchor_latency_ms)
    if not found.another_gpu_helps and not (found.kind == "input" and input_wait_warning(profile)):
        print(found.sentence)


def _predict_measured(options: argparse.Namespace, models: Models, catalog: Catalog) -> tuple[Profile, Prediction]:
    """The anchor's profile of what was measured, and what is predicted from it."""
    seen = read_profile_file(options.measured_trace)
    try:
        return predict_profile(options, models, catalog, seen, options.measured_trace_latency_ms)
    except NoPredictionError as error:
        raise NoPredictionError(f"--measured-trace: {error}") from None


def prediction_document(prediction: Prediction) -> dict:
    """The prediction as the command's JSON contract has it."""
    unknown = prediction.unknown_operations
    return {
        "anchor": prediction.anchor,
        "anchor_latency_ms": prediction.anchor_latency_ms,
        "method": prediction.method,
        "steps": prediction.steps,
        "steps_basis": prediction.steps_basis,
        "predictions": [_row_document(row) for row in prediction.predictions],
        "interval_level": prediction.interval_level,
        "unknown_operations": {
            "names": list(unknown.names),
            "share": unknown.share,
            "mapped": dict(unknown.mapped),
            "left_out": list(unknown.left_out),
        },
        "likeness": asdict(prediction.likeness) if prediction.likeness else None,
        "warnings": list(prediction.warnings),
    }


def _row_document(row: InstancePrediction) -> dict:
    return {
        "instance": row.instance,
        "latency_ms": row.latency_ms,
        "low_ms": row.interval and row.interval.low_ms,
        "high_ms": row.interval and row.interval.high_ms,
        "members": dict(row.members),
        "basis": row.basis,
        "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
        "usd_per_hour": row.usd_per_hour,
        "status": row.status,
        "note": row.note,
    }


def _likeness_text(likeness: Likeness) -> str:
    return (
        f"This network is {likeness.words} those of the training data; left-out networks this far off were predicted "
        f"with a mean error of {likeness.error_words}."
    )


def _text_row(row: InstancePrediction, fit: str, with_bounds: bool) -> tuple[str, ...]:
    latency = "not given" if row.latency_ms is None else format_ms(row.latency_ms)
    cost = "-" if row.cost_per_1000_steps_usd is None else format_usd(row.cost_per_1000_steps_usd)
    ends = (row.interval.low_ms, row.interval.high_ms) if row.interval else ()
    bounds = [format_ms(value) for value in ends] or ["-", "-"]
    return (
        row.instance,
        latency,
        *(bounds if with_bounds else ()),
        fit,
        cost,
        format_price(row.usd_per_hour),
        row.basis,
        row.status,
    )
