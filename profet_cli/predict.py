"""`profet predict`, `cost`, `scale` and `estimate`: latency on every instance, what it costs, and at another size.

What only one of them needs is imported in its functions: `profet predict` starts without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from profet_cli.arguments import (
    add_every_offer,
    add_fields,
    add_format,
    add_models,
    add_question,
    given_values,
    network_file,
    open_context,
    read_network_file,
    read_profile_file,
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
from profet_core.answers.documents import COSTS, PREDICTION, SCALED
from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import COST, PREDICT, PredictQuestion, TrainingQuestion
from profet_core.catalog.instance import offer_name
from profet_core.errors import Code, InputError
from profet_core.latency import LEVEL
from profet_core.offers import OfferStep, OfferTable
from profet_core.training.memory import FitAnswer
from profet_core.training.plans import Plan
from profet_profiles.units import format_ms, format_significant, format_usd, shared_time_unit

if TYPE_CHECKING:
    from profet_core.answers.estimate import EstimateQuestion


def add_predict(parser: argparse.ArgumentParser) -> None:
    """The profile and the targets."""
    add_question(parser, PREDICT)


def run_predict(options: argparse.Namespace) -> None:
    """Predict and print."""
    question = PredictQuestion.from_fields(**given_values(options, PREDICT))
    answer = answer_predict(open_context(options), question)
    if options.format == "json":
        print_json(PREDICTION.document(answer))
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
    """The training."""
    add_question(parser, COST)


def run_cost(options: argparse.Namespace) -> None:
    """Predict, cost and print."""
    from profet_core.answers.advise import answer_cost

    question = TrainingQuestion.from_fields(**given_values(options, COST))
    answer = answer_cost(open_context(options), question)
    if options.format == "json":
        print_json(COSTS.document(answer))
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
        ("speed-up", lambda row: cell(table.speedup(row), lambda times: f"{times:.2f}x")),
    ]
    every = options.every_offer or question.offer_filter.is_specific
    shown = _print_rows(table, columns, every=every, keep={training.prediction.anchor})
    print_notes(plan.row for plan in shown)


def add_scale(parser: argparse.ArgumentParser) -> None:
    """The instance, the axis with both ends, the size between them, and what else is known."""
    add_format(parser)
    add = parser.add_argument
    add("--instance", required=True, metavar="INSTANCE|GPU")
    add("--axis", required=True, choices=["batch", "pixels"])
    add("--min-ms", required=True, type=float, help="latency at batch 16 or 32 pixels, in milliseconds")
    add("--max-ms", required=True, type=float, help="latency at batch 256 or 256 pixels, in milliseconds")
    add("--at", required=True, type=int, help="batch size 16-256 or pixel size 32-256")
    method = "default or profet (the documented polynomial)"
    add("--method", choices=["default", "profet"], default="default", help=method)
    other = "fixed size: pixels with --axis batch, batch size with --axis pixels"
    add("--other-size", type=int, metavar="N", help=other)
    add("--largest", metavar="TRACE", help="profile at the largest size; makes the curve more accurate")
    fixed = "with --axis pixels: fixed number of classes (in the data it grows from 10 to 1000)"
    add("--fixed-classes", action="store_true", help=fixed)
    add("--known-at", type=int, metavar="N", help="another size between, with --known-ms")
    add("--known-ms", type=float, metavar="MS", help="its latency, which the default curve passes through")
    add_models(parser)


def run_scale(options: argparse.Namespace) -> None:
    """Scale and print."""
    from profet_core.answers.sizes import ScaleQuestion, answer_scale

    known = ("other_size", "fixed_classes", "known_at", "known_ms")
    given = {name: getattr(options, name) for name in ("instance", "axis", "min_ms", "max_ms", "at", "method", *known)}
    largest = None if options.largest is None else read_profile_file(options.largest)
    scaled, _ = answer_scale(open_context(options), ScaleQuestion(**given, largest=largest))
    if options.format == "json":
        print_json(SCALED.document(scaled))
    else:
        print(f"{scaled.instance} at {scaled.axis} {scaled.at}: {format_ms(scaled.latency_ms)} per step")


def add_estimate(parser: argparse.ArgumentParser) -> None:
    """The network, which may be a file, its step, and the offers."""
    from profet_core.answers.estimate import ESTIMATE
    from profet_core.layers.reading import FORMATS

    add_format(parser)
    parser.add_argument("network", metavar="NETWORK|FILE", help=f"network name, such as resnet50, or {FORMATS}")
    add_fields(parser, {name: field for name, field in ESTIMATE.items() if name != "network"})
    add_models(parser)
    add_every_offer(parser)


def run_estimate(options: argparse.Namespace) -> None:
    """Estimate and print."""
    from profet_core.answers.estimate import ESTIMATED, answer_estimate
    from profet_core.layers.estimate import disagreement_words

    question = _estimate_question(options)
    answer = answer_estimate(open_context(options), question)
    if options.format == "json":
        print_json(ESTIMATED.document(answer))
        return
    found, network = answer.estimate, answer.estimate.network
    usual = [note for note in answer.warnings if note.code is Code.USUAL]
    print_warnings([note for note in answer.warnings if note not in usual])
    print(
        f"{found.name}, {network.pixels} pixels, batch {found.batch_size}, no profile: {network.layers.all} layers, "
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
        ("memory fit (batch)", lambda row: fit_words(found.fits.get(row.instance))),
        ("$ per 1,000 steps", lambda row: cell(row.cost_per_1000_steps_usd, format_usd)),
        *(per_epoch if costs else ()),
        ("$/h", lambda row: format_usd(row.usd_per_hour)),
    ]
    every = options.every_offer or question.offer_filter.is_specific or bool(question.targets)
    print_notes(_print_rows(found.rows, columns, every=every))
    _print_gpus(found.gpus, found.fits)
    if answer.profiled is not None:
        print(disagreement_words(answer.disagreements))


def _estimate_question(options: argparse.Namespace) -> EstimateQuestion:
    from profet_core.answers.estimate import ESTIMATE, EstimateQuestion, named_question, with_profiled

    given = given_values(options, ESTIMATE)
    del given["network"]
    values = with_profiled(given)
    if (path := network_file(options.network)) is not None:
        if "classes" in values:
            raise InputError("--classes is for named networks: a file has its own.")
        network = read_network_file(path, values.pop("pixels", None))
        batch = values.pop("batch")
        return EstimateQuestion(
            network=network.counts, name=network.name, caveats=network.caveats, batch_size=batch, **values
        )
    return named_question(options.network, **values)
