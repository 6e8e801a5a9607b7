"""Plans that meet a deadline and a budget, with their probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.advice.picks import Criterion, Pick, pick_of
from profet_core.advice.plans import Plan
from profet_core.advice.request import Limits


@dataclass(frozen=True, slots=True)
class Within:
    """Best plans under the limits: the cheapest in time, or the fastest if there is only a budget.

    Attributes
    ----------
    sure : the best plan that meets the limits with the required confidence; None if none does.
    sure_pick : `sure` with the runner-up that also meets the limits and may be as good; None without `sure`.
    expected : the best plan by the point estimate; None if none meets the limits.
    surest : the plan most likely to meet the limits; None without intervals.
    nearest : the plan that misses the limits least, or meets them best, by the point estimate.
    over_s, over_usd : expected excess of `nearest`; 0 if it meets the limits.
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
        """Whether no plan meets the limits, even by the point estimate."""
        return self.expected is None and self.sure is None


def within_limits(plans: Sequence[Plan], limits: Limits) -> Within | None:
    """Plans that meet `limits` with at least their certainty; None if there are no limits."""
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
    """The larger of time over deadline and cost over budget; at most 1 if both are met."""
    return max(
        0.0 if limits.deadline_s is None else plan.total_s / limits.deadline_s,
        0.0 if limits.budget_usd is None else plan.total_usd / limits.budget_usd,
    )
