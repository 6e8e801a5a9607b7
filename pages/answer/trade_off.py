"""The plans as points in the chart of time against money."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.advice.advise import Advice
from profet_core.advice.plans import Plan, TotalInterval
from profet_core.catalog.instance import ON_DEMAND
from profet_core.catalog.naming import gpu_words
from profet_core.units import format_duration, format_usd
from ui.charts.style import no_markup
from ui.charts.trade_off import End, TradeOffPoint
from ui.tables import plan_gpus


def points(advice: Advice, plans: Iterable[Plan]) -> list[TradeOffPoint]:
    """One point a plan."""
    return [_point(advice, plan) for plan in plans]


def _point(advice: Advice, plan: Plan) -> TradeOffPoint:
    spot = "" if plan.offer.market == ON_DEMAND else f", {plan.offer.market}"
    totals = f"{format_duration(plan.total_s)}<br>{format_usd(plan.total_usd)}"
    return TradeOffPoint(
        label=f"{plan_gpus(plan)}{spot}",
        short=_short(plan),
        gpu=plan.offer.gpu,
        time_s=plan.total_s,
        usd=plan.total_usd,
        hover=f"{no_markup(plan.title)} ({no_markup(plan_gpus(plan))})<br>{totals}",
        on_frontier=plan in advice.frontier,
        retired=plan.offer.status == "retired",
        chosen=plan == advice.answer,
        ends=plan.interval and _ends(plan.interval),
    )


def _short(plan: Plan) -> str:
    gpu = gpu_words(plan.offer)
    return gpu if plan.gpus == 1 else f"{plan.gpus} × {gpu}"


def _ends(interval: TotalInterval) -> tuple[End, End]:
    return (interval.low_s, interval.low_usd), (interval.high_s, interval.high_usd)
