"""Which of many plans to recommend: the frontier, the cheapest, the fastest, the best within limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar, final

from profet_core.advice.comparison import chance_to_be_cheaper, chance_to_be_faster, is_claimed, same_speed
from profet_core.advice.plans import Limits, Plan
from profet_core.catalog.collection import is_ones_own


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
    """Choices that no other choice dominates, fastest first.

    A choice is dominated if another is as fast for less, or faster for the same cost. Of equal choices one is kept.

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


#: Number of plans a reader can take in at a glance.
MOST_SHORTLISTED = 6


def same_gpus(plan: Plan) -> tuple[str, int]:
    """GPU model and number of GPUs, the key that offers of different providers share."""
    return plan.offer.gpu_model, plan.offer.gpu_count


def plan_a_gpu(plans: Iterable[Plan], keep: Collection[Plan] = ()) -> list[Plan]:
    """Cheapest plan per GPU model and number of GPUs, plus plans that must be shown; cheapest first.

    These are plans that no other GPU's cheapest plan beats, custom offers, and `keep`.
    """
    every = _cheapest_first(plans)
    return _of(every, (*_cheapest_a_gpu(every), *_in_sight(every, keep)))


def shortlist(plans: Iterable[Plan], keep: Collection[Plan] = (), most: int = MOST_SHORTLISTED) -> list[Plan]:
    """Plans of `plan_a_gpu` nearest to the frontier, cheapest first.

    All plans if there are few.

    Parameters
    ----------
    keep : plans that must be shown, such as those that a sentence names.
    most : maximum number of plans, exceeded only if more must be shown.
    """
    every = _cheapest_first(plans)
    if len(every) <= most:
        return every
    in_sight = _in_sight(every, keep)
    best = frontier(every)
    shown = _stood_for(in_sight, best)
    others = [plan for plan in _cheapest_a_gpu(every) if plan not in in_sight and same_gpus(plan) not in shown]
    nearest = sorted(others, key=lambda plan: _times_beaten(plan, best))
    return _of(every, (*in_sight, *nearest[: max(0, most - len(in_sight))]))


def others_of_gpus(plans: Iterable[Plan], plan: Plan) -> list[Plan]:
    """Plans on the same number of the same GPU model, cheapest first."""
    return [other for other in _cheapest_first(plans) if other != plan and same_gpus(other) == same_gpus(plan)]


def _cheapest_a_gpu(cheapest_first: Iterable[Plan]) -> list[Plan]:
    found: dict[tuple[str, int], Plan] = {}
    for plan in cheapest_first:
        found.setdefault(same_gpus(plan), plan)
    return list(found.values())


def _in_sight(cheapest_first: Sequence[Plan], keep: Iterable[Plan]) -> set[Plan]:
    """Plans that no other GPU's cheapest plan beats; other hosts of a GPU can be slightly faster and cost more."""
    must = {*keep, *(plan for plan in cheapest_first if is_ones_own(plan.offer))}
    shown = _stood_for(must, frontier(cheapest_first))
    return must | {plan for plan in frontier(_cheapest_a_gpu(cheapest_first)) if same_gpus(plan) not in shown}


def _stood_for(plans: Iterable[Plan], best: Sequence[Plan]) -> set[tuple[str, int]]:
    """GPUs that these plans represent; a dominated plan does not represent its GPU's best offer."""
    return {same_gpus(plan) for plan in plans if plan in best}


def _times_beaten(plan: Plan, best: Sequence[Plan]) -> float:
    """Factor by which a plan's time and cost must both shrink before no other plan beats it."""
    return max(min(plan.total_s / other.total_s, plan.total_usd / other.total_usd) for other in best)


def _of(plans: Sequence[Plan], wanted: Iterable[Plan]) -> list[Plan]:
    wanted = set(wanted)
    return [plan for plan in plans if plan in wanted]


def _cheapest_first(plans: Iterable[Plan]) -> list[Plan]:
    return sorted(plans, key=lambda plan: (plan.total_usd, plan.total_s))


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
