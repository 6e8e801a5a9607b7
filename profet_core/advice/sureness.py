"""Confidence in a number, in three steps of measured errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from profet_core.latency import NORMAL_90, Basis, Interval

if TYPE_CHECKING:
    from profet_core.advice.plans import Plan

#: Half the widths of a 90% interval, as a share of the latency, up to which a number is good, and fair.
GOOD_HALF_WIDTH, FAIR_HALF_WIDTH = 0.20, 0.50


class Sureness(IntEnum):
    """The three steps, ascending."""

    ROUGH = 1
    FAIR = 2
    GOOD = 3

    @property
    def word(self) -> str:
        """'good', 'fair' or 'rough'."""
        return self.name.lower()

    @property
    def mark(self) -> str:
        """'●●○': one filled dot per step of confidence."""
        return "●" * self + "○" * (len(Sureness) - self)


@dataclass(frozen=True, slots=True)
class MeasuredErrors:
    """Errors of a confidence step on held-out networks, percent: mean and 90th percentile."""

    mean_pct: float
    one_in_ten_pct: float


#: Of the default method's predictions for networks that the models had not seen, the anchor's latency given, by the
#: step that their intervals put them on; `tests/core/advice/test_sureness.py` recomputes them from `validation.json`.
MEASURED_ERRORS = {Sureness.GOOD: MeasuredErrors(4.8, 11.4), Sureness.FAIR: MeasuredErrors(10.8, 22.1)}


def sureness(basis: Basis, interval: Interval | None) -> Sureness:
    """Confidence in a latency, or in a number computed from it.

    The interval decides: it is as wide as the members disagree and as the profile is unlike the training data. A GPU
    that nobody profiled is never "good", nor are several at once: no measurement could check its interval.

    >>> sureness(Basis.GIVEN, None).word, sureness(Basis.MEASURED, Interval.within_factor(100, 1.15)).word
    ('good', 'good')
    >>> sureness(Basis.DERIVED, Interval.within_factor(100, 1.15)).word, sureness(Basis.CARRIED, None).word
    ('fair', 'rough')
    """
    if basis.is_exact:
        return Sureness.GOOD
    if interval is None:
        return Sureness.ROUGH
    half_width = math.expm1(interval.log_half_width)
    if half_width > FAIR_HALF_WIDTH:
        return Sureness.ROUGH
    unmeasured = basis.is_rough or basis is Basis.SCALED_OUT
    return Sureness.FAIR if unmeasured or half_width > GOOD_HALF_WIDTH else Sureness.GOOD


def plan_sureness(plan: Plan) -> Sureness:
    """Confidence in a plan's time and cost, that of its step latency."""
    if plan.deviation is None:
        return sureness(plan.basis, None)
    return sureness(plan.basis, Interval.around(plan.latency_ms, NORMAL_90 * plan.deviation))
