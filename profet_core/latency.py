"""A latency `Estimate` with its uncertainty and basis."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self, TypeAlias, final

from profet_core.errors import Code, Note, WordedEnum, line_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A step is host-bound if launches take at least this share of the GPU's time.
HOST_BOUND_SHARE = 0.75
#: Smooth-max exponent of GPU time and launches, so that no step switches abruptly from one to the other. It costs
#: 0.2 points on held-out GPUs, and halves how often a larger step is predicted faster.
SMOOTH_MAX_POWER = 4.0
#: Coverage of an interval.
LEVEL = 0.90

#: A number, or an array of numbers.
Values: TypeAlias = Any
#: Importing this module loads no numpy.
FloatArray: TypeAlias = "NDArray[np.float64]"


class BasisWord(WordedEnum):
    """What people read for a basis, the surest first: the same word on pages, in reports and on the command line.

    `words` : an explanation for a legend.
    """

    MEASURED = "Measured", "by you"
    PREDICTED = "Predicted", "GPU was profiled"
    SCALED = "Scaled", "from another size or GPU"
    ESTIMATED = "Estimated", "from specs and benchmarks"


class Basis(WordedEnum):
    """Basis of a latency; values as in documents. `words` : its basis word, and from what.

    >>> f"{Basis.CALIBRATED}", f"{Basis.CALIBRATED.word}", Basis("transferred").words
    ('calibrated', 'Scaled', 'Estimated from specs and published benchmarks')
    """

    GIVEN = "given", "Measured"
    MEASURED = "measured", "Predicted by models that learned from profiles of this GPU"
    TRANSFERRED = "transferred", "Estimated from specs and published benchmarks"
    RESIZED = "resized", "Scaled from another batch or image size"
    MAPPED = "mapped", "Estimated from a profile of a GPU that the models have no profiles of"
    SCALED_OUT = "scaled-out", "Scaled from one GPU to all GPUs of the machine"
    CALIBRATED = "calibrated", "Scaled from a few steps measured on this GPU"
    SCALED = "scaled", "Scaled from a step that you measured on another GPU or at another size"

    @property
    def word(self) -> BasisWord:
        """The first of `words`."""
        return BasisWord(self.words.partition(" ")[0])

    @property
    def is_exact(self) -> bool:
        """Whether it has no error: the user measured it."""
        return self is Basis.GIVEN

    @property
    def is_profiled(self) -> bool:
        """Whether the GPU was profiled at this size."""
        return self in (Basis.GIVEN, Basis.MEASURED)

    @property
    def is_rough(self) -> bool:
        """Whether no models were trained on profiles of the GPU, or of the anchor's."""
        return self in (Basis.TRANSFERRED, Basis.MAPPED, Basis.CALIBRATED, Basis.SCALED)


def quantile(level: float = LEVEL) -> float:
    """Half the width of a two-sided interval at a level, in standard deviations.

    >>> round(quantile(0.9), 3)
    1.645
    """
    return _AT_LEVEL if level == LEVEL else NormalDist().inv_cdf((1 + level) / 2)


#: Every interval that is shown asks for it.
_AT_LEVEL = NormalDist().inv_cdf((1 + LEVEL) / 2)


def log_sd_of(log_half_width: Values, level: float = LEVEL) -> Values:
    """Standard deviation of the logarithm, from the log half-width of an interval at a level.

    >>> round(log_sd_of(math.log(1.2)), 4)
    0.1108
    """
    return log_half_width / quantile(level)


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """Endpoints of a latency's interval, milliseconds."""

    low_ms: float
    high_ms: float

    @property
    def log_half_width(self) -> float:
        """Half-width of the interval in the logarithm.

        >>> Interval(50, 200).log_half_width == math.log(2)
        True
        """
        return math.log(self.high_ms / self.low_ms) / 2


@final
@dataclass(frozen=True, slots=True)
class Relative:
    """Standard deviation of log(latency / latency on `instance`), in which shared errors cancel."""

    instance: str
    log_sd: Values


@final
@dataclass(frozen=True, slots=True)
class LatencyParts:
    """Parts of a latency on an unprofiled GPU.

    The latency is their smooth maximum.

    Attributes
    ----------
    free_ms : milliseconds per step without the host's limit.
    launch_ms : what launches and copies by the host bound it to; 0 if unknown.

    >>> LatencyParts(9.0, 20.0).limited_by_host, LatencyParts(9.0, 2.0).limited_by_host
    (True, False)
    """

    free_ms: Values
    launch_ms: Values = 0.0

    @property
    def limited_by_host(self) -> bool:
        """Whether a GPU twice as fast would hardly be faster."""
        return bool(self.launch_ms >= HOST_BOUND_SHARE * self.free_ms)

    def scaled(self, factor: Values) -> LatencyParts:
        """Multiply both latencies by `factor`."""
        return LatencyParts(self.free_ms * factor, self.launch_ms * factor)


#: Short label of a host-bound latency.
HOST_LIMITED = "host-limited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A latency, or those of many profiles as arrays of one shape.

    Errors are log-normal.

    The latency is stored, not its logarithm, so a given latency is returned exactly.

    Attributes
    ----------
    latency_ms : milliseconds per training step; None: unknown.
    log_sd : standard deviation of the latency's logarithm; 0 for measurements, None if unknown.
    basis : its basis.
    notes : its caveats.
    least_ms : lower bound of any interval.
    relative : of a derived or transferred latency, uncertainty relative to another instance; None if unknown.
    parts : parts of a derived or transferred latency; None for others.

    >>> step = Estimate(latency_ms=100.0, log_sd=log_sd_of(math.log(1.25)))
    >>> step.interval_at(0.9)
    Interval(low_ms=80.0, high_ms=125.0)
    >>> step.scaled(2).latency_ms
    200.0
    """

    latency_ms: Values
    log_sd: Values = None
    basis: Basis = Basis.MEASURED
    notes: tuple[Note, ...] = ()
    least_ms: float = 0.0
    relative: Relative | None = None
    parts: LatencyParts | None = None

    def scaled(self, factor: Values) -> Self:
        """Multiply the latency and its parts by `factor`, with the same relative uncertainty."""
        return replace(
            self,
            latency_ms=self.latency_ms * factor,
            least_ms=self.least_ms * factor,
            parts=self.parts and self.parts.scaled(factor),
        )

    def interval_at(self, level: float = LEVEL) -> Interval | None:
        """Interval that covers this share of one latency's error; None if unknown."""
        if self.log_sd is None or self.latency_ms is None:
            return None
        factor = math.exp(quantile(level) * self.log_sd)
        low_ms = min(max(self.latency_ms / factor, self.least_ms), self.latency_ms)
        return Interval(low_ms, self.latency_ms * factor)

    @property
    def log_half_width(self) -> Values:
        """Half-width of the interval in the logarithm."""
        return quantile() * self.log_sd

    @property
    def limited_by_host(self) -> bool:
        """Whether the host takes longer to launch the step than the GPU to compute it; such GPUs tie."""
        return self.parts is not None and self.parts.limited_by_host


_HOST_BOUND = Note(Code.HOST_BOUND)


def combined_sd(*log_sds: Values) -> Values:
    """Standard deviation of a sum of independent errors.

    >>> combined_sd(3.0, 4.0)
    5.0
    """
    return sum(one * one for one in log_sds) ** 0.5


def smooth_max(free_ms: Values, launch_ms: Values) -> Values:
    """Smooth maximum of GPU and launch time: slightly above the longer one where they are close.

    >>> smooth_max(100.0, 0.0), round(smooth_max(100.0, 100.0), 1)
    (100.0, 118.9)
    """
    return (free_ms**SMOOTH_MAX_POWER + launch_ms**SMOOTH_MAX_POWER) ** (1 / SMOOTH_MAX_POWER)


def sd_of_ratio(log_sd: float, other: float, correlation: float) -> float:
    """Standard deviation of the logarithm of a ratio.

    Fully correlated errors of one size cancel.

    >>> sd_of_ratio(0.3, 0.4, correlation=0), sd_of_ratio(0.3, 0.3, correlation=1)
    (0.5, 0.0)
    """
    return math.sqrt((log_sd - other) ** 2 + 2 * (1 - correlation) * log_sd * other)


@dataclass(frozen=True, slots=True)
class StepTime:
    """Estimate of one instance's step. Offers of a GPU in one host share theirs."""

    instance: str
    estimate: Estimate

    @property
    def latency_ms(self) -> float | None:
        """Milliseconds per training step; None if unknown."""
        latency_ms: float | None = self.estimate.latency_ms
        return latency_ms

    @property
    def log_sd(self) -> float | None:
        """Standard deviation of the latency's logarithm; None if unknown."""
        log_sd: float | None = self.estimate.log_sd
        return log_sd

    @property
    def basis(self) -> Basis:
        """Basis of the latency."""
        return self.estimate.basis

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats of the latency."""
        return self.estimate.notes

    @property
    def limited_by_host(self) -> bool:
        """Whether the host takes longer to launch the step than the GPU to compute it; such GPUs tie."""
        return self.estimate.limited_by_host

    @property
    def interval(self) -> Interval | None:
        """Interval at `LEVEL`; None if the latency is given, or if it is unknown."""
        return None if self.estimate.basis is Basis.GIVEN else self.estimate.interval_at()

    @property
    def note(self) -> str:
        """Notes as one line; empty if there are none."""
        return line_of((_HOST_BOUND, *self.notes) if self.limited_by_host else self.notes)
