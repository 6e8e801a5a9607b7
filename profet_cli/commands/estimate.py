"""`profet estimate`: step latency from a network's layers, without a profile."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.arguments import add_every_offer, add_fields, add_format, add_models
from profet_cli.inputs import COMMAND_LINE, given_values, open_context, read_network_file
from profet_cli.offers import Column, fit_words, gpus_cell, print_offers, print_old_prices
from profet_cli.output import cell, print_json, print_notes, print_warnings
from profet_core.answers.estimate import (
    ESTIMATE,
    ESTIMATED,
    EstimateAnswer,
    EstimateQuestion,
    answer_estimate,
    named_question,
    with_profiled,
)
from profet_core.errors import InputError
from profet_core.from_layers.estimate import disagreement_words
from profet_core.layers.reading import FORMATS
from profet_core.prediction.records import InstancePrediction
from profet_core.units import format_duration, format_ms, format_usd

#: The network is no option: it may be a file.
_OPTIONS = {name: field for name, field in ESTIMATE.items() if name != "network"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The network, its step, and the offers."""
    add_format(parser)
    parser.add_argument("network", metavar="NETWORK|FILE", help=f"network name, such as ResNet50, or {FORMATS}")
    add_fields(parser, _OPTIONS)
    add_models(parser)
    add_every_offer(parser)


def run(options: argparse.Namespace) -> None:
    """Estimate and print."""
    question = _question(options)
    answer = answer_estimate(open_context(options), question, COMMAND_LINE)
    if options.format == "json":
        print_json(ESTIMATED.document(answer))
    else:
        _print(answer, every=options.every_offer or question.narrowing.is_narrow or bool(question.targets))


def _question(options: argparse.Namespace) -> EstimateQuestion:
    values = with_profiled(given_values(options, _OPTIONS), COMMAND_LINE)
    path = Path(options.network)
    if path.is_file():
        if "classes" in values:
            raise InputError("--classes is for named networks: a file has its own.")
        network = read_network_file(path, values.pop("pixels", None))
        batch = values.pop("batch")
        return EstimateQuestion(
            network=network.counts, name=network.name, caveats=network.caveats, batch_size=batch, **values
        )
    if path.suffix and ("/" in options.network or path.suffix in (".keras", ".onnx", ".csv", ".json", ".h5")):
        raise InputError(f"{path.name} not found.")
    return named_question(options.network, **values)


def _print(answer: EstimateAnswer, *, every: bool) -> None:
    found, network = answer.estimate, answer.estimate.network
    print_warnings(answer.warnings)
    print(
        f"{found.name}, {network.pixels} pixels, batch {found.batch_size}, no profile: {network.layers} layers, "
        f"{network.parameters / 1e6:.3g} million parameters, {network.flops / 1e9:.3g} GFLOPs per image (forward); "
        f"method: {found.method}."
    )
    costs = {} if answer.costs is None else {row.instance: row for row in answer.costs.rows}
    by_profile = {row.instance: row.profiled_ms for row in answer.disagreements}
    compared: list[Column[InstancePrediction]] = [
        ("by profile", lambda row: cell(by_profile.get(row.instance), format_ms)),
    ]
    per_epoch: list[Column[InstancePrediction]] = [
        ("time/epoch", lambda row: format_duration(costs[row.instance].epoch_s)),
        ("$/epoch", lambda row: format_usd(costs[row.instance].epoch_usd)),
    ]
    columns: list[Column[InstancePrediction]] = [
        ("instance", lambda row: row.instance),
        ("GPU", lambda row: gpus_cell(row.offer)),
        ("ms/step", lambda row: cell(row.latency_ms, format_ms)),
        ("low (90%)", lambda row: cell(row.interval and row.interval.low_ms, format_ms)),
        ("high (90%)", lambda row: cell(row.interval and row.interval.high_ms, format_ms)),
        *(compared if by_profile else ()),
        ("memory fit (batch)", lambda row: fit_words(found.fits.get(row.instance))),
        ("$ per 1,000 steps", lambda row: cell(row.cost_per_1000_steps_usd, format_usd)),
        *(per_epoch if costs else ()),
        ("$/h", lambda row: format_usd(row.usd_per_hour)),
        ("basis", lambda row: row.basis),
        ("status", lambda row: row.status),
    ]
    shown = print_offers(found.rows, columns, every=every)
    print_notes(shown)
    print_old_prices(shown)
    if answer.profiled is not None:
        print(disagreement_words(answer.disagreements))
