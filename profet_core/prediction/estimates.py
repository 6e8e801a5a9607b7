"""Estimates of a method for many profiles of one anchor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.artifacts.models import Models
from profet_core.errors import InputError
from profet_core.latency import Basis, Estimate, StepTime
from profet_core.networks.intervals import BAND_WORDS
from profet_core.operations.unknown import UnknownOperations
from profet_core.units import SMALLEST_NUMBER

#: Name of a distance band -> phrase that compares the profile with the training data.
_PHRASES = dict(
    zip(BAND_WORDS, ("similar to", "somewhat different from", "not similar to", "very different from"), strict=True)
)


@dataclass(frozen=True, slots=True)
class Likeness:
    """Similarity of a profile to the training data.

    Attributes
    ----------
    distance : to the nearest training profile, in the space of class shares.
    words : "like the training data", "unlike", ...
    error_percent : mean error on held-out architectures at this distance.
    """

    distance: float
    words: str
    error_percent: float

    @property
    def warned_of(self) -> bool:
        """Whether the distance warrants a warning."""
        return self.words.startswith(("unlike", "very unlike"))

    @property
    def phrase(self) -> str:
        """Phrase before "the training data" in a sentence."""
        return _PHRASES[self.words]

    @property
    def error_words(self) -> str:
        """The mean error as a phrase; the farthest band is open, so its mean error is a lower bound."""
        least = "at least " if self.words == BAND_WORDS[-1] else ""
        return f"{least}{self.error_percent:.0f}%"


@dataclass(frozen=True, slots=True)
class ProfileEstimates:
    """One method's estimates for one profile.

    Attributes
    ----------
    steps : one per target. member_ms : target -> member -> latency, milliseconds.
    at_floor : targets whose latency is below all measurements.
    interval_level, unknown, likeness, warnings : as in `Estimates`.
    """

    steps: tuple[StepTime, ...]
    member_ms: Mapping[str, Mapping[str, float]]
    at_floor: tuple[str, ...]
    interval_level: float | None
    unknown: UnknownOperations
    likeness: Likeness | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Estimates:
    """Estimates of one method.

    Arrays have one row per target and one column per profile.

    Attributes
    ----------
    member_ms : member -> (targets, profiles), milliseconds.
    joined_ms : (targets, profiles), members combined. floor_ms : (targets,), see `floors_ms`.
    log_sd : (targets, profiles), standard deviation of the latency's logarithm; None without intervals.
    interval_level : target coverage of the intervals.
    unknown : per profile, operations without a class or cluster.
    likeness : per profile; None if the method doesn't measure it.
    warnings : per profile.
    """

    targets: Sequence[str]
    member_ms: Mapping[str, FloatArray]
    joined_ms: FloatArray
    floor_ms: FloatArray
    log_sd: FloatArray | None
    interval_level: float | None
    unknown: Sequence[UnknownOperations]
    likeness: Sequence[Likeness | None]
    warnings: Sequence[tuple[str, ...]]

    @cached_property
    def latency_ms(self) -> FloatArray:
        """Combined latencies with the lower bound applied, (targets, profiles)."""
        return np.maximum(self.joined_ms, self.floor_ms[:, None])

    @property
    def by_target(self) -> dict[str, Estimate]:
        """Target -> its latencies, (profiles,); exact without intervals."""
        if self.log_sd is None:
            return {target: Estimate.exact(row) for target, row in zip(self.targets, self.latency_ms, strict=True)}
        rows = zip(self.targets, self.latency_ms, self.log_sd, strict=True)
        return {target: Estimate(latency_ms=latency_ms, log_sd=log_sd) for target, latency_ms, log_sd in rows}

    def of(self, number: int) -> ProfileEstimates:
        """Estimates of one profile, by its index."""
        latency_ms = self.latency_ms[:, number].tolist()
        members = {name: values[:, number].tolist() for name, values in self.member_ms.items()}
        log_sds: Sequence[float | None] = [None] * len(self.targets)
        if self.log_sd is not None:
            log_sds = self.log_sd[:, number].tolist()
        return ProfileEstimates(
            steps=tuple(
                StepTime(instance=target, latency_ms=value_ms, log_sd=log_sd, basis=Basis.MEASURED)
                for target, value_ms, log_sd in zip(self.targets, latency_ms, log_sds, strict=True)
            ),
            member_ms={
                target: {name: values[row] for name, values in members.items()}
                for row, target in enumerate(self.targets)
            },
            at_floor=tuple(compress(self.targets, self.joined_ms[:, number] <= self.floor_ms)),
            interval_level=self.interval_level,
            unknown=self.unknown[number],
            likeness=self.likeness[number],
            warnings=self.warnings[number],
        )


def floors_ms(models: Models, targets: Sequence[str]) -> FloatArray:
    """Half the fastest training step per target, (targets,); a bound because members may extrapolate below zero."""
    return np.array([models.ranges[name].latency_ms[0] / 2 for name in targets])


def combine(member_ms: FloatArray, how: str, weights: Sequence[float] | None = None) -> FloatArray:
    """Combine the members' latencies, shape (..., members) -> (...,).

    Parameters
    ----------
    how : "median", "mean" or "geometric mean". weights : of the geometric mean, one per member; None: equal weights.

    Raises
    ------
    InputError : unknown `how`.

    >>> float(combine(np.array([[10.0, 20.0, 90.0]]), "median")[0])
    20.0
    >>> round(float(combine(np.array([[10.0, 40.0]]), "geometric mean")[0]), 6)
    20.0
    """
    if how == "median":
        return np.median(member_ms, axis=-1)
    if how == "mean":
        mean_ms: FloatArray = np.mean(member_ms, axis=-1)
        return mean_ms
    if how == "geometric mean":
        # A member below zero has no logarithm; a tiny positive value lowers the estimate to the bound.
        logs, share = np.log(np.maximum(member_ms, SMALLEST_NUMBER)), np.ones(member_ms.shape[-1])
        if weights is not None:
            share = np.asarray(weights, float)
        mean_log: FloatArray = (logs * share).sum(axis=-1) / share.sum()
        return np.exp(mean_log)
    raise InputError(f"Unknown ensemble rule {how!r}.")
