"""`profet predict`: step latency of a profiled network on every instance."""

from __future__ import annotations

import argparse

from profet_cli.inputs import COMMAND_LINE, given_values, open_context
from profet_cli.offers import Column, add_question, fit_words, gpus_cell, print_offers, print_old_prices
from profet_cli.output import cell, print_json, print_notes, print_warnings
from profet_core.answers.predict import PredictAnswer, answer_predict
from profet_core.documents.answers import PREDICTION
from profet_core.fields.questions import PREDICT, PredictQuestion
from profet_core.prediction.checks import input_wait_note
from profet_core.prediction.diagnosis import diagnose
from profet_core.prediction.records import InstancePrediction
from profet_core.units import format_ms, format_usd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The profile and the targets."""
    add_question(parser, PREDICT)


def run(options: argparse.Namespace) -> None:
    """Predict and print."""
    question = PredictQuestion(**given_values(options, PREDICT))
    answer = answer_predict(open_context(options), question, COMMAND_LINE)
    if options.format == "json":
        print_json(PREDICTION.document(answer))
        return
    prediction, level = answer.prediction, answer.prediction.interval_level
    print_warnings((*prediction.warnings, *(f"ignored: {note}" for note in answer.profile.ignored)))
    bounds: list[Column[InstancePrediction]] = []
    if level is not None:
        bounds = [
            (f"low ({level:.0%})", lambda row: cell(row.interval and row.interval.low_ms, format_ms)),
            (f"high ({level:.0%})", lambda row: cell(row.interval and row.interval.high_ms, format_ms)),
        ]
    columns: list[Column[InstancePrediction]] = [
        ("instance", lambda row: row.instance),
        ("GPU", lambda row: gpus_cell(row.offer)),
        ("ms/step", lambda row: "not given" if row.latency_ms is None else format_ms(row.latency_ms)),
        *bounds,
        ("memory fit (batch)", lambda row: fit_words(answer.fits.get(row.instance))),
        ("$ per 1,000 steps", lambda row: cell(row.cost_per_1000_steps_usd, format_usd)),
        ("$/h", lambda row: format_usd(row.usd_per_hour)),
        ("$/GPU/h", lambda row: format_usd(row.offer.usd_per_gpu_hour)),
        ("basis", lambda row: row.basis),
        ("status", lambda row: row.status),
    ]
    every, keep = options.every_offer or question.narrowing.is_narrow, {prediction.anchor, *(question.targets or ())}
    shown = print_offers(prediction.predictions, columns, every=every, keep=keep)
    print_notes(shown)
    print_old_prices(shown)
    bases = dict.fromkeys(row.basis for row in shown)
    print("Basis: " + "; ".join(f"{basis}: {basis.words}" for basis in bases) + ".")
    _print_doubts(answer)


def _print_doubts(answer: PredictAnswer) -> None:
    similarity = answer.prediction.similarity
    if similarity and not similarity.warned_of:
        print(
            f"This network is {similarity.phrase} the training data; held-out networks at this distance had a mean "
            f"error of {similarity.error_words}."
        )
    diagnosis = diagnose(answer.profile, answer.prediction.anchor_latency_ms)
    if not diagnosis.another_gpu_helps and not (diagnosis.kind == "input" and input_wait_note(answer.profile)):
        print(diagnosis.sentence)
