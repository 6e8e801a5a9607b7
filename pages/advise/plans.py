"""Advice as points and rows: what the Advise page shows of each plan."""

from __future__ import annotations

from profet_core.advice.advise import Advice, Upgrade
from profet_core.advice.certainty import format_certainty
from profet_core.advice.plans import Plan, TotalInterval
from profet_core.catalog.offers import is_guess
from profet_core.units import S_PER_HOUR, format_duration, format_ms, format_usd
from ui.basis import BADGES, MARK, SHORT_BASIS
from ui.charts.trade_off import End, TradeOffPoint
from ui.tables import MISSING, format_range, gpu_cell, or_missing, price_source
from ui.texts import plain


def points(advice: Advice) -> list[TradeOffPoint]:
    """Every plan in the trade-off of time and money."""
    return [
        TradeOffPoint(
            label=f"{plan.label}{MARK if plan.basis in BADGES else ''}",
            hours=plan.total_s / S_PER_HOUR,
            usd=plan.total_usd,
            hover="<br>".join(
                (plan.label, format_duration(plan.total_s), format_usd(plan.total_usd), plan.basis.words)
            ),
            on_frontier=plan in advice.frontier,
            retired=plan.offer.status == "retired",
            ends=_ends(plan.interval) if plan.interval else None,
        )
        for plan in advice.plans
    ]


def text_rows(advice: Advice) -> list[dict[str, str]]:
    """One row a plan, as the page's table shows it."""
    return [_text_row(advice, plan) for plan in advice.plans]


def data_rows(advice: Advice) -> list[dict[str, object]]:
    """One row a plan with full digits, for download."""
    return [_data_row(advice, plan) for plan in advice.plans]


def upgrade_row(step: Upgrade) -> dict[str, str]:
    """What more money buys, as a row of a table."""
    return {
        "Instead of": step.cheaper.label,
        "Rent": step.faster.label,
        "Sooner by": format_duration(step.saves_h * S_PER_HOUR),
        "For": plain(f"{format_usd(step.extra_usd)} more"),
        "One more dollar buys": format_duration(step.hours_per_usd * S_PER_HOUR),
        "Sooner at all": _chance_cell(step.certainty),
    }


def _ends(interval: TotalInterval) -> tuple[End, End]:
    return (interval.low_s / S_PER_HOUR, interval.low_usd), (interval.high_s / S_PER_HOUR, interval.high_usd)


def _text_row(advice: Advice, plan: Plan) -> dict[str, str]:
    offer, limits = plan.offer, advice.request.limits
    intervals = any(one.interval for one in advice.plans)
    return {
        "Offer": f"{plan.label} (retired)" if offer.status == "retired" else plan.label,
        "Time": format_duration(plan.total_s),
        **({"Time, between": _time_between(plan.interval)} if intervals else {}),
        "Cost": plain(format_usd(plan.total_usd)),
        **({"Cost, between": _usd_between(plan.interval)} if intervals else {}),
        **({"In time": _chance_cell(plan.in_time)} if limits.deadline_h is not None else {}),
        **({"Within budget": _chance_cell(plan.in_budget)} if limits.budget_usd is not None else {}),
        "Time is": SHORT_BASIS[plan.basis],
        "GPU": gpu_cell(offer),
        "Step latency": format_ms(plan.latency_ms),
        "Price per hour": plain(format_usd(offer.usd_per_hour)),
        "Price from": "spot, your guess" if is_guess(offer) else price_source(offer),
        **({"Memory": plain(plan.fit_note) or MISSING} if any(one.fit_note for one in advice.plans) else {}),
    }


def _time_between(interval: TotalInterval | None) -> str:
    return format_range(*map(format_duration, (interval.low_s, interval.high_s))) if interval else MISSING


def _usd_between(interval: TotalInterval | None) -> str:
    return plain(format_range(*map(format_usd, (interval.low_usd, interval.high_usd)))) if interval else MISSING


def _chance_cell(chance: float | None) -> str:
    return or_missing(chance, format_certainty)


def _data_row(advice: Advice, plan: Plan) -> dict[str, object]:
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
