"""What keeps to a deadline and a budget, and with which chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.advice.picks import Criterion, Pick, pick_of
from profet_core.advice.plans import Plan
from profet_core.advice.request import Limits


@dataclass(frozen=True, slots=True)
class Within:
    """What keeps to a deadline, to a budget or to both: the cheapest in time, or the fastest within the budget alone.

    Attributes
    ----------
    sure : the best plan that keeps to it with the limits' certainty; None if none does.
    sure_pick : `sure` beside the one that keeps to it as surely and may be as good; None without `sure`.
    expected : the best plan by the plain estimate; None if none keeps to it even so.
    surest : the plan most likely to keep to it; None without intervals.
    nearest : the plan that misses it least, or keeps to it best, by the plain estimate.
    over_s, over_usd : by how much `nearest` is expected to miss it; 0 where it keeps to it.
    """

    limits: Limits
    sure_pick: Pick | None
    expected: Plan | None
    surest: Plan | None
    nearest: Plan
    over_s: float
    over_usd: float

    @property
    def sure(self) -> Plan | None:
        """The plan of `sure_pick`."""
        return self.sure_pick and self.sure_pick.plan

    @property
    def is_out_of_reach(self) -> bool:
        """Whether nothing keeps to the limits, not even by the plain estimate."""
        return self.expected is None and self.sure is None


def within_limits(plans: Sequence[Plan], limits: Limits) -> Within | None:
    """What keeps to `limits` with a chance of at least their certainty; None if there are no limits."""
    if limits.deadline_h is None and limits.budget_usd is None:
        return None
    criterion = Criterion.FASTER if limits.deadline_h is None else Criterion.CHEAPER
    best_first = sorted(plans, key=lambda plan: (criterion.total(plan), criterion.other.total(plan)))
    sure = [plan for plan in best_first if (plan.within_limits or 0) >= limits.certainty]
    nearest = min(plans, key=lambda plan: _excess(plan, limits))
    return Within(
        limits=limits,
        sure_pick=pick_of(sure[0], sure, criterion) if sure else None,
        expected=next((plan for plan in best_first if _excess(plan, limits) <= 1), None),
        surest=_surest(plans, limits),
        nearest=nearest,
        over_s=0.0 if limits.deadline_s is None else max(0.0, nearest.total_s - limits.deadline_s),
        over_usd=0.0 if limits.budget_usd is None else max(0.0, nearest.total_usd - limits.budget_usd),
    )


def _surest(plans: Sequence[Plan], limits: Limits) -> Plan | None:
    known = [(chance, plan) for plan in plans if (chance := plan.within_limits) is not None]
    return max(known, key=lambda one: (one[0], -_excess(one[1], limits)))[1] if known else None


def _excess(plan: Plan, limits: Limits) -> float:
    """Time over deadline or money over budget, the larger one; at most 1 where both are kept to."""
    return max(
        0.0 if limits.deadline_s is None else plan.total_s / limits.deadline_s,
        0.0 if limits.budget_usd is None else plan.total_usd / limits.budget_usd,
    )
