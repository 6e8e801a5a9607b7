"""`profet scaleout`: a training on 1 to 64 GPUs, what it takes and costs, and where it stops paying."""

from __future__ import annotations

import argparse
from dataclasses import fields

from profet_cli.arguments import (
    EVERY_OFFER_HELP,
    add_format,
    add_models,
    add_narrowing,
    add_precision,
    add_prices,
    add_spot_discount,
    add_sureness,
    count,
)
from profet_cli.inputs import read_profile_file
from profet_cli.memory import fit_words
from profet_cli.offers import cheapest_by_gpu, gpus_cell, print_hidden, print_old_prices
from profet_cli.output import MISSING, cell, print_json, print_table, print_warnings
from profet_cli.questions import COMMAND_LINE, open_knowledge
from profet_core.answers.parameters import NetworkParameters
from profet_core.answers.scaleout import (
    OF_PROFILE,
    USUAL_IMAGES,
    ScaleoutQuestion,
    answer_scaleout,
    scaleout_question,
)
from profet_core.documents.answers import SCALED_OUT
from profet_core.scaleout.offers import NodePlan
from profet_core.scaleout.step import ScaledStep
from profet_core.scaleout.strategies import CHECKED_ON, STRATEGY_CHOICES, Strategy
from profet_core.scaleout.training import CurveRow, ScaledTraining
from profet_core.scaleout.work import GRADIENT_BYTES
from profet_core.units import format_duration, format_ms, format_significant, format_usd

_PLAN_COLUMNS = (
    *("instance", "GPUs", "step", "images/s", "speed-up", "90%"),
    *("time/epoch", "$/epoch", "$/h", "memory", "status"),
)
_STRATEGY_HELP = (
    "how GPUs exchange gradients (default and best: ring, which frameworks use today; tree is not measured, ps-cpu "
    "and ps-gpu only in 2017)"
)
#: Options that make the question.
_FIELDS = (*OF_PROFILE, *(field.name for field in fields(ScaleoutQuestion) if field.name != "training"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One GPU's step, the network, how many GPUs and how, the training, and which offers."""
    add_format(parser)
    add = parser.add_argument
    add("trace", metavar="TRACE", nargs="?", help="profile of training steps on one GPU (or use --step-ms and --gpu)")
    add(
        "--anchor",
        metavar="INSTANCE|GPU",
        help="instance or GPU that TRACE was recorded on (default: the GPU named in TRACE)",
    )
    add("--latency-ms", type=float, help="measured step latency on the anchor, in milliseconds")
    add("--steps", type=int, metavar="N", help="number of training steps in TRACE (default: from TRACE)")
    add("--profiled-batch", type=int, metavar="N", help="batch size of TRACE (default: from TRACE)")
    add("--profiled-pixels", type=int, metavar="N", help="pixel size of TRACE")
    add("--step-ms", type=float, help="measured step latency on one GPU instead of TRACE; needs --gpu and --batch")
    add("--batch", type=int, metavar="N", help="keep this batch size per GPU (default: the profiled one)")
    add("--global-batch", type=int, metavar="N", help="keep this global batch size, divided over all GPUs")
    add("--network", metavar="NAME", help="network name, such as ResNet50")
    add("--parameters", type=count, metavar="N", help="number of parameters, such as 25.6e6 (default: from TRACE)")
    add("--tensors", type=int, metavar="N", help="number of weight tensors, for one-process; ResNet50 has 161")
    add_precision(parser)
    add("--gradients", choices=GRADIENT_BYTES, default="fp32", help="precision of exchanged gradients (default: fp32)")
    add("--gpus", type=_counts, default=(), metavar="1,2,4", help="numbers of GPUs (default: 1, 2, 4, ... 64)")
    add(
        "--total-gpus",
        type=int,
        metavar="N",
        help="offers as whole nodes with N GPUs together (default: one node each)",
    )
    add("--strategy", choices=STRATEGY_CHOICES, default=Strategy.RING.value, help=_STRATEGY_HELP)
    add("--instance", metavar="NAME", help="machine to scale out on (default: eight of the anchor's GPU)")
    add("--images", type=int, default=USUAL_IMAGES, help="training images per epoch (default: ImageNet's)")
    add("--validation-images", type=int, default=0)
    add_narrowing(parser)
    add_sureness(parser)
    add_prices(parser)
    add_spot_discount(parser)
    add("--every-offer", action="store_true", help=EVERY_OFFER_HELP)
    add_models(parser)


def run(options: argparse.Namespace) -> None:
    """Answer and print."""
    question = _question(options)
    answer = answer_scaleout(open_knowledge(options), question, COMMAND_LINE)
    if options.format == "json":
        print_json(SCALED_OUT.document(answer))
        return
    print_warnings(answer.warnings)
    _print_curve(answer)
    _print_strategies(answer)
    _print_offers(answer, every=options.every_offer or question.narrowing.is_narrow)


def _question(options: argparse.Namespace) -> ScaleoutQuestion:
    """Of the options of its fields' names."""
    profile = None if options.trace is None else read_profile_file(options.trace)
    given = {name: getattr(options, name) for name in _FIELDS} | {"price": dict(options.price)}
    return scaleout_question({**given, "profile": profile}, COMMAND_LINE)


def _counts(text: str) -> tuple[int, ...]:
    """Numbers of GPUs, of "1,2,4"."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 1,2,4,8") from None


def _print_curve(answer: ScaledTraining) -> None:
    where = answer.gpu if answer.offer is None else answer.offer.name
    assumed = f" (assumed: {answer.interconnect.assumed})" if answer.interconnect.assumed else ""
    network = NetworkParameters(answer.parameters, answer.network).words
    print(f"{network}, on {where}: {answer.interconnect.words}{assumed}\n")
    strong = any(row.over_one for row in answer.curve)
    columns = (
        *("GPUs", "nodes", "batch", "step", "90%", "images/s", "speed-up", "90%"),
        *(("vs. 1 GPU",) if strong else ()),
        *("time/epoch", "$/epoch", "memory"),
    )
    print_table(columns, [_curve_row(row, strong=strong) for row in answer.curve])
    if strong:
        print(
            "speed-up: relative to one GPU with the same batch per GPU; "
            "vs. 1 GPU: relative to one GPU with the whole batch"
        )
    if len(answer.curve) > 1:
        print(_paying(answer.last_paying))


def _paying(last: int | None) -> str:
    if last is None:
        return "adding GPUs pays off up to the last row: cost never rises faster than speed"
    gpus = "1 GPU" if last == 1 else f"{last} GPUs"
    return f"adding GPUs pays off up to {gpus}: beyond that, cost rises faster than speed"


def _curve_row(row: CurveRow, *, strong: bool) -> tuple[str, ...]:
    step = row.step
    return (
        str(step.gpus),
        str(step.nodes),
        str(step.batch_size),
        format_ms(step.latency_ms),
        _interval(step),
        format_significant(step.images_per_s),
        *_speed_up(step),
        *((cell(row.over_one, lambda times: f"{times:.2f}x"),) if strong else ()),
        format_duration(row.epoch_s),
        cell(row.epoch_usd, format_usd),
        fit_words(row.fit),
    )


def _interval(step: ScaledStep) -> str:
    if step.interval is None:
        return MISSING
    return f"{format_significant(step.interval.low_ms)}-{format_significant(step.interval.high_ms)}"


def _speed_up(step: ScaledStep) -> tuple[str, str]:
    ends = step.speed_up_range
    return f"{step.speed_up:.2f}x", MISSING if ends is None else f"{ends[0]:.2f}-{ends[1]:.2f}"


def _print_strategies(answer: ScaledTraining) -> None:
    strategies = list(dict.fromkeys(each for row in answer.curve for each in row.other_ms))
    print("\nstep latency by strategy")
    print_table(
        ("GPUs", *(f"{each} ({CHECKED_ON[each]})" if each in CHECKED_ON else each for each in strategies)),
        [
            (str(row.step.gpus), *(cell(row.other_ms.get(each), format_ms) for each in strategies))
            for row in answer.curve
        ],
    )


def _print_offers(answer: ScaledTraining, *, every: bool) -> None:
    if not answer.plans:
        print("\nno multi-GPU offer has a known step latency")
        return
    shown = answer.plans if every else cheapest_by_gpu(answer.plans, lambda plan: plan.offer, set())
    print("\nwhole machines, all GPUs training")
    print_table(_PLAN_COLUMNS, [_plan_row(plan) for plan in shown])
    print_hidden(len(answer.plans) - len(shown))
    print_old_prices(plan.offer for plan in shown)


def _plan_row(plan: NodePlan) -> tuple[str, ...]:
    return (
        plan.offer.name,
        gpus_cell(plan.offer),
        format_ms(plan.step.latency_ms),
        format_significant(plan.step.images_per_s),
        *_speed_up(plan.step),
        format_duration(plan.epoch_s),
        format_usd(plan.epoch_usd),
        format_usd(plan.usd_per_hour),
        fit_words(plan.fit),
        plan.offer.status,
    )
