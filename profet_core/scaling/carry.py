"""Scale steps known at one or two sizes, on many instances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.latency import Estimate, combined_sd
from profet_core.scaling.growth import AnyGrowth, CarryError

#: Between two sizes, errors are this fraction of the pooled error of both endpoints: 90% of the measured latencies
#: between the endpoints of an axis were within 0.53 of it along the batch and 0.61 along pixels.
BETWEEN = 0.6


@dataclass(frozen=True)
class Sizes:
    """Batch sizes and image areas, each (sizes,); area 1 everywhere if pixels are unknown."""

    batch: FloatArray
    area: FloatArray

    def over(self, other: SizePoint) -> tuple[FloatArray, FloatArray]:
        """log(batch / other's), log(area / other's)."""
        return np.log(self.batch / other.batch), np.log(self.area / other.area)


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One batch size and image area."""

    batch: float
    area: float

    def is_within(self, other: SizePoint) -> bool:
        """Whether neither of its sizes is above the other's."""
        return self.batch <= other.batch and self.area <= other.area


@dataclass(frozen=True)
class KnownPoint:
    """Steps on several instances, known at one size.

    Attributes
    ----------
    log_ms, log_sd : (instances,), of the latencies.
    growth : scaling from this size.
    """

    at: SizePoint
    log_ms: FloatArray
    log_sd: FloatArray
    growth: AnyGrowth


def carry_one(known: KnownPoint, error: CarryError, sizes: Sizes) -> Estimate:
    """Latencies at `sizes`, (instances, sizes); non-decreasing in batch and area, exact at the known size."""
    away = sizes.over(known.at)
    log_ms = known.log_ms[:, None] + known.growth.log_growth(*away)
    carrying = error.log_sd(known.growth.share[:, None], *away)
    return Estimate(latency_ms=np.exp(log_ms), log_sd=combined_sd(known.log_sd[:, None], carrying))


def carry_two(first: KnownPoint, second: KnownPoint, error: CarryError, sizes: Sizes) -> Estimate:
    """Latencies at `sizes`, (instances, sizes), exact at both known sizes.

    They are non-decreasing if the known ones are.

    Between two sizes, if both of one are at least the other's, steps scale by the share that connects the two
    latencies. Elsewhere they scale by the mean of both profiles' estimates.
    """
    if first.at.batch > second.at.batch or (first.at.batch == second.at.batch and first.at.area > second.at.area):
        first, second = second, first
    log_ms = _stretched(first, second, sizes) if first.at.is_within(second.at) else _bridged(first, second, sizes)
    by_first, by_second = (
        error.log_sd(point.growth.share[:, None], *sizes.over(point.at)) for point in (first, second)
    )
    within = (sizes.batch >= first.at.batch) & (sizes.batch <= second.at.batch)
    within &= (sizes.area >= first.at.area) & (sizes.area <= second.at.area)
    log_sd = _pooled_sd(first, second, by_first, by_second, np.where(within, BETWEEN, 1.0))
    return Estimate(latency_ms=np.exp(log_ms), log_sd=log_sd)


def _mean_growth(first: KnownPoint, second: KnownPoint, sizes: Sizes) -> FloatArray:
    by_first, by_second = (point.growth.log_growth(*sizes.over(point.at)) for point in (first, second))
    return (by_first + by_second) / 2


def _at(point: SizePoint) -> Sizes:
    return Sizes(np.array([point.batch]), np.array([point.area]))


def _stretched(small: KnownPoint, large: KnownPoint, sizes: Sizes) -> FloatArray:
    """Interpolate between both with the fitted scaling; extrapolate beyond with the profiles' scaling."""
    rise = large.log_ms - small.log_ms
    log_batch, log_area = (float(values[0]) for values in _at(large.at).over(small.at))
    growth = small.growth.through(log_batch, log_area, rise)
    span = growth.log_growth(*_at(large.at).over(small.at))
    between = np.clip(growth.log_growth(*sizes.over(small.at)) / span, 0, 1)
    grown = _mean_growth(small, large, sizes)
    below, above = (grown - _mean_growth(small, large, _at(point.at)) for point in (small, large))
    return small.log_ms[:, None] + rise[:, None] * between + np.minimum(below, 0) + np.maximum(above, 0)


def _bridged(wide: KnownPoint, deep: KnownPoint, sizes: Sizes) -> FloatArray:
    """Combine steps where `deep` has the larger batch and `wide` the larger area; one axis connects their levels."""
    grown = _mean_growth(wide, deep, sizes)
    by_wide, by_deep = (
        point.log_ms[:, None] + grown - _mean_growth(wide, deep, _at(point.at)) for point in (wide, deep)
    )
    to_deep: FloatArray = np.clip(np.log(sizes.batch / wide.at.batch) / np.log(deep.at.batch / wide.at.batch), 0, 1)
    to_wide: FloatArray = np.clip(np.log(sizes.area / deep.at.area) / np.log(wide.at.area / deep.at.area), 0, 1)
    higher = by_deep - by_wide
    return np.where(higher >= 0, by_wide + higher * to_deep, by_deep - higher * to_wide)


def _pooled_sd(
    first: KnownPoint, second: KnownPoint, by_first: FloatArray, by_second: FloatArray, factor: FloatArray
) -> FloatArray:
    """Pooled error: the nearer step has more weight, and their scaling error is below that of each alone."""
    both = combined_sd(by_first, by_second)
    share = np.divide(by_first, by_first + by_second, out=np.zeros_like(both), where=both > 0)
    known = (1 - share) * first.log_sd[:, None] + share * second.log_sd[:, None]
    carrying = factor * np.divide(by_first * by_second, both, out=np.zeros_like(both), where=both > 0)
    found: FloatArray = combined_sd(known, carrying)
    return found
