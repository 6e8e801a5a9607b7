"""Cards, the paired bar charts of time and cost, and the scatter chart of one against the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial

import streamlit as st

from profet_core.advice.advise import OfferRow
from profet_core.advice.plans import Limits, Plan, Workload
from profet_core.advice.recommend import Recommendation, format_certainty, frontier, recommendations, within
from profet_core.catalog.instance import ON_DEMAND, OWN_PROVIDER
from profet_core.catalog.naming import cloud_words, gpu_words, machine_words
from profet_core.memory.fit import does_not_fit
from profet_core.units import format_time, format_usd, format_usd_range, listed_price, time_unit
from ui.charts import (
    COLORS,
    GRAY,
    RED,
    Bar,
    Figure,
    Part,
    bar_chart,
    framed,
    line_at,
    no_markup,
    show_chart,
    show_legend,
)
from ui.columns import COSTED_STEPS, Per, plan_gpus
from ui.curves import Shown
from ui.state.session import session
from ui.words import EXPLAINED, FOUR_WORDS, plain

_TIME_SHOWN, _COST_SHOWN = Shown("Time", format_time, in_time=True), Shown("Cost", format_usd, prefix="$")
#: A limit this many times beyond all plans is not drawn: it would leave no room for them.
_IN_SIGHT = 3.0


def trade_off(
    plans: Sequence[Plan],
    best: Collection[str],
    named: Collection[str] = (),
    deadline_s: float | None = None,
    budget_usd: float | None = None,
) -> Figure:
    """Time against cost on logarithmic axes, one color per basis; a line joins the Pareto frontier.

    `best`: labels of the plans on the frontier. `named`: of more plans whose GPU is written beside them.
    """
    # Time and cost move with one latency, so an interval is a line.
    ends = [(plan.total_s, plan.total_usd) for plan in plans]
    spans = [plan.interval for plan in plans if plan.interval]
    ends += [end for span in spans for end in ((span.low_s, span.low_usd), (span.high_s, span.high_usd))]
    times, dollars = [end[0] for end in ends], [end[1] for end in ends]
    seconds, x = _TIME_SHOWN.axis(times)
    _, y = _COST_SHOWN.axis(dollars)
    # Labels of the frontier stand to the left of their marks.
    x["range"] = [math.log10(min(times) / seconds) - 0.2, math.log10(max(times) / seconds) + 0.1]
    frontier = sorted((plan for plan in plans if plan.label in best), key=lambda plan: plan.total_s)
    lines = [
        _line(
            "90% prediction interval",
            [value for span in spans for value in (span.low_s / seconds, span.high_s / seconds, None)],
            [value for span in spans for value in (span.low_usd, span.high_usd, None)],
            {"color": "rgba(128,128,128,0.35)", "width": 1},
        )
    ]
    if len(frontier) > 1:
        name = "Pareto frontier: nothing is both faster and cheaper"
        time, cost = [plan.total_s / seconds for plan in frontier], [plan.total_usd for plan in frontier]
        lines.append(_line(name, time, cost, {"color": GRAY, "width": 1.5, "dash": "dot"}))
    by_basis = {word: [plan for plan in plans if FOUR_WORDS[plan.basis] == word] for word in COLORS}
    return framed(
        [*lines, *(_marks(found, seconds, word, best, named) for word, found in by_basis.items() if found)],
        x=x,
        y=y,
        height=440,
        name="Time against cost, one point per instance",
        hovermode="closest",
        **_limits(
            deadline_s / seconds if _in_sight(deadline_s, times) and deadline_s else None,
            budget_usd if _in_sight(budget_usd, dollars) else None,
        ),
    )


def _in_sight(limit: float | None, values: Sequence[float]) -> bool:
    return limit is not None and min(values) / _IN_SIGHT < limit < max(values) * _IN_SIGHT


def _limits(deadline: float | None, budget_usd: float | None) -> Part:
    """Lines with their names at their ends."""
    shapes, texts, line = [], [], {"color": RED, "width": 1.5, "dash": "dash"}
    # On a logarithmic axis a text takes the logarithm, a line the value.
    if deadline is not None:
        shapes.append(line_at(x=deadline, line=line))
        place = {"yref": "y domain", "y": 1, "xanchor": "right", "yanchor": "top"}
        texts.append({"text": "deadline ", "x": math.log10(deadline), "showarrow": False, **place})
    if budget_usd is not None:
        shapes.append(line_at(y=budget_usd, line=line))
        place = {"xref": "x domain", "x": 0, "xanchor": "left", "yanchor": "bottom"}
        texts.append({"text": " budget", "y": math.log10(budget_usd), "showarrow": False, **place})
    return {"shapes": shapes, "annotations": texts}


def _line(name: str, x: Sequence[float | None], y: Sequence[float | None], line: Part) -> Part:
    return {"type": "scatter", "name": name, "x": x, "y": y, "mode": "lines", "line": line, "hoverinfo": "skip"}


def _marks(plans: Sequence[Plan], seconds: float, word: str, best: Collection[str], named: Collection[str]) -> Part:
    """Nothing lies below and left of the frontier: there is room for its labels; others' would hide each other."""
    shorts = [no_markup(f"{plan.gpus} × " * (plan.gpus > 1) + gpu_words(plan.offer)) for plan in plans]
    return {
        "type": "scatter",
        "name": word,
        "x": [plan.total_s / seconds for plan in plans],
        "y": [plan.total_usd for plan in plans],
        "text": [short if plan.label in {*best, *named} else "" for plan, short in zip(plans, shorts, strict=True)],
        "textposition": ["bottom left" if plan.label in best else "top right" for plan in plans],
        "mode": "markers+text",
        "marker": {
            "color": COLORS[word],
            "size": [13 if plan.label in best else 9 for plan in plans],
            "opacity": 1,
        },
        "unselected": {"marker": {"opacity": 1}},
        "cliponaxis": False,
        "customdata": [plan.label for plan in plans],
        "hovertext": [
            f"{no_markup(f'{plan.title} ({plan_gpus(plan)})')}<br>{format_time(plan.total_s)}<br>"
            f"{format_usd(plan.total_usd)}"
            for plan in plans
        ],
        "hoverinfo": "text",
    }


def show_cards(plans: Sequence[Plan], limits: Limits, workload: Workload, per: Per) -> None:
    """One card per recommendation among the plans that are shown."""
    if not plans:
        st.info("No instance here has a number. Choose another preset or widen the filter.", icon=":material/info:")
        return
    limited = limits.deadline_h is not None or limits.budget_usd is not None
    kept = within(plans, limits)
    if limited and not kept:
        st.warning("No instance here meets your deadline and budget.", icon=":material/timer_off:")
    found = recommendations(kept or plans)
    for column, card in zip(st.columns(len(found), border=True), found, strict=True):
        column.markdown("  \n".join(_lines(card, workload, per, limited=limited and bool(kept))))


def _lines(card: Recommendation, workload: Workload, per: Per, *, limited: bool) -> list[str]:
    plan, shown = card.plan, per.of(workload, card.plan)
    goals, ends = " and ".join(card.goals).capitalize(), shown.interval
    spread = f":small[({plain(format_usd_range(ends.low_usd, ends.high_usd))})]" if ends else ""
    lines = [
        f"{goals}: **{plain(plan_gpus(plan))}** :small[{plain(machine_words(plan.offer))}]",
        f"**{plain(_cost_and_time(shown))}** {spread}",
    ]
    if card.runner_up is not None:
        other = card.runner_up
        lines.append(f":small[{plain(f'or {plan_gpus(other)}: {_cost_and_time(per.of(workload, other))}')}]")
    if limited and plan.within_limits is not None:
        lines.append(f":small[{plain(f'Meets your limits: {format_certainty(plan.within_limits)} likely')}]")
    return lines


def _cost_and_time(plan: Plan) -> str:
    """'$44.10 · 13.2 h'."""
    return f"{format_usd(plan.total_usd)} · {format_time(plan.total_s)}"


_TIME = {Per.STEP: "Latency per step", Per.EPOCH: "Time per epoch", Per.TRAINING: "Training time"}
_COST = {
    Per.STEP: f"Cost per {COSTED_STEPS:,} steps",
    Per.EPOCH: "Cost per epoch",
    Per.TRAINING: "Training cost",
}
#: Letters of an instance's name in front of its bars.
_NAME_LETTERS = 26


def show_bars(rows: Sequence[OfferRow], workload: Workload, per: Per, limits: Limits, level: float) -> None:
    """Two charts side by side: the same rows in the same order."""
    shown = [row.plan and per.of(workload, row.plan) for row in rows]
    seconds = sorted(plan.total_s for plan in shown if plan is not None)
    # One unit for the whole chart, which suits the row in the middle.
    unit, whole = time_unit(seconds[len(seconds) // 2] if seconds else 1.0), per is Per.TRAINING
    times, costs = [], []
    for row, name, plan in zip(rows, _names(rows), shown, strict=True):
        if plan is None:
            times.append(Bar(key=row.label, name=name, text=why_not(row)))
            costs.append(times[-1])
            continue
        bar = partial(_bar, key=row.label, name=name, plan=plan)
        ends = plan.interval
        ends_s, ends_usd = ends and (ends.low_s, ends.high_s), ends and (ends.low_usd, ends.high_usd)
        times.append(bar(plan.total_s, ends_s, unit.words, unit.range_words, unit=unit.seconds))
        costs.append(bar(plan.total_usd, ends_usd, format_usd, format_usd_range))
    time_limit = limits.deadline_s / unit.seconds if limits.deadline_s else None
    charts = (
        ("latency-bars", times, _TIME[per], unit.name, time_limit),
        ("cost-bars", costs, _COST[per], "$", limits.budget_usd),
    )
    for column, (key, bars, title, name, limit) in zip(st.columns(2, gap="small"), charts, strict=True):
        chart = bar_chart(bars, f"{title} ({name})", name=f"{title} per instance", limit=limit if whole else None)
        with column:
            show_chart(chart, key, session.predict_table.choose)
    words = {color: f"{basis}: {EXPLAINED[basis]}" for basis, color in COLORS.items()}
    show_legend(times, words, f"├─┤ {level:.0%} prediction interval".replace(" ", "\N{NO-BREAK SPACE}"))


def show_scatter(rows: Sequence[OfferRow], workload: Workload, per: Per, limits: Limits) -> None:
    """Time against cost; the frontier is explained in the legend."""
    plans = [row.plan for row in rows if row.plan is not None]
    if plans:
        best = {plan.label for plan in frontier(plans)}
        anchors = {row.label for row in rows if row.is_anchor}
        limited = (limits.deadline_s, limits.budget_usd) if per is Per.TRAINING else ()
        figure = trade_off([per.of(workload, plan) for plan in plans], best, anchors, *limited)
        show_chart(figure, "trade-off", session.predict_table.choose)


def _names(rows: Sequence[OfferRow]) -> list[str]:
    """GPU and cloud; the instance too where that would not tell two rows apart."""
    short = [_short(row) for row in rows]
    names = (
        no_markup(name if short.count(name) == 1 else f"{machine_words(row.offer)[:_NAME_LETTERS]} · {name}")
        for row, name in zip(rows, short, strict=True)
    )
    return [f"<b>{name} (anchor)</b>" if row.is_anchor else name for row, name in zip(rows, names, strict=True)]


def _short(row: OfferRow) -> str:
    offer = row.offer
    gpu = gpu_words(offer) if offer.gpu_count == 1 else f"{gpu_words(offer)} (1 of {offer.gpu_count})"
    if row.plan is not None and row.plan.gpus > 1:
        gpu = f"{row.plan.gpus} × {gpu_words(offer)}"
    who = offer.name if offer.provider == OWN_PROVIDER else cloud_words(offer.provider)
    market = "" if offer.market == ON_DEMAND or offer.provider == OWN_PROVIDER else f" {offer.market}"
    return f"{gpu} · {who}{market}"


def _bar(
    value: float,
    ends: tuple[float, float] | None,
    words: Callable[[float], str],
    range_words: Callable[[float, float], str],
    *,
    key: str,
    name: str,
    plan: Plan,
    unit: float = 1.0,
) -> Bar:
    offer, spread = plan.offer, "" if ends is None else f" ({range_words(*ends)})"
    date = f" ({offer.as_of}, {offer.market})" if offer.as_of else f" ({offer.market})"
    said = [f"{words(value)}{spread}", f"{listed_price(offer.usd_per_hour)}/h{date}", FOUR_WORDS[plan.basis], plan.note]
    head = f"<b>{no_markup(plan.title)}</b> · {no_markup(plan_gpus(plan))}"
    return Bar(
        key=key,
        name=name,
        color=COLORS[FOUR_WORDS[plan.basis]],
        value=value / unit,
        low=ends and ends[0] / unit,
        high=ends and ends[1] / unit,
        text=words(value),
        hover="<br>".join([head, *(no_markup(line) for line in said if line)]),
    )


def why_not(row: OfferRow) -> str:
    """Why a row has no number: 'does not fit, max batch 48'."""
    if does_not_fit(row.fit):
        most = row.fit.largest_batch if row.fit else None
        return f"doesn't fit; largest batch {most:,}" if most else "doesn't fit in memory"
    return "latency not given (step 3)" if row.is_anchor else row.reason
