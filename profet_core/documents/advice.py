"""Advice as one JSON document; plans are named by their label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profet_core.advice.advise import Advice, Dominated, ExcludedInstance, Upgrade
from profet_core.advice.comparison import Comparison
from profet_core.advice.comparison_words import comparison_sentences
from profet_core.advice.picks import Pick
from profet_core.advice.plans import Plan
from profet_core.advice.request import Workload
from profet_core.advice.within import Within
from profet_core.advice.words import answer_sentences
from profet_core.catalog.price_age import old_price_note
from profet_core.documents.parts import Document, memory_document
from profet_core.memory.fit import FitAnswer


def advice_document(
    advice: Advice,
    comparison: Comparison | None,
    anchor: str,
    fits: Mapping[str, FitAnswer],
    warnings: Sequence[str],
) -> Document:
    """The advice; `within` is null without limits, `comparison` unless two plans were compared."""
    return {
        "anchor": anchor,
        "workload": _workload_document(advice.request.workload),
        "deadline_h": advice.request.limits.deadline_h,
        "budget_usd": advice.request.limits.budget_usd,
        "answer": {"plan": advice.answer.label, "sentences": list(answer_sentences(advice))},
        "plans": [_plan_document(plan) for plan in advice.plans],
        "fastest": _pick_document(advice.fastest),
        "cheapest": _pick_document(advice.cheapest),
        "within": advice.within and _within_document(advice.within),
        "frontier": [plan.label for plan in advice.frontier],
        "upgrades": [_upgrade_document(upgrade) for upgrade in advice.upgrades],
        "beaten": [_dominated_document(dominated) for dominated in advice.dominated],
        "left_out": [_excluded_document(excluded) for excluded in advice.excluded],
        "comparison": comparison and _comparison_document(comparison),
        "memory": memory_document(fits),
        "warnings": list(warnings),
    }


def _workload_document(workload: Workload) -> Document:
    return {
        "images": workload.images,
        "batch_size": workload.batch_size,
        "epochs": workload.epochs,
        "validation_images": workload.validation_images,
    }


def _plan_document(plan: Plan) -> Document:
    """One plan; null where there is no interval or no limit."""
    offer, interval = plan.offer, plan.interval
    return {
        "plan": plan.label,
        "instance": plan.instance,
        "gpu": offer.gpu,
        "gpu_count": offer.gpu_count,
        "gpus": plan.gpus,
        "batch_size": plan.batch_size,
        "market": offer.market,
        "region": offer.region,
        "usd_per_hour": offer.usd_per_hour,
        "as_of": offer.as_of,
        "source": offer.source,
        "status": offer.status,
        "basis": plan.basis,
        "latency_ms": plan.latency_ms,
        "total_s": plan.total_s,
        "low_s": interval and interval.low_s,
        "high_s": interval and interval.high_s,
        "total_usd": plan.total_usd,
        "low_usd": interval and interval.low_usd,
        "high_usd": interval and interval.high_usd,
        "in_time": plan.in_time,
        "in_budget": plan.in_budget,
        "rests_on": plan.latency_note,
        "note": plan.note,
        "provider": offer.provider,
        "usd_per_gpu_hour": offer.usd_per_gpu_hour,
        "price_note": old_price_note(offer),
    }


def _pick_document(pick: Pick) -> Document:
    return {
        "plan": pick.plan.label,
        "certainty": pick.rival and pick.rival.certainty,
        "rival": pick.rival and pick.rival.plan.label,
        "too_close_to_call": pick.close_rival is not None,
    }


def _within_document(within: Within) -> Document:
    return {
        "certainty": within.limits.certainty,
        "sure": _label(within.sure),
        "expected": _label(within.expected),
        "surest": _label(within.surest),
        "nearest": within.nearest.label,
        "over_s": within.over_s,
        "over_usd": within.over_usd,
    }


def _upgrade_document(upgrade: Upgrade) -> Document:
    return {
        "extra_usd": upgrade.extra_usd,
        "saves_h": upgrade.saves_h,
        "hours_per_usd": upgrade.hours_per_usd,
        "certainty": upgrade.certainty,
        "cheaper": upgrade.cheaper.label,
        "faster": upgrade.faster.label,
    }


def _dominated_document(dominated: Dominated) -> Document:
    return {"plan": dominated.plan.label, "by": dominated.by.label, "certainty": dominated.certainty}


def _excluded_document(excluded: ExcludedInstance) -> Document:
    return {"instance": excluded.instance, "reason": excluded.reason}


def _comparison_document(comparison: Comparison) -> Document:
    """Null where an interval is missing."""
    known = comparison.uncertainty
    return {
        "a": comparison.a.label,
        "b": comparison.b.label,
        "latency_ratio": comparison.latency_ratio,
        "latency_ratio_low": known and known.latency_ratio_low,
        "latency_ratio_high": known and known.latency_ratio_high,
        "break_even_ratio": comparison.break_even_ratio,
        "break_even_usd_per_hour": comparison.break_even_usd_per_hour,
        "break_even_low": known and known.break_even_low,
        "break_even_high": known and known.break_even_high,
        "faster": known and known.faster,
        "cheaper": known and known.cheaper,
        "beats": known and known.dominates,
        "sentences": list(comparison_sentences(comparison)),
    }


def _label(plan: Plan | None) -> str | None:
    return None if plan is None else plan.label
