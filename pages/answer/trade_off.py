"""The plans as points in the chart of time against money."""

from __future__ import annotations

from profet_core.advice.advise import Advice
from profet_core.advice.plans import Plan, TotalInterval
from profet_core.units import format_duration, format_usd
from ui.charts.style import no_markup
from ui.charts.trade_off import End, TradeOffPoint


def points(advice: Advice) -> list[TradeOffPoint]:
    """One point a plan."""
    return [_point(advice, plan) for plan in advice.plans]


def _point(advice: Advice, plan: Plan) -> TradeOffPoint:
    totals = f"{format_duration(plan.total_s)}<br>{format_usd(plan.total_usd)}"
    return TradeOffPoint(
        label=plan.label,
        short=plan.offer.gpu_model,
        gpu=plan.offer.gpu,
        time_s=plan.total_s,
        usd=plan.total_usd,
        hover=f"{no_markup(plan.label)} ({plan.offer.gpu_model})<br>{totals}",
        on_frontier=plan in advice.frontier,
        retired=plan.offer.status == "retired",
        chosen=plan == advice.answer,
        ends=plan.interval and _ends(plan.interval),
    )


def _ends(interval: TotalInterval) -> tuple[End, End]:
    return (interval.low_s, interval.low_usd), (interval.high_s, interval.high_usd)
