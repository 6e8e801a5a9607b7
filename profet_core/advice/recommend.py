"""Which of many plans to recommend: the frontier, the cheapest, the fastest, the best within limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar, final

from profet_core.advice.certainty import chance_to_be_cheaper, chance_to_be_faster, is_claimed, same_speed
from profet_core.advice.plans import Limits, Plan
from profet_core.catalog.collection import is_ones_own

#: Costs this close are tied: prices differ by more between regions.
COST_TIE = 1.05


class Priced(Protocol):
    """Anything that takes time and costs money, such as a `CostRow` or a `Plan`."""

    @property
    def total_s(self) -> float:
        """Seconds."""

    @property
    def total_usd(self) -> float:
        """US dollars."""


Choice = TypeVar("Choice", bound=Priced)


def frontier(choices: Iterable[Choice]) -> list[Choice]:
    """Choices that no other choice dominates, fastest first; of equal choices one is kept.

    >>> from types import SimpleNamespace
    >>> slow, fast, dear = (SimpleNamespace(total_s=s, total_usd=usd) for s, usd in ((9, 1), (1, 4), (5, 6)))
    >>> frontier([slow, fast, dear]) == [fast, slow]
    True
    """
    best: list[Choice] = []
    for choice in sorted(choices, key=lambda choice: (choice.total_s, choice.total_usd)):
        if not best or choice.total_usd < best[-1].total_usd:
            best.append(choice)
    return best


class Criterion(StrEnum):
    """Criterion by which plans are compared."""

    FASTER = "faster"
    CHEAPER = "cheaper"

    @property
    def other(self) -> Criterion:
        """The criterion it is traded off against."""
        return Criterion.CHEAPER if self is Criterion.FASTER else Criterion.FASTER

    def total(self, plan: Plan) -> float:
        """Value of the criterion: seconds or US dollars, lower is better."""
        return plan.total_s if self is Criterion.FASTER else plan.total_usd

    def certainty(self, a: Plan, b: Plan) -> float | None:
        """Probability that A is better than B; None where an interval is missing."""
        return (chance_to_be_faster if self is Criterion.FASTER else chance_to_be_cheaper)(a, b)


@dataclass(frozen=True, slots=True)
class Rival:
    """A plan that another plan beats with this confidence, 0 to 1."""

    plan: Plan
    certainty: float


@final
@dataclass(frozen=True, slots=True)
class Pick:
    """The best plan by one criterion.

    Attributes
    ----------
    rival : runner-up: the plan on another GPU that it beats with the least confidence, statistically tied plans first;
        None without intervals or another GPU.
    """

    plan: Plan
    criterion: Criterion
    rival: Rival | None

    @property
    def close_rival(self) -> Rival | None:
        """The runner-up, if statistically tied."""
        if self.rival is None or is_claimed(self.rival.certainty, self.plan, self.rival.plan):
            return None
        return self.rival


def pick_of(plan: Plan, plans: Iterable[Plan], criterion: Criterion) -> Pick:
    """Pair `plan` with the plan on another GPU that it beats with the least confidence."""
    rivals = []
    for other in plans:
        if same_speed(other, plan):
            continue
        certainty = criterion.certainty(plan, other)
        if certainty is None:
            return Pick(plan, criterion, None)
        rivals.append(Rival(other, certainty))

    def closeness(rival: Rival) -> tuple[bool, float, float]:
        claimed = is_claimed(rival.certainty, plan, rival.plan)
        return claimed, rival.certainty, criterion.total(rival.plan)

    return Pick(plan, criterion, min(rivals, key=closeness, default=None))


@dataclass(frozen=True, slots=True)
class Within:
    """Best plans under the limits: the cheapest in time, or the fastest if there is only a budget.

    Attributes
    ----------
    sure_pick : the best plan that meets the limits with the required confidence, with the runner-up that also does;
        None if none does.
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
    nearest = min(plans, key=limits.excess)
    known = [(chance, -limits.excess(plan), plan) for plan in plans if (chance := plan.within_limits) is not None]
    return Within(
        limits=limits,
        sure_pick=pick_of(sure[0], sure, criterion) if sure else None,
        expected=next((plan for plan in best_first if limits.excess(plan) <= 1), None),
        surest=max(known, key=lambda one: one[:2])[2] if known else None,
        nearest=nearest,
        over_s=0.0 if limits.deadline_s is None else max(0.0, nearest.total_s - limits.deadline_s),
        over_usd=0.0 if limits.budget_usd is None else max(0.0, nearest.total_usd - limits.budget_usd),
    )


def within(plans: Sequence[Plan], limits: Limits) -> list[Plan]:
    """Plans that meet the limits with the required confidence, else by the estimate; may be empty."""
    expected = [plan for plan in plans if limits.excess(plan) <= 1]
    if limits.deadline_h is None and limits.budget_usd is None:
        return expected
    return [plan for plan in plans if (plan.within_limits or 0.0) >= limits.certainty] or expected


def shortlist(plans: Iterable[Plan], keep: Collection[Plan], most: int) -> list[Plan]:
    """At most so many plans: `keep`, custom offers, and the cheapest plan of each GPU; cheapest first."""
    every = sorted(plans, key=lambda plan: (plan.total_usd, plan.total_s))
    must = [plan for plan in every if plan in keep or is_ones_own(plan.offer)]
    cheapest: dict[tuple[str, int], Plan] = {}
    for plan in every:
        cheapest.setdefault(_gpus(plan), plan)
    others = [plan for plan in cheapest.values() if plan not in must]
    shown = {*must[:most], *others[: max(0, most - len(must))]}
    return [plan for plan in every if plan in shown]


def others_of_gpus(plans: Iterable[Plan], plan: Plan) -> list[Plan]:
    """Plans on the same number of the same GPU model, cheapest first."""
    same = [other for other in plans if other != plan and _gpus(other) == _gpus(plan)]
    return sorted(same, key=lambda other: (other.total_usd, other.total_s))


def _gpus(plan: Plan) -> tuple[str, int]:
    """GPU model and number of GPUs, which offers of different providers share."""
    return plan.offer.gpu_model, plan.offer.gpu_count


class Goal(StrEnum):
    """Goal of a recommendation."""

    CHEAPEST = "cheapest"
    FASTEST = "fastest"
    BEST_VALUE = "best value"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A plan, the goals it is best for, and a plan on another GPU that is statistically tied for the first goal."""

    goals: tuple[Goal, ...]
    plan: Plan
    runner_up: Plan | None


def cheapest_of(plans: Iterable[Plan]) -> Plan:
    """Cheapest plan; the fastest of those within `COST_TIE` of it."""
    every = list(plans)
    least_usd = min(plan.total_usd for plan in every)
    tied = [plan for plan in every if plan.total_usd <= COST_TIE * least_usd]
    return min(tied, key=lambda plan: (plan.total_s, plan.total_usd))


def recommendations(plans: Sequence[Plan]) -> tuple[Recommendation, ...]:
    """One recommendation per distinct plan, in the order of `Goal`; empty without plans.

    The best value has the lowest product of time and cost: being twice as fast offsets twice the cost.
    """
    if not plans:
        return ()
    fastest, cheapest = frontier(plans)[0], cheapest_of(plans)
    value = min(plans, key=lambda plan: (plan.total_s * plan.total_usd, plan.total_s))
    found: dict[Plan, list[Goal]] = {}
    for goal, plan in ((Goal.CHEAPEST, cheapest), (Goal.FASTEST, fastest), (Goal.BEST_VALUE, value)):
        found.setdefault(plan, []).append(goal)
    criteria = {Goal.CHEAPEST: Criterion.CHEAPER, Goal.FASTEST: Criterion.FASTER}
    made = []
    for plan, goals in found.items():
        criterion = criteria.get(goals[0])
        close = criterion and pick_of(plan, plans, criterion).close_rival
        made.append(Recommendation(tuple(goals), plan, close.plan if close else None))
    return tuple(made)
