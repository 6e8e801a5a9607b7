"""The cheapest, fastest and best-value plans, merged where they are the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from profet_core.advice.picks import Criterion, pick_of
from profet_core.advice.plans import Plan
from profet_core.advice.request import Limits

#: Costs this close are tied: prices differ by more between regions.
COST_TIE = 1.05


class Goal(StrEnum):
    """Goal of a recommendation."""

    CHEAPEST = "cheapest"
    FASTEST = "fastest"
    BEST_VALUE = "best value"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A plan and the goals it is best for.

    Attributes
    ----------
    runner_up : a plan on another GPU that is statistically tied for the first goal; None if there is none.
    """

    goals: tuple[Goal, ...]
    plan: Plan
    runner_up: Plan | None


def cheapest_of(plans: Iterable[Plan]) -> Plan:
    """Cheapest plan; the fastest of those within `COST_TIE` of it."""
    every = list(plans)
    least_usd = min(plan.total_usd for plan in every)
    tied = [plan for plan in every if plan.total_usd <= COST_TIE * least_usd]
    return min(tied, key=lambda plan: (plan.total_s, plan.total_usd))


def within(plans: Sequence[Plan], limits: Limits) -> list[Plan]:
    """Plans that meet the limits with the required confidence, else by the estimate; may be empty."""
    if limits.deadline_h is None and limits.budget_usd is None:
        return list(plans)
    sure = [plan for plan in plans if (plan.within_limits or 0.0) >= limits.certainty]
    return sure or [
        plan
        for plan in plans
        if (limits.deadline_s is None or plan.total_s <= limits.deadline_s)
        and (limits.budget_usd is None or plan.total_usd <= limits.budget_usd)
    ]


def recommendations(plans: Sequence[Plan]) -> tuple[Recommendation, ...]:
    """One recommendation per distinct plan, in the order of `Goal`.

    Empty without plans.

    The best value has the lowest product of time and cost: being twice as fast offsets twice the cost.
    """
    if not plans:
        return ()
    best = {
        Goal.CHEAPEST: cheapest_of(plans),
        Goal.FASTEST: min(plans, key=lambda plan: (plan.total_s, plan.total_usd)),
        Goal.BEST_VALUE: min(plans, key=lambda plan: (plan.total_s * plan.total_usd, plan.total_s)),
    }
    found: dict[Plan, list[Goal]] = {}
    for goal, plan in best.items():
        found.setdefault(plan, []).append(goal)
    return tuple(Recommendation(tuple(goals), plan, _tied(goals[0], plan, plans)) for plan, goals in found.items())


def _tied(goal: Goal, plan: Plan, plans: Sequence[Plan]) -> Plan | None:
    if goal is Goal.BEST_VALUE:
        return None
    criterion = Criterion.FASTER if goal is Goal.FASTEST else Criterion.CHEAPER
    close = pick_of(plan, plans, criterion).close_rival
    return None if close is None else close.plan
