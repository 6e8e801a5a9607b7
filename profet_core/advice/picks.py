"""The best plan by one criterion, and its confidence over other GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import final

from profet_core.advice.claims import is_claimed
from profet_core.advice.comparison import Comparison, compare, same_speed
from profet_core.advice.plans import Plan


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

    def certainty(self, comparison: Comparison) -> float | None:
        """Probability that A is better than B; None where an interval is missing."""
        return comparison.faster if self is Criterion.FASTER else comparison.cheaper


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
        certainty = criterion.certainty(compare(plan, other))
        if certainty is None:
            return Pick(plan, criterion, None)
        rivals.append(Rival(other, certainty))

    def closeness(rival: Rival) -> tuple[bool, float, float]:
        claimed = is_claimed(rival.certainty, plan, rival.plan)
        return claimed, rival.certainty, criterion.total(rival.plan)

    return Pick(plan, criterion, min(rivals, key=closeness, default=None))
