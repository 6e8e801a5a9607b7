"""What keeps to a deadline and a budget, and with which chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.advice.picks import Pick, pick_of
from profet_core.advice.plans import Limits, Plan

#: A limit counts as kept where the chance of it is at least this, unless the user asks for another certainty.
CERTAINTY = 0.90


@dataclass(frozen=True, slots=True)
class Within:
    """What keeps to a deadline, to a budget or to both: the cheapest in time, or the fastest within the budget alone.

    Attributes
    ----------
    sure : the best plan that keeps to it with the certainty asked for; None if none does.
    expected : the best plan by the plain estimate; None if none keeps to it even so.
    surest : the plan most likely to keep to it; None without intervals.
    closest : `sure` beside the one that keeps to it as surely and may be as good; None without `sure`.
    nearest : the plan that misses it least, or keeps to it best, by the plain estimate.
    over_s, over_usd : by how much `nearest` is expected to miss it; 0 where it keeps to it.
    """

    limits: Limits
    certainty: float
    sure: Plan | None
    expected: Plan | None
    surest: Plan | None
    closest: Pick | None
    nearest: Plan
    over_s: float
    over_usd: float


def within_limits(plans: Sequence[Plan], limits: Limits, certainty: float) -> Within | None:
    """What keeps to `limits` with a chance of at least `certainty`; None if there are no limits."""
    if limits.deadline_h is None and limits.budget_usd is None:
        return None
    best_first = sorted(plans, key=_by_time if limits.deadline_h is None else _by_cost)
    safe = [plan for plan in best_first if (chance_within(plan) or 0) >= certainty]
    respect = "faster" if limits.deadline_h is None else "cheaper"
    expected = next((plan for plan in best_first if _excess(plan, limits) <= 1), None)
    known = [plan for plan in plans if chance_within(plan) is not None]
    nearest = min(plans, key=lambda plan: _excess(plan, limits))
    return Within(
        limits=limits,
        certainty=certainty,
        sure=safe[0] if safe else None,
        expected=expected,
        surest=max(known, key=lambda plan: (chance_within(plan), -_excess(plan, limits)), default=None),
        closest=pick_of(safe[0], safe, respect) if safe else None,
        nearest=nearest,
        over_s=0.0 if limits.deadline_s is None else max(0.0, nearest.total_s - limits.deadline_s),
        over_usd=0.0 if limits.budget_usd is None else max(0.0, nearest.total_usd - limits.budget_usd),
    )


def chance_within(plan: Plan) -> float | None:
    """Chance that all limits are kept to; None without an interval. One error moves both, so the worse one decides."""
    chances = [chance for chance in (plan.in_time, plan.in_budget) if chance is not None]
    return min(chances) if chances else None


def _by_time(plan: Plan) -> tuple[float, float]:
    return plan.total_s, plan.total_usd


def _by_cost(plan: Plan) -> tuple[float, float]:
    return plan.total_usd, plan.total_s


def _excess(plan: Plan, limits: Limits) -> float:
    """Time over deadline or money over budget, the larger one; at most 1 where both are kept to."""
    return max(
        0.0 if limits.deadline_s is None else plan.total_s / limits.deadline_s,
        0.0 if limits.budget_usd is None else plan.total_usd / limits.budget_usd,
    )
