"""A latency estimate with its prediction interval and basis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import final

#: A step is limited by its host where launches take this share of what the GPU would.
HOST_BOUND_SHARE = 0.75
#: Power in which the GPU's part and launches add up where neither hides the other: no step turns from one to the other
#: at once. It costs 0.2 points on GPUs held out, and halves how often a larger step is predicted faster.
JOINED = 4.0
#: Two-sided 90% quantile of the normal distribution.
NORMAL_90 = 1.645


class Basis(StrEnum):
    """Basis of a latency; values as in documents.

    >>> f"{Basis.DERIVED}", Basis("given").words
    ('derived', 'your own measurement')
    """

    GIVEN = "given"
    MEASURED = "measured"
    DERIVED = "derived"
    TRANSFERRED = "transferred"
    CARRIED = "carried"
    CARRIED_BACK = "carried-back"
    SCALED_OUT = "scaled-out"
    SHARPENED = "sharpened"

    @property
    def words(self) -> str:
        """The same for a person."""
        return _WORDS[self]

    @property
    def is_exact(self) -> bool:
        """Without an error of its own: what the user measured."""
        return self is Basis.GIVEN

    @property
    def is_profiled(self) -> bool:
        """The GPU was profiled, and at this size."""
        return self in (Basis.GIVEN, Basis.MEASURED)

    @property
    def is_rough(self) -> bool:
        """No models learned from profiles of the GPU, or of the anchor's."""
        return self in (Basis.DERIVED, Basis.TRANSFERRED, Basis.CARRIED_BACK, Basis.SHARPENED)


_WORDS = {
    Basis.GIVEN: "your own measurement",
    Basis.MEASURED: "predicted by models that learned from profiles of this GPU",
    Basis.DERIVED: "derived from third-party timings of this unprofiled GPU, which are biased",
    Basis.TRANSFERRED: "estimated for this unprofiled GPU from specs and benchmarks",
    Basis.CARRIED: "scaled to another batch or pixel size",
    Basis.CARRIED_BACK: "predicted from a profile of a GPU that the models have no profiles of",
    Basis.SHARPENED: "estimated and calibrated with steps measured on this GPU",
    Basis.SCALED_OUT: "one GPU's step, scaled out to all GPUs of the machine",
}


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of the interval of a latency, milliseconds; its width is given in the logarithm.

    >>> Interval.around(100, math.log(1.25))
    Interval(low_ms=80.0, high_ms=125.0)
    >>> Interval(80, 125).scaled(2)
    Interval(low_ms=160, high_ms=250)
    """

    low_ms: float
    high_ms: float

    @classmethod
    def around(cls, latency_ms: float, log_half_width: float) -> Interval:
        """As wide on either side of a latency."""
        return cls(latency_ms * math.exp(-log_half_width), latency_ms * math.exp(log_half_width))

    @classmethod
    def within_factor(cls, latency_ms: float, factor: float) -> Interval:
        """From a latency over `factor` to as many times the latency.

        >>> Interval.within_factor(100, 1.25)
        Interval(low_ms=80.0, high_ms=125.0)
        """
        return cls(latency_ms / factor, latency_ms * factor)

    @property
    def log_half_width(self) -> float:
        """Half the width in the logarithm.

        >>> Interval(50, 200).log_half_width == math.log(2)
        True
        """
        return math.log(self.high_ms / self.low_ms) / 2

    def scaled(self, factor: float) -> Interval:
        """Both ends times `factor`: the relative width stays."""
        return Interval(self.low_ms * factor, self.high_ms * factor)

    def widened(self, log_half_width: float) -> Interval:
        """Wider by this much in the logarithm, on either side."""
        if log_half_width == 0:
            return self
        return Interval(self.low_ms * math.exp(-log_half_width), self.high_ms * math.exp(log_half_width))


@final
@dataclass(frozen=True, slots=True)
class RelativeInterval:
    """Interval of log(latency / latency on `instance`): errors that both share cancel in it."""

    instance: str
    log_half_width: float


@final
@dataclass(frozen=True, slots=True)
class Reach:
    """Parts of a latency on an unprofiled GPU: `free_ms` and `launch_ms`, combined.

    Attributes
    ----------
    weights : profiled instance -> power with which its latency enters `free_ms`.
    free_ms : milliseconds a step if its host kept up. launch_ms : what the host needs to launch it on any GPU; 0 where
        that is not known.

    >>> Reach({"p3.2xlarge": 1.0}, 9.0, 20.0).limited_by_host, Reach({"p3.2xlarge": 1.0}, 9.0, 2.0).limited_by_host
    (True, False)
    """

    weights: Mapping[str, float]
    free_ms: float
    launch_ms: float = 0.0

    @property
    def limited_by_host(self) -> bool:
        """A GPU twice as fast would hardly be faster."""
        return self.launch_ms >= HOST_BOUND_SHARE * self.free_ms

    def scaled(self, factor: float) -> Reach:
        """Both latencies times `factor`."""
        return Reach(self.weights, self.free_ms * factor, self.launch_ms * factor)


#: What `StepTime.note` begins with where a faster GPU would take as long.
LIMITED_BY_HOST = "limited by CPU launch overhead"
#: The same where there is room for a word.
HOST_LIMITED = "host-limited"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """One instance's step latency.

    Attributes
    ----------
    latency_ms : milliseconds a training step; None: not known.
    interval : None where none is known.
    note : what a latency that was not measured is based on, or how the price belongs to it; empty if nothing is to say.
    relative : of a derived or transferred latency, how it lies to another instance's; None where that is not known.
    reach : parts of a derived or transferred latency; None elsewhere.
    """

    instance: str
    latency_ms: float | None
    basis: Basis
    interval: Interval | None = None
    note: str = ""
    relative: RelativeInterval | None = None
    reach: Reach | None = None

    def on(self, instance: str) -> StepTime:
        """The same of another instance. Faster than `dataclasses.replace`: offers of a GPU are many."""
        return StepTime(
            instance=instance,
            latency_ms=self.latency_ms,
            basis=self.basis,
            interval=self.interval,
            note=self.note,
            relative=self.relative,
            reach=self.reach,
        )

    @property
    def limited_by_host(self) -> bool:
        """The host needs longer to launch the step than the GPU to compute it: GPUs tie where this holds."""
        return self.reach is not None and self.reach.limited_by_host


def carried_steps(latencies_ms: Mapping[str, float], predicted: Iterable[StepTime]) -> list[StepTime]:
    """Latencies at another batch size, without intervals; what was no measurement of its GPU there is none here.

    Parameters
    ----------
    latencies_ms : instance -> milliseconds a step at the other batch size.
    predicted : the rows they were scaled from, with the basis of each.
    """
    rows = {row.instance: row for row in predicted}
    return [_carried(name, latency_ms, rows.get(name)) for name, latency_ms in latencies_ms.items()]


def _carried(instance: str, latency_ms: float, row: StepTime | None) -> StepTime:
    notes = (Basis.CARRIED.words, row.note if row else "")
    return StepTime(
        instance=instance,
        latency_ms=latency_ms,
        basis=row.basis if row and row.basis.is_rough else Basis.CARRIED,
        note="; ".join(note for note in notes if note),
    )
