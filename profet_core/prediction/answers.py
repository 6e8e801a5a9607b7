"""What a method answers for many profiles of one anchor, and how members are joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.errors import InputError
from profet_core.networks.intervals import BAND_WORDS
from profet_core.operations.unknown import UnknownOperations
from profet_core.units import SMALLEST_NUMBER


@dataclass(frozen=True, slots=True)
class Likeness:
    """How far a profile lies from the training data.

    Attributes
    ----------
    distance : to the nearest training profile, in the space of class shares.
    words : "like the training data", "unlike", ...
    error_percent : mean error on left-out architectures that lay this far off.
    """

    distance: float
    words: str
    error_percent: float

    @property
    def warned_of(self) -> bool:
        """Far enough that a warning says it."""
        return self.words.startswith(("unlike", "very unlike"))

    @property
    def error_words(self) -> str:
        """The mean error as a phrase; the farthest band has no end, so what was seen in it is the least to expect."""
        least = "at least " if self.words == BAND_WORDS[-1] else ""
        return f"{least}{self.error_percent:.0f} %"


@dataclass(frozen=True)
class Answers:
    """One method's answers; arrays have one row a target and one column a profile.

    Attributes
    ----------
    members : member -> (targets, profiles), milliseconds.
    latency_ms : (targets, profiles), joined.
    log_half_width : (targets, profiles), half the interval's width in the logarithm; None without intervals.
    interval_level : share of predictions the interval is to cover.
    unknown : per profile, operations the method has no place for.
    likeness : per profile; None if the method doesn't measure it.
    warnings : per profile.
    """

    members: Mapping[str, np.ndarray]
    latency_ms: np.ndarray
    log_half_width: np.ndarray | None
    interval_level: float | None
    unknown: Sequence[UnknownOperations]
    likeness: Sequence[Likeness | None]
    warnings: Sequence[tuple[str, ...]]


def combine(said: np.ndarray, how: str, weights: Sequence[float] | None = None) -> np.ndarray:
    """Join the members' answers, shape (profiles, members) -> (profiles,).

    `weights` : of the geometric mean, one a member; equal ones if None.
    """
    if how == "median":
        return np.median(said, axis=1)
    if how == "mean":
        return np.mean(said, axis=1)
    if how == "geometric mean":
        # A member that extrapolates below zero has no logarithm; next to nothing brings the answer to the floor.
        return np.exp(np.average(np.log(np.maximum(said, SMALLEST_NUMBER)), axis=1, weights=weights))
    raise InputError(f"Unknown ensemble rule {how!r}.")
