"""`profet scaleout`: a training on 1 to 64 GPUs, what it takes and costs, and where it stops paying."""

from __future__ import annotations

import argparse

from profet_cli.arguments import add_every_offer, add_fields, add_format, add_models
from profet_cli.inputs import COMMAND_LINE, given_values, open_context
from profet_cli.offers import cheapest_by_gpu, fit_words, gpus_cell, print_hidden, print_old_prices
from profet_cli.output import MISSING, cell, print_json, print_table, print_warnings
from profet_core.answers.questions import NetworkParameters
from profet_core.answers.scaleout import answer_scaleout, scaleout_question
from profet_core.documents.answers import SCALED_OUT
from profet_core.fields.scaleout import SCALEOUT
from profet_core.multi_gpu.offers import CurveRow, ScaledTraining, WholeNodePlan
from profet_core.multi_gpu.step import CHECKED_ON, ScaledStep
from profet_core.units import format_duration, format_ms, format_significant, format_usd

_PLAN_COLUMNS = (
    *("instance", "GPUs", "step", "images/s", "speed-up", "90%"),
    *("time/epoch", "$/epoch", "$/h", "memory", "status"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One GPU's step, the network, how many GPUs and how, the training, and which offers."""
    add_format(parser)
    add_fields(parser, SCALEOUT, positional="profile")
    add_models(parser)
    add_every_offer(parser)


def run(options: argparse.Namespace) -> None:
    """Answer and print."""
    question = scaleout_question(given_values(options, SCALEOUT), COMMAND_LINE)
    answer = answer_scaleout(open_context(options), question, COMMAND_LINE)
    if options.format == "json":
        print_json(SCALED_OUT.document(answer))
        return
    print_warnings(answer.warnings)
    _print_curve(answer)
    _print_strategies(answer)
    _print_offers(answer, every=options.every_offer or question.narrowing.is_narrow)


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


def _plan_row(plan: WholeNodePlan) -> tuple[str, ...]:
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
