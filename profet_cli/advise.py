"""`profet advise` and `scaleout`: what to rent for a training, and what it takes and costs on 1 to 64 GPUs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from profet_cli.arguments import add_every_offer, add_models, add_question, asked, open_context
from profet_cli.output import (
    MISSING,
    Column,
    cell,
    check_not_read,
    fit_words,
    price_date,
    print_json,
    print_offers,
    print_table,
    print_warnings,
    write_output,
)
from profet_core.answers.advise import ADVICE, AdviseAnswer, answer_advise
from profet_core.answers.documents import document
from profet_core.answers.report import report_html, report_source
from profet_core.questions import AdviseQuestion, ScaleoutQuestion
from profet_core.training.advise import Advice
from profet_core.training.plans import Plan
from profet_core.training.several_gpus import CHECKED_ON, ScaledStep, WholeNodePlan
from profet_core.training.words import answer_sentences, comparison_sentences, dominated_line, pick_line, upgrade_line
from profet_profiles.units import format_certainty, format_ms, format_significant, format_usd, shared_time_unit

if TYPE_CHECKING:
    from profet_core.answers.scaleout import ScaledTraining


def add_advise(parser: argparse.ArgumentParser) -> None:
    """Declare the training, its limits, and the offers to choose from."""
    add_question(parser, AdviseQuestion)
    add_models(parser)
    add_every_offer(parser)
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the answer as an HTML page")
    parser.add_argument(
        "--launch",
        action="store_true",
        help="print the task that rents the answer, alone: SkyPilot's, else dstack's; --launch-command is what it runs",
    )


def run_advise(options: argparse.Namespace) -> None:
    """Predict, advise and print."""
    question = asked(options, AdviseQuestion)
    context = open_context(options)
    answer = answer_advise(context, question)
    warnings = answer.training.warnings
    if options.report is not None:
        name = Path(options.profile).name
        source = report_source(name, answer.training.prediction, context.models, warnings)
        check_not_read(options.report, options.profile, getattr(options, "second", None))
        write_output(options.report, report_html(answer.advice, source).encode())
    if options.format == "json":
        print_json(document(answer, ADVICE))
    elif options.launch:
        print_warnings(warnings)
        _print_launch(answer)
    else:
        print_warnings(warnings)
        _print_advice(answer, every=options.every_offer or question.offer_filter.is_specific)


def _print_launch(answer: AdviseAnswer) -> None:
    """Print a task file that can be written as it is; what is known beside the task are its comments."""
    launch = answer.launch
    about = (answer_sentences(answer.advice)[0], launch.availability, launch.page, launch.checklist)
    print("\n".join(f"# {line}" for line in about if line))
    print(launch.skypilot or launch.dstack or "# No task: SkyPilot and dstack don't rent this out.", end="")


def _print_advice(answer: AdviseAnswer, *, every: bool) -> None:
    """Print the answer, then the plans, then lists; not `every` plan: those named, and the cheapest of each GPU."""
    advice, comparison = answer.advice, answer.comparison
    named = {plan.instance for plan in (advice.answer, advice.fastest.plan, advice.cheapest.plan, *advice.frontier)}
    named |= {plan.instance for plan in (comparison.a, comparison.b)} if comparison else set()
    first, *others = answer_sentences(advice)
    besides = [one.sentence for one in (answer.spot, answer.best_batch) if one]
    print("\n".join([first, *besides, *others]), end="\n\n")
    shown = print_offers(advice.plans, _columns(advice), every=every, keep=named)
    _print_list("Basis:", [basis.words for basis in dict.fromkeys(plan.basis for plan in shown)])
    _print_list("Sources:", _grouped((plan.instance, plan.row.note) for plan in shown if plan.row.note))
    picks = {"cheapest": advice.cheapest, "fastest": advice.fastest}
    lines = {name: filter(None, (pick.plan.name_and_code, pick_line(pick))) for name, pick in picks.items()}
    _print_list("Recommendations:", [f"{name}: {', '.join(line)}" for name, line in lines.items()])
    _print_list("Faster for more money:", [upgrade_line(upgrade) for upgrade in advice.upgrades])
    # Spot versus on-demand of one instance is omitted.
    beaten = [one for one in advice.dominated if one.plan in shown and one.by.instance != one.plan.instance]
    _print_list("Slower and more expensive:", [dominated_line(one) for one in beaten])
    _print_list("Not shown:", _grouped(advice.excluded.items()))
    if comparison:
        a, b = comparison.a.name_and_code, comparison.b.name_and_code
        _print_list(f"{a} vs. {b}:", comparison_sentences(comparison))


def _columns(advice: Advice) -> list[Column[Plan]]:
    limits, times, costs, chances = advice.limits, [], [], []
    unit = shared_time_unit(plan.total_s for plan in advice.plans)
    if any(plan.interval for plan in advice.plans):
        times = [
            ("from", lambda plan: cell(plan.interval and plan.interval.low_s, unit.words)),
            ("to", lambda plan: cell(plan.interval and plan.interval.high_s, unit.words)),
        ]
        costs = [
            ("from", lambda plan: cell(plan.interval and plan.interval.low_usd, format_usd)),
            ("to", lambda plan: cell(plan.interval and plan.interval.high_usd, format_usd)),
        ]
    if limits.deadline_h is not None:
        chances.append(("in time", lambda plan: cell(plan.in_time, format_certainty)))
    if limits.budget_usd is not None:
        chances.append(("in budget", lambda plan: cell(plan.in_budget, format_certainty)))
    return [
        ("offer", lambda plan: plan.label),
        ("GPU", lambda plan: plan.name),
        ("time", lambda plan: unit.words(plan.total_s)),
        *times,
        ("cost", lambda plan: format_usd(plan.total_usd)),
        *costs,
        *chances,
        ("$/h", lambda plan: format_usd(plan.offer.usd_per_hour)),
        ("$/GPU/h", lambda plan: format_usd(plan.offer.usd_per_gpu_hour)),
        ("price date", lambda plan: price_date(plan.offer)),
        ("basis", lambda plan: plan.basis.word),
        ("note", lambda plan: plan.note or MISSING),
    ]


def _grouped(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each text, behind all names that it is said of."""
    names: dict[str, dict[str, None]] = {}
    for name, text in texts:
        names.setdefault(text, {})[name] = None
    return [f"{', '.join(several)}: {text}" for text, several in names.items()]


def _print_list(title: str, lines: Sequence[str]) -> None:
    if lines:
        print("\n".join(["", title, *(f"  {line}" for line in lines)]))


def add_scaleout(parser: argparse.ArgumentParser) -> None:
    """One GPU's step, the network, how many GPUs and how, the training, and which offers."""
    add_question(parser, ScaleoutQuestion)
    add_models(parser)
    add_every_offer(parser)


def run_scaleout(options: argparse.Namespace) -> None:
    """Answer and print."""
    from profet_core.answers.scaleout import SCALEOUT, answer_scaleout

    question = asked(options, ScaleoutQuestion)
    answer = answer_scaleout(open_context(options), question)
    if options.format == "json":
        print_json(document(answer, SCALEOUT))
        return
    print_warnings(answer.warnings)
    if answer.how_many is not None:
        print("\n".join([answer.how_many.sentence, *answer.how_many.batch_sentences]), end="\n\n")
    _print_curve(answer)
    strategies = list(dict.fromkeys(each for row in answer.curve for each in row.by_strategy_ms))
    print("\nstep latency by strategy")
    print_table(
        ("GPUs", *(f"{each} ({CHECKED_ON[each]})" if each in CHECKED_ON else each for each in strategies)),
        [
            (str(row.step.gpus), *(cell(row.by_strategy_ms.get(each), format_ms) for each in strategies))
            for row in answer.curve
        ],
    )
    _print_nodes(answer, every=options.every_offer or question.offer_filter.is_specific)


def _print_curve(answer: ScaledTraining) -> None:
    where = answer.gpu if answer.offer is None else answer.offer.name
    assumed = f" (assumed: {answer.interconnect.assumed})" if answer.interconnect.assumed else ""
    print(f"{answer.network.words}, on {where}: {answer.interconnect.words}{assumed}\n")
    strong = any(row.over_one for row in answer.curve)
    over_one = ("vs. 1 GPU",) if strong else ()
    unit = shared_time_unit(row.epoch_s for row in answer.curve)
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
                unit.words(row.epoch_s),
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


def _print_nodes(answer: ScaledTraining, *, every: bool) -> None:
    if not answer.plans:
        print("\nno multi-GPU offer has a known step latency")
        return
    print("\nwhole machines, all GPUs training")
    unit = shared_time_unit(plan.epoch_s for plan in answer.plans)
    columns: list[Column[WholeNodePlan]] = [
        ("instance", lambda plan: plan.offer.name),
        ("GPUs", lambda plan: plan.plan.name),
        ("step", lambda plan: format_ms(plan.step.latency_ms)),
        ("images/s", lambda plan: format_significant(plan.step.images_per_s)),
        ("speed-up", lambda plan: f"{plan.step.speed_up:.2f}x"),
        ("90%", lambda plan: _speed_up_range(plan.step)),
        ("time/epoch", lambda plan: unit.words(plan.epoch_s)),
        ("$/epoch", lambda plan: format_usd(plan.epoch_usd)),
        ("$/h", lambda plan: format_usd(plan.usd_per_hour)),
        ("price date", lambda plan: price_date(plan.offer)),
        ("memory", lambda plan: fit_words(plan.fit)),
        ("status", lambda plan: plan.offer.status),
    ]
    print_offers(answer.plans, columns, every=every)
