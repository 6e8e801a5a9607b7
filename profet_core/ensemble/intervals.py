"""Intervals calibrated on left-out architectures, and the distance of a profile from the training data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.latency import combined_sd, log_sd_of
from profet_core.units import SMALLEST_NUMBER

#: Offsets inside the logarithms, so that equal members or a duplicate in the data don't give zero width.
SPREAD_OFFSET, DISTANCE_OFFSET = 0.01, 0.02
#: Maximum width: a factor of a thousand up or down means unknown. If it is fitted on few networks, the extrapolated
#: scale can exceed the range of floats.
MAX_LOG_SD = log_sd_of(math.log(1_000))
_MAX_LOG_SCALE = 100.0
#: Weight of a profile's total time relative to its class shares in the distance.
TOTAL_WEIGHT = 0.05
#: Upper bounds of the distance bands, and their names.
DISTANCE_BANDS = (0.10, 0.28, 0.50)
BAND_WORDS = ("like", "somewhat unlike", "unlike", "very unlike")


@dataclass(frozen=True)
class IntervalScale:
    """Interval half-width: scale of the log error times an empirical quantile of held-out errors.

    The log half-width at `level` is quantile[pair] * exp(offset[pair] + spread * log(s + 0.01) + distance * log(d +
    0.02)), with s the standard deviation of the members' log latencies and d the distance from the training data. It is
    converted to the standard deviation of a log-normal error. Scale and quantile come from the same errors on held-out
    architectures. Unlike conformal prediction this guarantees no coverage: it is checked on architectures that neither
    members nor interval saw. The uncertainty of an imputed truncated profile is added.
    """

    level: float
    spread: float
    distance: float
    offset: Mapping[str, Mapping[str, float]]
    quantile: Mapping[str, Mapping[str, float]]
    error_by_distance: Sequence[float]

    def log_sd(
        self, anchor: str, targets: Sequence[str], member_ms: FloatArray, distance: FloatArray, doubt: FloatArray
    ) -> FloatArray:
        """Standard deviation in the logarithm, at most `MAX_LOG_SD`, (targets, profiles).

        Parameters
        ----------
        member_ms : members' latencies, (targets, profiles, members). distance, doubt : (profiles,).
        """
        offset, quantile = np.array(
            [(self.offset[anchor][target], self.quantile[anchor][target]) for target in targets]
        ).T[..., None]
        log_scale = offset + scale_features(member_ms, distance) @ np.array([self.spread, self.distance])
        # Clip before the power too: zero times infinity is NaN.
        scale: FloatArray = np.exp(np.minimum(log_scale, _MAX_LOG_SCALE))
        log_sd: FloatArray = np.minimum(combined_sd(log_sd_of(quantile * scale, self.level), doubt), MAX_LOG_SD)
        return log_sd


def scale_features(member_ms: FloatArray, distance: FloatArray) -> FloatArray:
    """Log spread of the members and log distance, (..., profiles, 2), from latencies (..., profiles, members)."""
    spread = np.log(np.maximum(member_ms, SMALLEST_NUMBER)).std(axis=-1)
    away = np.broadcast_to(np.log(distance + DISTANCE_OFFSET), spread.shape)
    return np.stack([np.log(spread + SPREAD_OFFSET), away], axis=-1)


def class_shares(classes_ms: FloatArray, device_classes: int) -> FloatArray:
    """Square roots of class shares, and a small weight of total time, (profiles, classes + 1)."""
    device = classes_ms[:, :device_classes]
    total = np.maximum(device.sum(axis=1, keepdims=True), 1e-3)
    return np.hstack([np.sqrt(device / total), TOTAL_WEIGHT * np.log(total)])


def nearest_distance(shares: FloatArray, reference: FloatArray, block: int = 512) -> FloatArray:
    """Euclidean distance of each profile to the nearest row of `reference`, (profiles,)."""
    squares = (reference**2).sum(axis=1)
    parts = []
    for start in range(0, len(shares), block):
        here = shares[start : start + block]
        distances = (here**2).sum(axis=1)[:, None] + squares - 2 * here @ reference.T
        parts.append(np.sqrt(np.maximum(distances.min(axis=1), 0)))
    return np.concatenate(parts) if parts else np.zeros(0)


def words_of(distance: float, error_by_distance: Sequence[float]) -> tuple[str, float]:
    """Name of a distance band, and the mean error of held-out architectures in it, percent.

    >>> words_of(0.2, (4.0, 6.0, 9.0, 15.0))
    ('somewhat unlike', 6.0)
    """
    band = int(np.searchsorted(DISTANCE_BANDS, distance))
    return BAND_WORDS[band], float(error_by_distance[band])
