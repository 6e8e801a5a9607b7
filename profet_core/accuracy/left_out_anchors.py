"""Measured accuracy with held-out GPUs as anchor, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnchorFigures:
    """Errors of latencies that are predicted from an unprofiled GPU, all percent.

    Attributes
    ----------
    bias : geometric mean of predicted over measured, less 1. mape : mean absolute error.
    mape_without_resnet50 : the same without the network whose latency on the anchor was known.
    mape_law_alone : of the analytical model without the trained models.
    missed_90 : share outside the 90% interval. median_interval_pct : median of the interval's upper half.
    """

    bias: float
    mape: float
    mape_without_resnet50: float
    mape_law_alone: float
    missed_90: float
    median_interval_pct: float


@dataclass(frozen=True, slots=True)
class AnchorDirection:
    """From one held-out instance to a profiled one, over `n` workloads; by whether the anchor's latency is given."""

    anchor: str
    target: str
    n: int
    figures: Mapping[bool, AnchorFigures]


@dataclass(frozen=True, slots=True)
class AnchorAccuracy:
    """Every direction, the mean over them, and by held-out instance the mean over its targets."""

    directions: tuple[AnchorDirection, ...]
    mean: Mapping[bool, AnchorFigures]
    by_anchor: Mapping[str, Mapping[bool, AnchorFigures]]

    def worst(self, known: bool) -> AnchorDirection:
        """The direction with the largest error."""
        return max(self.directions, key=lambda row: row.figures[known].mape)
