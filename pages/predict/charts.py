"""Cards, the paired bar charts of time and cost, and the scatter chart of one against the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import streamlit as st

from pages.predict.columns import COSTED_STEPS, Per
from profet_core.advice.advise import OfferRow
from profet_core.advice.plans import Limits, Plan, Workload
from profet_core.advice.recommend import Recommendation, format_certainty, frontier, recommendations, within
from profet_core.catalog.instance import ON_DEMAND, OWN_PROVIDER
from profet_core.catalog.naming import cloud_words, gpu_words, machine_words
from profet_core.memory.fit import does_not_fit
from profet_core.units import format_time, format_usd, format_usd_range, listed_price, time_unit
from ui.charts.bars import COLORS, Bar, bar_chart, legend
from ui.charts.style import no_markup, show_chart
from ui.charts.trade_off import trade_off
from ui.state.session import session
from ui.tables import plan_gpus
from ui.words import EXPLAINED, FOUR_WORDS, plain


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
    for column, card in zip(st.columns(len(found)), found, strict=True):
        with column, st.container(border=True, height="stretch", gap=None, key=f"card-{card.goals[0].name.lower()}"):
            st.markdown("  \n".join(_lines(card, workload, per, limited=limited and bool(kept))))


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
        ends = plan.interval
        ends_s, ends_usd = ends and (ends.low_s, ends.high_s), ends and (ends.low_usd, ends.high_usd)
        times.append(_bar(row, plan, name, plan.total_s, ends_s, unit.words, unit.range_words, unit.seconds))
        costs.append(_bar(row, plan, name, plan.total_usd, ends_usd, format_usd, format_usd_range))
    left, right = st.columns(2, gap="small")
    with left:
        limit = limits.deadline_s / unit.seconds if whole and limits.deadline_s else None
        chart = bar_chart(times, f"{_TIME[per]} ({unit.name})", name=f"{_TIME[per]} per instance", limit=limit)
        show_chart(chart, "latency-bars", session.predict_table.choose)
    with right:
        limit = limits.budget_usd if whole else None
        chart = bar_chart(costs, f"{_COST[per]} ($)", name=f"{_COST[per]} per instance", limit=limit)
        show_chart(chart, "cost-bars", session.predict_table.choose)
    words = {color: f"{basis}: {EXPLAINED[basis]}" for basis, color in COLORS.items()}
    st.markdown(legend(times, words, f"├─┤ {level:.0%} prediction interval".replace(" ", "\N{NO-BREAK SPACE}")))


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
    row: OfferRow,
    plan: Plan,
    name: str,
    value: float,
    ends: tuple[float, float] | None,
    words: Callable[[float], str],
    range_words: Callable[[float, float], str],
    unit: float = 1.0,
) -> Bar:
    spread = "" if ends is None else f" ({range_words(*ends)})"
    return Bar(
        key=row.label,
        name=name,
        color=COLORS[FOUR_WORDS[plan.basis]],
        value=value / unit,
        low=ends and ends[0] / unit,
        high=ends and ends[1] / unit,
        text=words(value),
        hover="<br>".join(_hover(plan, f"{words(value)}{spread}")),
    )


def why_not(row: OfferRow) -> str:
    """Why a row has no number: 'does not fit, max batch 48'."""
    if does_not_fit(row.fit):
        most = row.fit.largest_batch if row.fit else None
        return f"doesn't fit; largest batch {most:,}" if most else "doesn't fit in memory"
    return "latency not given (step 3)" if row.is_anchor else row.reason


def _hover(plan: Plan, value: str) -> Iterator[str]:
    offer = plan.offer
    yield f"<b>{no_markup(plan.title)}</b> · {no_markup(plan_gpus(plan))}"
    yield no_markup(value)
    date = f" ({offer.as_of}, {offer.market})" if offer.as_of else f" ({offer.market})"
    yield no_markup(f"{listed_price(offer.usd_per_hour)}/h{date}")
    yield FOUR_WORDS[plan.basis]
    if plan.note:
        yield no_markup(plan.note)
