"""`profet predict`: step latency of a profiled network on every instance."""

from __future__ import annotations

import argparse
from collections.abc import Collection

from profet_cli.arguments import add_every_offer, add_fields, add_format, add_models
from profet_cli.inputs import COMMAND_LINE, given_values, open_context
from profet_cli.offers import cheapest_by_gpu, fit_cell, gpus_cell, print_hidden, print_old_prices
from profet_cli.output import cell, print_json, print_notes, print_table, print_warnings
from profet_core.answers.predict import PredictAnswer, answer_predict
from profet_core.documents.answers import PREDICTION
from profet_core.fields.questions import PREDICT, PredictQuestion
from profet_core.prediction.checks import input_wait_warning
from profet_core.prediction.diagnosis import diagnose
from profet_core.prediction.members import Similarity
from profet_core.prediction.records import InstancePrediction
from profet_core.units import format_ms, format_usd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The profile and the targets."""
    add_format(parser)
    add_fields(parser, PREDICT, positional="profile")
    add_models(parser)
    add_every_offer(parser)


def run(options: argparse.Namespace) -> None:
    """Predict and print."""
    question = PredictQuestion(**given_values(options, PREDICT))
    answer = answer_predict(open_context(options), question, COMMAND_LINE)
    if options.format == "json":
        print_json(PREDICTION.document(answer))
    else:
        every = options.every_offer or question.narrowing.is_narrow
        _print_prediction(answer, {answer.prediction.anchor, *(question.targets or ())}, every=every)


def _print_prediction(answer: PredictAnswer, kept: Collection[str], *, every: bool) -> None:
    prediction, profile, fits = answer.prediction, answer.profile, answer.fits
    rows = prediction.predictions
    shown = rows if every else cheapest_by_gpu(rows, lambda row: row.offer, kept)
    print_warnings((*prediction.warnings, *(f"ignored: {note}" for note in profile.ignored)))
    level = prediction.interval_level
    bounds = () if level is None else (f"low ({level:.0%})", f"high ({level:.0%})")
    print_table(
        (
            *("instance", "GPU", "ms/step", *bounds, "memory fit (batch)", "$ per 1,000 steps"),
            *("$/h", "$/GPU/h", "basis", "status"),
        ),
        [_text_row(row, fit_cell(fits, row.instance), level is not None) for row in shown],
    )
    print_hidden(len(rows) - len(shown))
    print_notes(shown)
    print_old_prices(row.offer for row in shown)
    bases = dict.fromkeys(row.basis for row in shown)
    print("Basis: " + "; ".join(f"{basis}: {basis.words}" for basis in bases) + ".")
    if prediction.similarity and not prediction.similarity.warned_of:
        print(_similarity_text(prediction.similarity))
    diagnosis = diagnose(profile, prediction.anchor_latency_ms)
    if not diagnosis.another_gpu_helps and not (diagnosis.kind == "input" and input_wait_warning(profile)):
        print(diagnosis.sentence)


def _similarity_text(similarity: Similarity) -> str:
    return (
        f"This network is {similarity.phrase} the training data; held-out networks at this distance had a mean error "
        f"of {similarity.error_words}."
    )


def _text_row(row: InstancePrediction, fit: str, with_bounds: bool) -> tuple[str, ...]:
    interval = row.interval
    bounds = (cell(interval and interval.low_ms, format_ms), cell(interval and interval.high_ms, format_ms))
    return (
        row.instance,
        gpus_cell(row.offer),
        "not given" if row.latency_ms is None else format_ms(row.latency_ms),
        *(bounds if with_bounds else ()),
        fit,
        cell(row.cost_per_1000_steps_usd, format_usd),
        format_usd(row.usd_per_hour),
        format_usd(row.offer.usd_per_gpu_hour),
        row.basis,
        row.status,
    )
