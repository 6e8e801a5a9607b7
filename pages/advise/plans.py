"""Advice as rows, cards and points: what the Advise page shows of each plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from profet_core.advice.advise import Advice, Upgrade
from profet_core.advice.certainty import format_certainty
from profet_core.advice.picks import Pick
from profet_core.advice.plans import Plan
from profet_core.advice.words import pick_line
from profet_core.catalog.offers import is_guess
from profet_core.units import S_PER_HOUR, format_duration, format_ms, format_usd
from ui.basis import BADGES, MARK, SHORT_BASIS
from ui.charts import TradeOffPoint
from ui.errors import plain
from ui.tables import MISSING, format_price, format_range, price_source


def show_cards(advice: Advice) -> None:
    """Cheapest, fastest, and what keeps to the limits."""
    within = advice.within
    columns = st.columns(3 if within else 2, gap="medium", border=True)
    _pick_card(columns[0], "Cheapest", advice.cheapest)
    _pick_card(columns[1], "Fastest", advice.fastest)
    if within is None:
        return
    title = "Cheapest in time" if within.limits.deadline_h is not None else "Fastest within the budget"
    if within.limits.deadline_h is not None and within.limits.budget_usd is not None:
        title = "Cheapest within both limits"
    plan = within.sure or within.expected
    if plan is None:
        columns[2].metric(title, "none")
        columns[2].markdown(f"Nearest: {plain(within.nearest.label)}, {_figures(within.nearest)}")
        return
    chance = plan.within_limits
    short = "" if within.sure else ", less than asked for"
    _card(
        columns[2], title, plan, "no interval is known" if chance is None else f"{format_certainty(chance)} sure{short}"
    )


def _pick_card(column, title: str, pick: Pick) -> None:
    _card(column, title, pick.plan, pick_line(pick))


def _card(column, title: str, plan: Plan, line: str) -> None:
    column.metric(title, plan.label)
    column.markdown(f"{_figures(plan)}{_badges(plan)}")
    if line:
        column.caption(plain(line[0].upper() + line[1:]))


def _figures(plan: Plan) -> str:
    return plain(f"{format_duration(plan.total_s)}, {format_usd(plan.total_usd)}")


def _badges(plan: Plan) -> str:
    found = [BADGES.get(plan.basis, "")]
    if plan.offer.status == "retired":
        found.append(":gray-badge[retired]")
    if plan.whole_node:
        found.append(f":gray-badge[{plan.offer.gpu_count} GPUs paid, one used]")
    return "".join(f" {badge}" for badge in found if badge)


def point(advice: Advice, plan: Plan) -> TradeOffPoint:
    """A plan in the trade-off of time and money."""
    between, ends = plan.interval, (None, None)
    if between:
        ends = ((between.low_s / S_PER_HOUR, between.low_usd), (between.high_s / S_PER_HOUR, between.high_usd))
    return TradeOffPoint(
        f"{plan.label}{MARK if plan.basis in BADGES else ''}",
        plan.total_s / S_PER_HOUR,
        plan.total_usd,
        f"{plan.label}<br>{format_duration(plan.total_s)}<br>{format_usd(plan.total_usd)}<br>{plan.basis.words}",
        plan in advice.frontier,
        plan.offer.status == "retired",
        *ends,
    )


def text_row(advice: Advice, plan: Plan) -> dict[str, str]:
    """A plan as a row of the table."""
    bounds = any(one.interval for one in advice.plans)
    limits, ends = advice.request.limits, plan.interval
    return {
        "Offer": f"{plan.label} (retired)" if plan.offer.status == "retired" else plan.label,
        "Time": format_duration(plan.total_s),
        **({"Time, between": _between(ends and ends.low_s, ends and ends.high_s, format_duration)} if bounds else {}),
        "Cost": plain(format_usd(plan.total_usd)),
        **(
            {"Cost, between": plain(_between(ends and ends.low_usd, ends and ends.high_usd, format_usd))}
            if bounds
            else {}
        ),
        **({"In time": _chance(plan.in_time)} if limits.deadline_h is not None else {}),
        **({"Within budget": _chance(plan.in_budget)} if limits.budget_usd is not None else {}),
        "Time is": SHORT_BASIS[plan.basis],
        "GPU": f"{plan.offer.gpu_model} (1 of {plan.offer.gpu_count})" if plan.whole_node else plan.offer.gpu_model,
        "Step latency": format_ms(plan.latency_ms),
        "Price per hour": plain(format_price(plan.offer.usd_per_hour)),
        "Price from": "spot, your guess" if is_guess(plan.offer) else price_source(plan.offer),
        **({"Memory": plain(plan.fit_note) or MISSING} if any(one.fit_note for one in advice.plans) else {}),
    }


def _between(low: float | None, high: float | None, words: Callable[[float], str]) -> str:
    return MISSING if low is None else format_range(words(low), words(high))


def _chance(chance: float | None) -> str:
    return MISSING if chance is None else format_certainty(chance)


def data_row(advice: Advice, plan: Plan) -> dict[str, object]:
    """A plan for download, with full digits."""
    offer, ends = plan.offer, plan.interval
    return {
        "offer": plan.label,
        "instance": plan.instance,
        "gpu": offer.gpu,
        "gpu_count": offer.gpu_count,
        "images": advice.request.workload.images,
        "validation_images": advice.request.workload.validation_images,
        "batch_size": advice.request.workload.batch_size,
        "epochs": advice.request.workload.epochs,
        "latency_ms": plan.latency_ms,
        "total_s": plan.total_s,
        "total_s_low": ends and ends.low_s,
        "total_s_high": ends and ends.high_s,
        "total_usd": plan.total_usd,
        "total_usd_low": ends and ends.low_usd,
        "total_usd_high": ends and ends.high_usd,
        "deadline_h": advice.request.limits.deadline_h,
        "in_time": plan.in_time,
        "budget_usd": advice.request.limits.budget_usd,
        "in_budget": plan.in_budget,
        "on_frontier": plan in advice.frontier,
        "basis": plan.basis,
        "usd_per_hour": offer.usd_per_hour,
        "price_as_of": offer.as_of,
        "price_source": offer.source,
        "market": offer.market,
        "region": offer.region,
        "status": offer.status,
        "rests_on": plan.latency_note,
        "note": plan.note,
    }


def upgrade_row(step: Upgrade) -> dict[str, str]:
    """What more money buys, as a row of a table."""
    return {
        "Instead of": step.cheaper.label,
        "Rent": step.faster.label,
        "Sooner by": format_duration(step.saves_h * S_PER_HOUR),
        "For": plain(f"{format_usd(step.extra_usd)} more"),
        "One more dollar buys": format_duration(step.hours_per_usd * S_PER_HOUR),
        "Sooner at all": _chance(step.certainty),
    }


def labels(advice: Advice) -> Mapping[str, Plan]:
    """Plans by what they are called; there is one offer of an instance and market."""
    return {plan.label: plan for plan in advice.plans}
