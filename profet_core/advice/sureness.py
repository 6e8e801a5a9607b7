"""Confidence in a number, in three levels based on measured errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from profet_core.latency import Basis, log_sd_of

if TYPE_CHECKING:
    from profet_core.advice.plans import Plan

#: Upper bounds of the log standard deviation for good and fair: 90% intervals of +20% and +50%.
GOOD_LOG_SD, FAIR_LOG_SD = log_sd_of(math.log(1.2)), log_sd_of(math.log(1.5))


class Sureness(IntEnum):
    """The three levels, ascending."""

    ROUGH = 1
    FAIR = 2
    GOOD = 3

    @property
    def word(self) -> str:
        """'good', 'fair' or 'rough'."""
        return self.name.lower()

    @property
    def mark(self) -> str:
        """'●●○': one filled dot per level of confidence."""
        return "●" * self + "○" * (len(Sureness) - self)


@dataclass(frozen=True, slots=True)
class MeasuredErrors:
    """Errors of a confidence level on held-out networks, percent: mean and 90th percentile."""

    mean_pct: float
    one_in_ten_pct: float


#: Errors of the default method on held-out networks with the anchor's latency given, by the confidence level of their
#: intervals; `tests/core/advice/test_sureness.py` recomputes them from `validation.json`.
MEASURED_ERRORS = {Sureness.GOOD: MeasuredErrors(4.8, 11.4), Sureness.FAIR: MeasuredErrors(10.8, 22.1)}


def sureness(basis: Basis, log_sd: float | None) -> Sureness:
    """Confidence in a latency, or in a number computed from it.

    The interval decides. It widens with ensemble disagreement and with distance from the training data. Unprofiled GPUs
    and multi-GPU predictions are never "good": no measurement could check their intervals.

    >>> sureness(Basis.GIVEN, None).word, sureness(Basis.MEASURED, 0.1).word
    ('good', 'good')
    >>> sureness(Basis.DERIVED, 0.1).word, sureness(Basis.CARRIED, None).word
    ('fair', 'rough')
    """
    if basis.is_exact:
        return Sureness.GOOD
    if log_sd is None or log_sd > FAIR_LOG_SD:
        return Sureness.ROUGH
    unmeasured = basis.is_rough or basis is Basis.SCALED_OUT
    return Sureness.FAIR if unmeasured or log_sd > GOOD_LOG_SD else Sureness.GOOD


def plan_sureness(plan: Plan) -> Sureness:
    """Confidence in a plan's time and cost: that of its step latency."""
    return sureness(plan.basis, plan.deviation)
