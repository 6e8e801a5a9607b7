"""`profet predict`: step latency of a profiled network on every instance."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from profet_cli.arguments import add_format, add_profile, instance_number, names
from profet_cli.documents import Document, memory_document, unknown_operations_document
from profet_cli.inputs import open_models, predict_profile, read_profile_file, read_trace
from profet_cli.memory import fit_cell, fits_in_memory
from profet_cli.output import cell, print_json, print_notes, print_table, print_warnings
from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, load_catalog
from profet_core.errors import NoPredictionError
from profet_core.memory.fit import FitAnswer
from profet_core.prediction.correction import correct_by_measurement
from profet_core.prediction.diagnosis import diagnose
from profet_core.prediction.estimates import Likeness
from profet_core.prediction.input_wait import input_wait_warning
from profet_core.prediction.records import InstancePrediction, Prediction
from profet_core.profiles import Profile
from profet_core.units import format_ms, format_usd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The profile, what was measured on targets, and the targets."""
    add_format(parser)
    add_profile(parser)
    parser.add_argument(
        "--measured",
        action="append",
        type=instance_number,
        default=[],
        metavar="INSTANCE=MS",
        help="a latency you measured on a target with the same network",
    )
    parser.add_argument(
        "--measured-trace", metavar="TRACE", help="the anchor's profile of what was measured, if not TRACE"
    )
    parser.add_argument("--measured-trace-latency-ms", type=float, help="its anchor latency")
    parser.add_argument("--targets", type=names, metavar="A,B", help="instances to predict (default: all others)")


def run(options: argparse.Namespace) -> None:
    """Predict and print."""
    trace = read_trace(options)
    models, catalog = open_models(options), load_catalog()
    profile, prediction = predict_profile(options, models, catalog, trace, options.latency_ms, options.targets)
    if options.measured:
        prediction = _corrected(options, models, catalog, profile, prediction)
    instances = [row.instance for row in prediction.predictions]
    fits = fits_in_memory(models, catalog, profile, prediction.anchor, instances)
    if options.format == "json":
        print_json(prediction_document(prediction, fits))
    else:
        _print_prediction(prediction, profile, fits)


def _corrected(
    options: argparse.Namespace, models: Models, catalog: Catalog, profile: Profile, prediction: Prediction
) -> Prediction:
    """The prediction after the latencies of `--measured`, which may be of another profile of the network."""
    reference, reference_meta = prediction, profile.meta
    if options.measured_trace:
        measured = read_profile_file(options.measured_trace)
        try:
            measured, reference = predict_profile(
                options, models, catalog, measured, options.measured_trace_latency_ms, options.targets
            )
        except NoPredictionError as error:
            raise NoPredictionError(f"--measured-trace: {error}") from None
        reference_meta = measured.meta
    return correct_by_measurement(
        prediction, reference, dict(options.measured), meta=profile.meta, reference_meta=reference_meta
    )


def prediction_document(prediction: Prediction, fits: Mapping[str, FitAnswer]) -> Document:
    """The prediction, and by instance whether the step fits in memory."""
    return {
        "anchor": prediction.anchor,
        "anchor_latency_ms": prediction.anchor_latency_ms,
        "method": prediction.method,
        "steps": prediction.steps,
        "steps_basis": prediction.steps_basis,
        "predictions": [_row_document(row) for row in prediction.predictions],
        "interval_level": prediction.interval_level,
        "unknown_operations": unknown_operations_document(prediction.unknown_operations),
        "likeness": prediction.likeness and _likeness_document(prediction.likeness),
        "warnings": list(prediction.warnings),
        "memory": memory_document(fits),
    }


def _row_document(row: InstancePrediction) -> Document:
    interval = row.interval
    return {
        "instance": row.instance,
        "latency_ms": row.latency_ms,
        "low_ms": interval and interval.low_ms,
        "high_ms": interval and interval.high_ms,
        "members": dict(row.members),
        "basis": row.basis,
        "cost_per_1000_steps_usd": row.cost_per_1000_steps_usd,
        "usd_per_hour": row.usd_per_hour,
        "status": row.status,
        "note": row.note,
    }


def _likeness_document(likeness: Likeness) -> Document:
    return {"distance": likeness.distance, "words": likeness.words, "error_percent": likeness.error_percent}


def _print_prediction(prediction: Prediction, profile: Profile, fits: Mapping[str, FitAnswer]) -> None:
    print_warnings((*prediction.warnings, *(f"ignored: {note}" for note in profile.ignored)))
    level = prediction.interval_level
    bounds = () if level is None else (f"low ({level:.0%})", f"high ({level:.0%})")
    print_table(
        ("instance", "ms a step", *bounds, "in memory (batch)", "$ per 1,000 steps", "$ an hour", "basis", "status"),
        [_text_row(row, fit_cell(fits, row.instance), level is not None) for row in prediction.predictions],
    )
    print_notes(prediction.predictions)
    bases = dict.fromkeys(row.basis for row in prediction.predictions)
    print("Basis: " + "; ".join(f"{basis}: {basis.words}" for basis in bases) + ".")
    if prediction.likeness and not prediction.likeness.warned_of:
        print(_likeness_text(prediction.likeness))
    diagnosis = diagnose(profile, prediction.anchor_latency_ms)
    if not diagnosis.another_gpu_helps and not (diagnosis.kind == "input" and input_wait_warning(profile)):
        print(diagnosis.sentence)


def _likeness_text(likeness: Likeness) -> str:
    return (
        f"This network is {likeness.words} those of the training data; left-out networks this far off were predicted "
        f"with a mean error of {likeness.error_words}."
    )


def _text_row(row: InstancePrediction, fit: str, with_bounds: bool) -> tuple[str, ...]:
    interval = row.interval
    bounds = (cell(interval and interval.low_ms, format_ms), cell(interval and interval.high_ms, format_ms))
    return (
        row.instance,
        "not given" if row.latency_ms is None else format_ms(row.latency_ms),
        *(bounds if with_bounds else ()),
        fit,
        cell(row.cost_per_1000_steps_usd, format_usd),
        format_usd(row.usd_per_hour),
        row.basis,
        row.status,
    )
