"""`profet predict`, `cost`, `scale` and `estimate`: latency on every instance, what it costs, and at another size.

What only one of them needs is imported in its functions: `profet predict` starts without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from profet_cli.arguments import (
    add_every_offer,
    add_models,
    add_question,
    asked,
    network_file,
    open_context,
    read_network_file,
)
from profet_cli.output import (
    Column,
    Row,
    cell,
    fit_words,
    price_date,
    print_json,
    print_notes,
    print_offers,
    print_warnings,
)
from profet_core.answers.documents import document
from profet_core.answers.predict import PREDICTION, answer_predict
from profet_core.catalog.instance import offer_name
from profet_core.errors import Code
from profet_core.latency import LEVEL
from profet_core.offers import OfferStep, OfferTable
from profet_core.questions import EstimateQuestion, PredictQuestion, ScaleQuestion, TrainingQuestion
from profet_core.training.memory import FitAnswer
from profet_core.training.plans import Plan
from profet_profiles.units import format_ms, format_significant, format_usd, shared_time_unit


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Declare the profile and the targets."""
    add_question(parser, PredictQuestion)
    add_models(parser)
    add_every_offer(parser)


def run_predict(options: argparse.Namespace) -> None:
    """Predict and print."""
    question = asked(options, PredictQuestion)
    answer = answer_predict(open_context(options), question)
    if options.format == "json":
        print_json(document(answer, PREDICTION))
        return
    prediction, level = answer.prediction, answer.prediction.interval_level
    print_warnings((*prediction.warnings, *(f"ignored: {note}" for note in answer.profile.ignored)))
    columns: list[Column[OfferStep]] = [
        ("ms/step", lambda row: "not given" if row.latency_ms is None else format_ms(row.latency_ms)),
        *([] if level is None else _bounds(level)),
        ("memory fit (batch)", lambda row: fit_words(answer.fits.get(row.instance))),
        ("$ per 1,000 steps", lambda row: cell(row.cost_per_1000_steps_usd, format_usd)),
        ("$/h", lambda row: format_usd(row.usd_per_hour)),
        ("$/GPU/h", lambda row: format_usd(row.offer.usd_per_gpu_hour)),
    ]
    every = options.every_offer or question.offer_filter.is_specific
    shown = _print_rows(
        prediction.predictions, columns, every=every, keep={prediction.anchor, *(question.targets or ())}
    )
    print_notes(shown)
    _print_gpus(answer.gpus, answer.fits)
    bases = dict.fromkeys(row.basis for row in (*shown, *answer.gpus))
    print("Basis: " + "; ".join(basis.words for basis in bases) + ".")
    similarity = prediction.similarity
    if similarity and not similarity.is_dissimilar:
        print(
            f"This network is {similarity.phrase} the training data; held-out networks at this distance had a mean "
            f"error of {similarity.error_words}."
        )


def _print_rows(
    rows: Iterable[Row], columns: Sequence[Column[Row]], *, every: bool, keep: Collection[str] = ()
) -> list[Row]:
    """Print and return rows as `print_offers`: the offer, the columns, and what its price and numbers are from."""
    rows = list(rows)
    if not rows:
        return rows
    first: list[Column[Any]] = [("instance", lambda row: row.offer.name), ("GPU", lambda row: offer_name(row.offer))]
    last: list[Column[Any]] = [
        ("price date", lambda row: price_date(row.offer)),
        ("basis", lambda row: row.basis.word),
        ("status", lambda row: row.offer.status),
    ]
    return print_offers(rows, [*first, *columns, *last], every=every, keep=keep)


def _print_gpus(gpus: OfferTable, fits: Mapping[str, FitAnswer]) -> None:
    """Print a line for each GPU without an offer, and their notes."""
    for row in gpus:
        ends, fit = row.interval, fit_words(fits.get(row.instance))
        within = "" if ends is None else f" ({format_ms(ends.low_ms)} to {format_ms(ends.high_ms)})"
        print(f"{row.instance}: {cell(row.latency_ms, format_ms)} per step{within}, memory: {fit}.")
    print_notes(gpus)


def _bounds(level: float) -> list[Column[OfferStep]]:
    return [
        (f"low ({level:.0%})", lambda row: cell(row.interval and row.interval.low_ms, format_ms)),
        (f"high ({level:.0%})", lambda row: cell(row.interval and row.interval.high_ms, format_ms)),
    ]


def add_cost(parser: argparse.ArgumentParser) -> None:
    """Declare the training."""
    add_question(parser, TrainingQuestion)
    add_models(parser)
    add_every_offer(parser)


def run_cost(options: argparse.Namespace) -> None:
    """Predict, cost and print."""
    from profet_core.answers.advise import COSTS, answer_cost

    question = asked(options, TrainingQuestion)
    answer = answer_cost(open_context(options), question)
    if options.format == "json":
        print_json(document(answer, COSTS))
        return
    training, table = answer.training, answer.table
    print_warnings(training.warnings)
    epoch, total = (shared_time_unit(getattr(row, name) for row in table) for name in ("epoch_s", "total_s"))
    columns: list[Column[Plan]] = [
        ("memory fit (batch)", lambda row: fit_words(answer.fits.get(row.instance))),
        ("time/epoch", lambda row: epoch.words(row.epoch_s)),
        ("$/epoch", lambda row: format_usd(row.epoch_usd)),
        (f"{question.epochs} epoch{'s' * (question.epochs > 1)}", lambda row: total.words(row.total_s)),
        ("total $", lambda row: format_usd(row.total_usd)),
        ("images/s", lambda row: format_significant(row.images_per_s)),
        ("speed-up", lambda row: cell(row.speedup, lambda times: f"{times:.2f}x")),
    ]
    every = options.every_offer or question.offer_filter.is_specific
    shown = _print_rows(table, columns, every=every, keep={training.prediction.anchor})
    print_notes(plan.row for plan in shown)


def add_scale(parser: argparse.ArgumentParser) -> None:
    """Declare the instance, the axis with both ends, the size between them, and what else is known."""
    add_question(parser, ScaleQuestion)
    add_models(parser)


def run_scale(options: argparse.Namespace) -> None:
    """Scale and print."""
    from profet_core.answers.sizes import answer_scale

    scaled, _ = answer_scale(open_context(options), asked(options, ScaleQuestion))
    if options.format == "json":
        print_json(scaled)
    else:
        print(f"{scaled.instance} at {scaled.axis} {scaled.at}: {format_ms(scaled.latency_ms)} per step")


def add_estimate(parser: argparse.ArgumentParser) -> None:
    """Declare the network, which may be a file, its step, and the offers."""
    add_question(parser, EstimateQuestion, first="network")
    add_models(parser)
    add_every_offer(parser)


def run_estimate(options: argparse.Namespace) -> None:
    """Estimate and print."""
    from profet_core.answers.estimate import ESTIMATE, answer_estimate
    from profet_core.layers.estimate import disagreement_words

    path = network_file(options.network)
    if path is not None:
        options.network = "file"
    question = asked(options, EstimateQuestion)
    file = None if path is None else read_network_file(path, question.pixels)
    answer = answer_estimate(open_context(options), question, file)
    if options.format == "json":
        print_json(document(answer, ESTIMATE))
        return
    estimate, network = answer.estimate, answer.estimate.network
    usual = [note for note in answer.warnings if note.code is Code.USUAL]
    print_warnings([note for note in answer.warnings if note not in usual])
    print(
        f"{estimate.name}, {network.pixels} pixels, batch {estimate.batch_size}, no profile: "
        f"{network.layers.all} layers, "
        f"{network.parameters / 1e6:.3g} million parameters, {network.flops.all / 1e9:.3g} GFLOPs per image (forward)."
    )
    print(*usual, sep="\n", end="\n" * bool(usual))
    costs = answer.costs or {}
    epoch = shared_time_unit(row.epoch_s for row in costs.values())
    by_profile = {row.instance: row.profiled_ms for row in answer.disagreements}
    compared: list[Column[OfferStep]] = [
        ("by profile", lambda row: cell(by_profile.get(row.instance), format_ms)),
    ]
    per_epoch: list[Column[OfferStep]] = [
        ("time/epoch", lambda row: epoch.words(costs[row.instance].epoch_s)),
        ("$/epoch", lambda row: format_usd(costs[row.instance].epoch_usd)),
    ]
    if question.epochs > 1:
        total = shared_time_unit(row.total_s for row in costs.values())
        per_epoch += [
            (f"time/{question.epochs} epochs", lambda row: total.words(costs[row.instance].total_s)),
            (f"$/{question.epochs} epochs", lambda row: format_usd(costs[row.instance].total_usd)),
        ]
    columns: list[Column[OfferStep]] = [
        ("ms/step", lambda row: cell(row.latency_ms, format_ms)),
        *_bounds(LEVEL),
        *(compared if by_profile else ()),
        ("memory fit (batch)", lambda row: fit_words(estimate.fits.get(row.instance))),
        ("$ per 1,000 steps", lambda row: cell(row.cost_per_1000_steps_usd, format_usd)),
        *(per_epoch if costs else ()),
        ("$/h", lambda row: format_usd(row.usd_per_hour)),
    ]
    every = options.every_offer or question.offer_filter.is_specific or bool(question.targets)
    print_notes(_print_rows(estimate.rows, columns, every=every))
    _print_gpus(estimate.gpus, estimate.fits)
    if answer.profiled is not None:
        print(disagreement_words(answer.disagreements))
