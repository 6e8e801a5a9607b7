"""Advice as text: the answer, every plan, and the basis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from profet_cli.offers import cheapest_by_gpu, gpus_cell, print_hidden, print_old_prices
from profet_cli.output import MISSING, cell, print_table
from profet_core.advice.advise import Advice
from profet_core.advice.certainty import Comparison, format_certainty
from profet_core.advice.plans import Limits, Plan
from profet_core.advice.words import answer_sentences, comparison_sentences, dominated_line, pick_line, upgrade_line
from profet_core.units import format_duration, format_usd

#: A limit's column -> the chance that a plan keeps to it.
Chances = Mapping[str, Callable[[Plan], float | None]]


def print_advice(advice: Advice, comparison: Comparison | None, *, every: bool) -> None:
    """The answer first, then the table of plans, then lists.

    Parameters
    ----------
    every : all plans; else what is picked, what more money buys, and the cheapest offer of each GPU.
    """
    named = {plan.instance for plan in (advice.answer, advice.fastest.plan, advice.cheapest.plan, *advice.frontier)}
    named |= {plan.instance for plan in (comparison.a, comparison.b)} if comparison else set()
    shown = advice.plans if every else cheapest_by_gpu(advice.plans, lambda plan: plan.offer, named)
    print("\n".join(answer_sentences(advice)))
    print()
    _print_plans(advice, shown)
    print_hidden(len(advice.plans) - len(shown))
    bases = dict.fromkeys(plan.basis for plan in shown)
    _print_list("Basis:", [f"{basis}: {basis.words}" for basis in bases])
    sources = {plan.instance: plan.latency_note for plan in shown if plan.latency_note}
    _print_list("Sources:", _grouped(sources))
    _print_list("Recommendations:", _pick_lines(advice))
    _print_list("Faster for more money:", [upgrade_line(upgrade) for upgrade in advice.upgrades])
    # Spot versus on-demand of one instance is omitted.
    beaten = [one for one in advice.dominated if one.plan in shown and one.by.instance != one.plan.instance]
    _print_list("Slower and more expensive:", [dominated_line(one) for one in beaten])
    _print_list("Not shown:", _grouped({excluded.instance: excluded.reason for excluded in advice.excluded}))
    print_old_prices(plan.offer for plan in shown)
    if comparison:
        _print_list(f"{comparison.a.label} vs. {comparison.b.label}:", comparison_sentences(comparison))


def _grouped(texts: Mapping[str, str]) -> list[str]:
    """A line for each text, behind all that it is said of."""
    names: dict[str, list[str]] = {}
    for name, text in texts.items():
        names.setdefault(text, []).append(name)
    return [f"{', '.join(several)}: {text}" for text, several in names.items()]


def _print_plans(advice: Advice, shown: Sequence[Plan]) -> None:
    chances = _chances(advice.request.limits)
    with_bounds = any(plan.interval for plan in shown)
    bounds = ("from", "to") if with_bounds else ()
    print_table(
        ("offer", "GPU", "time", *bounds, "cost", *bounds, *chances, "$/h", "$/GPU/h", "basis", "note"),
        [_text_row(plan, chances, with_bounds) for plan in shown],
    )


def _chances(limits: Limits) -> Chances:
    chances: dict[str, Callable[[Plan], float | None]] = {}
    if limits.deadline_h is not None:
        chances["in time"] = lambda plan: plan.in_time
    if limits.budget_usd is not None:
        chances["in budget"] = lambda plan: plan.in_budget
    return chances


def _text_row(plan: Plan, chances: Chances, with_bounds: bool) -> tuple[str, ...]:
    interval = plan.interval
    times = (cell(interval and interval.low_s, format_duration), cell(interval and interval.high_s, format_duration))
    costs = (cell(interval and interval.low_usd, format_usd), cell(interval and interval.high_usd, format_usd))
    return (
        plan.label,
        gpus_cell(plan.offer),
        format_duration(plan.total_s),
        *(times if with_bounds else ()),
        format_usd(plan.total_usd),
        *(costs if with_bounds else ()),
        *(cell(chance(plan), format_certainty) for chance in chances.values()),
        format_usd(plan.offer.usd_per_hour),
        format_usd(plan.offer.usd_per_gpu_hour),
        plan.basis,
        plan.note or MISSING,
    )


def _pick_lines(advice: Advice) -> list[str]:
    picks = {"cheapest": advice.cheapest, "fastest": advice.fastest}
    lines = {name: (pick.plan.label, pick_line(pick)) for name, pick in picks.items()}
    return [f"{name}: {', '.join(filter(None, line))}" for name, line in lines.items()]


def _print_list(title: str, lines: Sequence[str]) -> None:
    if lines:
        print("\n".join(["", title, *(f"  {line}" for line in lines)]))
