"""`profet estimate`: step latency from a network's layers, without a profile."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.arguments import add_every_offer, add_fields, add_format, add_models
from profet_cli.inputs import COMMAND_LINE, given_values, open_context, read_network_file
from profet_cli.offers import cheapest_by_gpu, fit_cell, gpus_cell, print_hidden, print_old_prices
from profet_cli.output import cell, print_json, print_notes, print_table, print_warnings
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
    rows = found.rows
    shown = rows if every else cheapest_by_gpu(rows, lambda row: row.offer, ())
    print_warnings(answer.warnings)
    print(
        f"{found.name}, {network.pixels} pixels, batch {found.batch_size}, no profile: {network.layers} layers, "
        f"{network.parameters / 1e6:.3g} million parameters, {network.flops / 1e9:.3g} GFLOPs per image (forward); "
        f"method: {found.method}."
    )
    costs = None if answer.costs is None else {row.instance: row for row in answer.costs.rows}
    compared = {row.instance: row for row in answer.disagreements}
    header = ["instance", "GPU", "ms/step", "low (90%)", "high (90%)"]
    header += ["by profile"] * bool(compared)
    header += ["memory fit (batch)", "$ per 1,000 steps"]
    header += [] if costs is None else ["time/epoch", "$/epoch"]
    lines = []
    for row in shown:
        by_profile = compared.get(row.instance)
        ends = row.interval
        line = [row.instance, gpus_cell(row.offer), cell(row.latency_ms, format_ms)]
        line += [cell(ends and ends.low_ms, format_ms), cell(ends and ends.high_ms, format_ms)]
        line += [cell(None if by_profile is None else by_profile.profiled_ms, format_ms)] * bool(compared)
        line += [fit_cell(found.fits, row.instance), cell(row.cost_per_1000_steps_usd, format_usd)]
        if costs is not None:
            line += [format_duration(costs[row.instance].epoch_s), format_usd(costs[row.instance].epoch_usd)]
        lines.append((*line, format_usd(row.usd_per_hour), row.basis, row.status))
    print_table((*header, "$/h", "basis", "status"), lines)
    print_hidden(len(rows) - len(shown))
    print_notes(shown)
    print_old_prices(row.offer for row in shown)
    if answer.profiled is not None:
        print(disagreement_words(answer.disagreements))
