"""`profet estimate`: step latency from a network's layers, without a profile."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.arguments import (
    EVERY_OFFER_HELP,
    add_format,
    add_models,
    add_narrowing,
    add_precision,
    add_sureness,
    names,
)
from profet_cli.inputs import read_profile_file
from profet_cli.memory import fit_cell
from profet_cli.offers import cheapest_by_gpu, gpus_cell, print_hidden, print_old_prices
from profet_cli.output import cell, print_json, print_notes, print_table, print_warnings
from profet_cli.questions import COMMAND_LINE, open_knowledge
from profet_core.answers.estimate import (
    DEFAULT_PIXELS,
    EstimateAnswer,
    EstimateQuestion,
    answer_estimate,
    named_question,
)
from profet_core.answers.questions import ProfileQuestion
from profet_core.cost import CostRow
from profet_core.documents.answers import ESTIMATE
from profet_core.errors import InputError
from profet_core.estimate.disagreement import disagreement_words
from profet_core.estimate.memory import OPTIMISERS
from profet_core.layers.reading import FORMATS, read_network
from profet_core.prediction.records import InstancePrediction
from profet_core.units import format_duration, format_ms, format_usd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The network, its step, and the offers."""
    add_format(parser)
    parser.add_argument("network", metavar="NETWORK|FILE", help=f"network name, such as ResNet50, or {FORMATS}")
    parser.add_argument(
        "--pixels",
        type=int,
        metavar="N",
        help=f"height and width of the image (default: the file's, else {DEFAULT_PIXELS})",
    )
    parser.add_argument(
        "--classes", type=int, metavar="N", help="number of classes of a named network (default: as measured)"
    )
    parser.add_argument("--batch", required=True, type=int, metavar="N", help="batch size")
    parser.add_argument(
        "--method", default="default", help="default, law (analytical model only), log-linear, xgboost or lightgbm"
    )
    parser.add_argument(
        "--optimiser", choices=tuple(OPTIMISERS), default="sgd", help="optimizer; its state counts in memory"
    )
    add_precision(parser)
    parser.add_argument("--images", type=int, metavar="N", help="training images per epoch; adds time and cost")
    parser.add_argument("--validation-images", type=int, default=0, metavar="N", help="validation images per epoch")
    parser.add_argument("--epochs", type=int, default=1, metavar="N", help="number of epochs (default: 1)")
    parser.add_argument("--profile", metavar="TRACE", help="profile of the network to compare with")
    parser.add_argument(
        "--anchor",
        metavar="INSTANCE|GPU",
        help="instance or GPU that TRACE was recorded on (default: the GPU named in TRACE)",
    )
    parser.add_argument(
        "--latency-ms", type=float, metavar="MS", help="measured step latency on the anchor, in milliseconds"
    )
    add_models(parser)
    add_narrowing(parser)
    add_sureness(parser)
    parser.add_argument("--every-offer", action="store_true", help=EVERY_OFFER_HELP)
    parser.add_argument("--targets", type=names, metavar="A,B", help="instances to estimate (default: all)")


def run(options: argparse.Namespace) -> None:
    """Estimate and print."""
    question = _question(options)
    answer = answer_estimate(open_knowledge(options), question, COMMAND_LINE)
    if options.format == "json":
        print_json(ESTIMATE.document(answer))
    else:
        _print(answer, every=options.every_offer or question.narrowing.is_narrow or bool(question.targets))


def _question(options: argparse.Namespace) -> EstimateQuestion:
    profiled = None
    if options.profile is not None:
        profiled = ProfileQuestion(
            profile=read_profile_file(options.profile),
            anchor=options.anchor,
            latency_ms=options.latency_ms,
            precision=options.precision,
        )
    elif options.anchor is not None or options.latency_ms is not None:
        raise InputError("--anchor and --latency-ms need a profile: name it with --profile.")
    named = {
        "profiled": profiled,
        **{
            field: getattr(options, field)
            for field in (
                *("targets", "method", "optimiser", "precision", "sureness", "images", "validation_images", "epochs"),
                *("provider", "region", "market", "gpu", "gpu_count", "min_memory_gib"),
            )
        },
    }
    path = Path(options.network)
    if path.is_file():
        if options.classes is not None:
            raise InputError("--classes is for named networks: a file has its own.")
        network = read_network(path, path.name, options.pixels)
        return EstimateQuestion(
            network=network.counts, name=network.name, caveats=network.caveats, batch_size=options.batch, **named
        )
    if path.suffix and ("/" in options.network or path.suffix in (".keras", ".onnx", ".csv", ".json", ".h5")):
        raise InputError(f"{path.name} not found.")
    return named_question(options.network, batch=options.batch, pixels=options.pixels, classes=options.classes, **named)


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
        line = _row(row)
        line += [cell(None if by_profile is None else by_profile.profiled_ms, format_ms)] * bool(compared)
        line += [fit_cell(found.fits, row.instance), cell(row.cost_per_1000_steps_usd, format_usd)]
        line += [] if costs is None else _cost_cells(costs[row.instance])
        lines.append((*line, format_usd(row.usd_per_hour), row.basis, row.status))
    print_table((*header, "$/h", "basis", "status"), lines)
    print_hidden(len(rows) - len(shown))
    print_notes(shown)
    print_old_prices(row.offer for row in shown)
    if answer.profiled is not None:
        print(disagreement_words(answer.disagreements))


def _row(row: InstancePrediction) -> list[str]:
    low, high = (None, None) if row.interval is None else (row.interval.low_ms, row.interval.high_ms)
    return [
        row.instance,
        gpus_cell(row.offer),
        cell(row.latency_ms, format_ms),
        cell(low, format_ms),
        cell(high, format_ms),
    ]


def _cost_cells(row: CostRow) -> list[str]:
    return [format_duration(row.epoch_s), format_usd(row.epoch_usd)]
