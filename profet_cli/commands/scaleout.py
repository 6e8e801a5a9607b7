"""`profet scaleout`: a training on 1 to 64 GPUs, what it takes and costs, and where it stops paying."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from profet_cli.inputs import COMMAND_LINE, given_values, open_context
from profet_cli.offers import Column, add_question, fit_words, gpus_cell, print_offers, print_old_prices
from profet_cli.output import cell, print_json, print_table, print_warnings
from profet_core.advice.whole_nodes import ScaledTraining, WholeNodePlan
from profet_core.answers.questions import NetworkParameters
from profet_core.answers.scaleout import SCALED_OUT, SCALEOUT, answer_scaleout, scaleout_question
from profet_core.multi_gpu.step import CHECKED_ON, ScaledStep
from profet_core.units import format_duration, format_ms, format_significant, format_usd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One GPU's step, the network, how many GPUs and how, the training, and which offers."""
    add_question(parser, SCALEOUT)


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
    over_one = ("vs. 1 GPU",) if strong else ()
    print_table(
        (
            "GPUs",
            "nodes",
            "batch",
            "step",
            "90%",
            "images/s",
            "speed-up",
            "90%",
            *over_one,
            "time/epoch",
            "$/epoch",
            "memory",
        ),
        [
            (
                str(row.step.gpus),
                str(row.step.nodes),
                str(row.step.batch_size),
                format_ms(row.step.latency_ms),
                cell(row.step.interval, lambda ends: _range(ends.low_ms, ends.high_ms, format_significant)),
                format_significant(row.step.images_per_s),
                f"{row.step.speed_up:.2f}x",
                _speed_up_range(row.step),
                *((cell(row.over_one, lambda times: f"{times:.2f}x"),) if strong else ()),
                format_duration(row.epoch_s),
                cell(row.epoch_usd, format_usd),
                fit_words(row.fit),
            )
            for row in answer.curve
        ],
    )
    if strong:
        print(
            "speed-up: relative to one GPU with the same batch per GPU; "
            "vs. 1 GPU: relative to one GPU with the whole batch"
        )
    last = answer.last_paying
    if len(answer.curve) > 1 and last is None:
        print("adding GPUs pays off up to the last row: cost never rises faster than speed")
    elif len(answer.curve) > 1:
        gpus = "1 GPU" if last == 1 else f"{last} GPUs"
        print(f"adding GPUs pays off up to {gpus}: beyond that, cost rises faster than speed")


def _range(low: float, high: float, format_value: Callable[[float], str]) -> str:
    return f"{format_value(low)}-{format_value(high)}"


def _speed_up_range(step: ScaledStep) -> str:
    return cell(step.speed_up_range, lambda ends: _range(*ends, lambda times: f"{times:.2f}"))


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
    print("\nwhole machines, all GPUs training")
    columns: list[Column[WholeNodePlan]] = [
        ("instance", lambda plan: plan.offer.name),
        ("GPUs", lambda plan: gpus_cell(plan.offer)),
        ("step", lambda plan: format_ms(plan.step.latency_ms)),
        ("images/s", lambda plan: format_significant(plan.step.images_per_s)),
        ("speed-up", lambda plan: f"{plan.step.speed_up:.2f}x"),
        ("90%", lambda plan: _speed_up_range(plan.step)),
        ("time/epoch", lambda plan: format_duration(plan.epoch_s)),
        ("$/epoch", lambda plan: format_usd(plan.epoch_usd)),
        ("$/h", lambda plan: format_usd(plan.usd_per_hour)),
        ("memory", lambda plan: fit_words(plan.fit)),
        ("status", lambda plan: plan.offer.status),
    ]
    shown = print_offers(answer.plans, columns, every=every)
    print_old_prices(shown)
