"""Difference between a network's estimate and its profile's prediction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from profet_core.prediction.records import InstancePrediction, Prediction
from profet_core.units import format_significant


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Latency of one instance, from the network's layers and from its profile.

    Attributes
    ----------
    estimated_ms, profiled_ms : milliseconds per step.
    overlap : whether both intervals overlap; None if the profile's latency has none.
    """

    instance: str
    estimated_ms: float
    profiled_ms: float
    overlap: bool | None

    @property
    def ratio(self) -> float:
        """The estimate over the profile's."""
        return self.estimated_ms / self.profiled_ms


def disagreements(rows: Iterable[InstancePrediction], profiled: Prediction) -> tuple[Disagreement, ...]:
    """Disagreements for all instances in both, in the estimate's order."""
    by_profile = {row.instance: row for row in profiled.predictions}
    found = []
    for row in rows:
        other = by_profile.get(row.instance)
        if other is None or other.latency_ms is None or row.latency_ms is None or row.interval is None:
            continue
        # A measurement has no interval but is a single latency.
        low, high = (
            (other.interval.low_ms, other.interval.high_ms)
            if other.interval is not None
            else (other.latency_ms, other.latency_ms)
        )
        overlap = low <= row.interval.high_ms and row.interval.low_ms <= high
        found.append(Disagreement(row.instance, row.latency_ms, other.latency_ms, overlap))
    return tuple(found)


def disagreement_words(found: Sequence[Disagreement]) -> str:
    """One sentence on the difference between estimate and profile.

    >>> disagreement_words([Disagreement("a", 110, 100, True), Disagreement("b", 120, 100, False)]).partition(";")[0]
    'The estimate and the profile differ by 15.0% (the median of 2 offers, 20.0% at most)'
    """
    if not found:
        return "The estimate and the profile have no offer in common."
    off = sorted(100 * (math.exp(abs(math.log(row.ratio))) - 1) for row in found)
    middle = len(off) // 2
    median = off[middle] if len(off) % 2 else (off[middle - 1] + off[middle]) / 2
    overlapping = sum(row.overlap is True for row in found)
    several = "offer" if len(found) == 1 else "offers"
    return (
        f"The estimate and the profile differ by {format_significant(median)}% (the median of {len(found)} "
        f"{several}, {format_significant(off[-1])}% at most); their ranges overlap on {overlapping} of them."
    )
