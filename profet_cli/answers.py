"""`profet predict`, `scale`, `cost`, `advise`, `estimate` and `scaleout`: how their answers are printed.

What only one of them needs is imported in its functions: `profet predict` starts without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profet_cli.files import network_file, read_network_file
from profet_cli.options import add_models, add_question, asked, open_context
from profet_cli.output import (
    BASIS,
    GPU,
    INSTANCE,
    MISSING,
    MS_PER_STEP,
    PRICE_DATE,
    STATUS,
    USD_PER_1000_STEPS,
    USD_PER_GPU_HOUR,
    USD_PER_HOUR,
    Column,
    check_not_read,
    fit_words,
    print_json,
    print_notes,
    print_offers,
    print_rows,
    print_warnings,
    write_output,
)
from profet_core.answers import ENTRIES
from profet_core.answers.predict import PredictAnswer
from profet_core.errors import Code
from profet_core.latency import LEVEL
from profet_core.offers import OfferTable
from profet_core.questions import (
    AdviseQuestion,
    EstimateQuestion,
    PredictQuestion,
    ScaleoutQuestion,
    ScaleQuestion,
    TrainingQuestion,
)
from profet_core.training.memory import FitAnswer
from profet_profiles.units import format_certainty, format_ms, format_significant, format_usd, shared_time_unit

if TYPE_CHECKING:
    from profet_core.answers.advise import AdviseAnswer, CostAnswer
    from profet_core.answers.scaleout import ScaledTraining
    from profet_core.prediction.scaler import ScaledLatency
    from profet_core.training.advise import Advice
    from profet_core.training.plans import CostTable
    from profet_core.training.scaling_model import Strategy
    from profet_core.training.several_gpus import CurveRow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the question, and what else a command needs."""
    name = parser.prog.split()[-1]
    add_question(parser, ENTRIES[name].question, first="network" if name == "estimate" else "profile")
    add_models(parser)
    if name != "scale":
        parser.add_argument(
            "--every-offer",
            action="store_true",
            help="show every offer of the market, with machines of several GPUs (default: the cheapest of each GPU, "
            "unless you filter by more than market and confidence)",
        )


def run(options: argparse.Namespace) -> None:
    """Answer the command's question, and print the answer."""
    entry = ENTRIES[options.command]
    question = asked(options, entry.question)
    answer = entry.answer(open_context(options), question)
    if not _print_document(options, answer):
        _PRINT[entry.name](question, answer, _shows_all(options, question))


def _print_document(options: argparse.Namespace, answer: Any) -> bool:
    """Print the answer's document, if that is asked for; returns whether it is."""
    is_wanted: bool = options.format == "json"
    if is_wanted:
        print_json(ENTRIES[options.command].document.of(answer))
    return is_wanted


def _shows_all(options: argparse.Namespace, question: Any) -> bool:
    """Whether a table shows every offer, as it was asked for or filtered."""
    return hasattr(options, "every_offer") and (options.every_offer or question.offer_filter.is_specific)


def _print_predict(question: PredictQuestion, answer: PredictAnswer, every: bool) -> None:
    """Print the prediction, then its notes."""
    prediction, level = answer.prediction, answer.prediction.interval_level
    print_warnings((*prediction.warnings, *(f"ignored: {note}" for note in answer.profile.ignored)))
    columns = (
        ("ms/step", lambda row: "not given" if row.latency_ms is None else format_ms(row.latency_ms)),
        *([] if level is None else _bounds(level)),
        _fit_column(answer.fits),
        USD_PER_1000_STEPS,
        USD_PER_HOUR,
        USD_PER_GPU_HOUR,
    )
    keep = {prediction.anchor, *(question.targets or ())}
    shown = _print_steps(prediction.predictions, columns, every=every, keep=keep)
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


def _print_steps(
    rows: Iterable[Any], columns: Sequence[Column], *, every: bool, keep: Collection[str] = ()
) -> list[Any]:
    """Print and return rows as `print_offers`: the offer, the columns, and what its price and numbers are from."""
    rows = list(rows)
    every_column = (INSTANCE, GPU, *columns, PRICE_DATE, BASIS, STATUS)
    return print_offers(rows, every_column, every=every, keep=keep) if rows else rows


def _fit_column(fits: Mapping[str, FitAnswer]) -> Column:
    return "memory fit (batch)", lambda row: fits.get(row.instance), fit_words


def _bounds(level: float) -> list[Column]:
    return [(f"{end} ({level:.0%})", f"interval.{end}_ms", format_ms) for end in ("low", "high")]


def _print_gpus(gpus: OfferTable, fits: Mapping[str, FitAnswer]) -> None:
    """Print a line for each GPU without an offer, and their notes."""
    for row in gpus:
        ends, fit = row.interval, fits.get(row.instance)
        within = "" if ends is None else f" ({format_ms(ends.low_ms)} to {format_ms(ends.high_ms)})"
        step = MISSING if row.latency_ms is None else format_ms(row.latency_ms)
        print(f"{row.instance}: {step} per step{within}, memory: {MISSING if fit is None else fit_words(fit)}.")
    print_notes(gpus)


def _print_cost(question: TrainingQuestion, answer: CostAnswer, every: bool) -> None:
    """Print what an epoch and the training take and cost."""
    training, table = answer.training, answer.table
    print_warnings(training.warnings)
    epoch, total = (shared_time_unit(getattr(row, name) for row in table) for name in ("epoch_s", "total_s"))
    columns: list[Column] = [
        _fit_column(answer.fits),
        ("time/epoch", "epoch_s", epoch.words),
        ("$/epoch", "epoch_usd", format_usd),
        (f"{question.epochs} epoch{'s' * (question.epochs > 1)}", "total_s", total.words),
        ("total $", "total_usd", format_usd),
        ("images/s", "images_per_s", format_significant),
        ("speed-up", "speedup", "{:.2f}x".format),
    ]
    shown = _print_steps(table, columns, every=every, keep={training.prediction.anchor})
    print_notes(plan.row for plan in shown)


def _print_scale(_: ScaleQuestion, answer: tuple[ScaledLatency, object], _every: bool) -> None:
    """Print the latency."""
    scaled, _curve = answer
    print(f"{scaled.instance} at {scaled.axis} {scaled.at}: {format_ms(scaled.latency_ms)} per step")


def run_estimate(options: argparse.Namespace) -> None:
    """Estimate a network by its name or in a file, and print."""
    from profet_core.answers.estimate import answer_estimate
    from profet_core.layers.estimate import disagreement_words

    path = network_file(options.network)
    if path is not None:
        options.network = "file"
    question = asked(options, EstimateQuestion)
    file = None if path is None else read_network_file(path, question.pixels)
    answer = answer_estimate(open_context(options), question, file)
    if _print_document(options, answer):
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
    by_profile = {row.instance: row.profiled_ms for row in answer.disagreements}
    columns: list[Column] = [MS_PER_STEP, *_bounds(LEVEL)]
    if by_profile:
        columns.append(("by profile", lambda row: by_profile.get(row.instance), format_ms))
    columns += [_fit_column(estimate.fits), USD_PER_1000_STEPS]
    if (costs := answer.costs) is not None:
        periods = {"epoch": "epoch", f"{question.epochs} epochs": "total"}
        for words, period in list(periods.items())[: 2 if question.epochs > 1 else 1]:
            unit = shared_time_unit(getattr(plan, f"{period}_s") for plan in costs)
            columns.append((f"time/{words}", _of_plan(costs, f"{period}_s"), unit.words))
            columns.append((f"$/{words}", _of_plan(costs, f"{period}_usd"), format_usd))
    every = _shows_all(options, question) or bool(question.targets)
    print_notes(_print_steps(estimate.rows, [*columns, USD_PER_HOUR], every=every))
    _print_gpus(estimate.gpus, estimate.fits)
    if answer.profiled is not None:
        print(disagreement_words(answer.disagreements))


def _of_plan(costs: CostTable, name: str) -> Callable[[Any], object]:
    return lambda row: getattr(costs[row.number], name)


def add_advise(parser: argparse.ArgumentParser) -> None:
    """Declare the question, and what else is written."""
    add_arguments(parser)
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the answer as an HTML page")
    parser.add_argument(
        "--launch",
        action="store_true",
        help="print the task that rents the answer, alone: SkyPilot's, else dstack's; --launch-command is what it runs",
    )


def run_advise(options: argparse.Namespace) -> None:
    """Advise, write the report, and print."""
    from profet_core.answers.advise import answer_advise
    from profet_core.answers.report import report_html, report_source

    question, context = asked(options, AdviseQuestion), open_context(options)
    answer = answer_advise(context, question)
    warnings = answer.training.warnings
    if options.report is not None:
        name = Path(options.profile).name
        source = report_source(name, answer.training.prediction, context.models, warnings)
        check_not_read(options.report, options.profile, getattr(options, "second", None))
        write_output(options.report, report_html(answer.advice, source).encode())
    if _print_document(options, answer):
        return
    print_warnings(warnings)
    if options.launch:
        _print_launch(answer)
    else:
        _print_advice(answer, _shows_all(options, question))


def _print_launch(answer: AdviseAnswer) -> None:
    """Print a task file that can be written as it is; what is known beside the task are its comments."""
    from profet_core.training.words import answer_sentences

    launch = answer.launch
    about = (answer_sentences(answer.advice)[0], launch.availability, launch.page, launch.checklist)
    print("\n".join(f"# {line}" for line in about if line))
    print(launch.skypilot or launch.dstack or "# No task: SkyPilot and dstack don't rent this out.", end="")


def _print_advice(answer: AdviseAnswer, every: bool) -> None:
    """Print the answer, then the plans, then lists; not `every` plan: those named, and the cheapest of each GPU."""
    from profet_core.training.words import answer_sentences, dominated_line, pick_line, upgrade_line

    advice, comparison = answer.advice, answer.comparison
    named = {plan.instance for plan in (advice.answer, advice.fastest.plan, advice.cheapest.plan, *advice.frontier)}
    named |= {plan.instance for plan in (comparison.a, comparison.b)} if comparison else set()
    first, *others = answer_sentences(advice)
    besides = [part.sentence for part in (answer.spot, answer.best_batch) if part]
    print("\n".join([first, *besides, *others]), end="\n\n")
    shown = print_offers(advice.plans, _plan_columns(advice), every=every, keep=named)
    _print_list("Basis:", [basis.words for basis in dict.fromkeys(plan.basis for plan in shown)])
    _print_list("Sources:", _grouped((plan.instance, plan.row.note) for plan in shown if plan.row.note))
    picks = {"cheapest": advice.cheapest, "fastest": advice.fastest}
    lines = {name: filter(None, (pick.plan.name_and_code, pick_line(pick))) for name, pick in picks.items()}
    _print_list("Recommendations:", [f"{name}: {', '.join(line)}" for name, line in lines.items()])
    _print_list("Faster for more money:", [upgrade_line(upgrade) for upgrade in advice.upgrades])
    # Spot versus on-demand of one instance is omitted.
    slower = [row for row in advice.dominated if row.plan in shown and row.by.instance != row.plan.instance]
    _print_list("Slower and more expensive:", [dominated_line(row) for row in slower])
    _print_list("Not shown:", _grouped(advice.excluded.items()))
    if comparison:
        a, b = comparison.a.name_and_code, comparison.b.name_and_code
        _print_list(f"{a} vs. {b}:", comparison.sentences)


def _plan_columns(advice: Advice) -> list[Column]:
    limits, unit = advice.limits, shared_time_unit(plan.total_s for plan in advice.plans)
    has_ends = any(plan.interval for plan in advice.plans)
    ends = {"from": "low", "to": "high"} if has_ends else {}
    chances = {"in time": ("in_time", limits.deadline_h), "in budget": ("in_budget", limits.budget_usd)}
    return [
        ("offer", "label"),
        ("GPU", "name"),
        ("time", "total_s", unit.words),
        *((title, f"interval.{end}_s", unit.words) for title, end in ends.items()),
        ("cost", "total_usd", format_usd),
        *((title, f"interval.{end}_usd", format_usd) for title, end in ends.items()),
        *((title, name, format_certainty) for title, (name, limit) in chances.items() if limit is not None),
        USD_PER_HOUR,
        USD_PER_GPU_HOUR,
        PRICE_DATE,
        BASIS,
        ("note", "note"),
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


def _print_scaleout(_: ScaleoutQuestion, answer: ScaledTraining, every: bool) -> None:
    """Print how many GPUs, the curve, other ways to exchange gradients, and whole machines."""
    from profet_core.training.several_gpus import CHECKED_ON

    print_warnings(answer.warnings)
    if answer.how_many is not None:
        print("\n".join([answer.how_many.sentence, *answer.how_many.batch_sentences]), end="\n\n")
    _print_curve(answer)
    print("\nstep latency by strategy")
    columns: list[Column] = [("GPUs", "step.gpus")]
    for way in dict.fromkeys(way for row in answer.curve for way in row.by_strategy_ms):
        title = f"{way} ({CHECKED_ON[way]})" if way in CHECKED_ON else str(way)
        columns.append((title, partial(_strategy_ms, way), format_ms))
    print_rows(answer.curve, columns)
    if not answer.plans:
        print("\nno multi-GPU offer has a known step latency")
        return
    print("\nwhole machines, all GPUs training")
    unit = shared_time_unit(plan.epoch_s for plan in answer.plans)
    columns = [
        INSTANCE,
        ("GPUs", "plan.name"),
        *_SCALED,
        ("time/epoch", "epoch_s", unit.words),
        ("$/epoch", "epoch_usd", format_usd),
        ("$/h", "usd_per_hour", format_usd),
        PRICE_DATE,
        ("memory", "fit", fit_words),
        STATUS,
    ]
    print_offers(answer.plans, columns, every=every)


def _strategy_ms(way: Strategy, row: CurveRow) -> float | None:
    return row.by_strategy_ms.get(way)


def _ends(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.2f}-{ends[1]:.2f}"


#: A step on several GPUs.
_STEP: Column = ("step", "step.latency_ms", format_ms)
_SPEED: tuple[Column, ...] = (
    ("images/s", "step.images_per_s", format_significant),
    ("speed-up", "step.speed_up", "{:.2f}x".format),
    ("90%", "step.speed_up_range", _ends),
)
_SCALED = (_STEP, *_SPEED)


def _print_curve(answer: ScaledTraining) -> None:
    where = answer.gpu if answer.offer is None else answer.offer.name
    assumed = f" (assumed: {answer.interconnect.assumed})" if answer.interconnect.assumed else ""
    print(f"{answer.network.words}, on {where}: {answer.interconnect.words}{assumed}\n")
    strong = any(row.over_one for row in answer.curve)
    unit = shared_time_unit(row.epoch_s for row in answer.curve)
    over_one: list[Column] = [("vs. 1 GPU", "over_one", "{:.2f}x".format)] if strong else []
    columns: list[Column] = [
        ("GPUs", "step.gpus"),
        ("nodes", "step.nodes"),
        ("batch", "step.batch_size"),
        _STEP,
        ("90%", "step.interval", lambda ends: "-".join(map(format_significant, (ends.low_ms, ends.high_ms)))),
        *_SPEED,
        *over_one,
        ("time/epoch", "epoch_s", unit.words),
        ("$/epoch", "epoch_usd", format_usd),
        ("memory", "fit", fit_words),
    ]
    print_rows(answer.curve, columns)
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


#: Command -> what prints its answer as text.
_PRINT: Mapping[str, Callable[[Any, Any, bool], None]] = {
    "predict": _print_predict,
    "scale": _print_scale,
    "cost": _print_cost,
    "scaleout": _print_scaleout,
}
