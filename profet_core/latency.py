"""What a latency is based on, and how errors of latencies combine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, final

from msgspec import Struct

from profet_core.errors import WordedEnum

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

    Attributes
    ----------
    words : an explanation for a legend.
    """

    MEASURED = "Measured", "by you"
    PREDICTED = "Predicted", "from profiles of this GPU"
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
    if level == LEVEL:
        return _AT_LEVEL
    # Late: commands start without it.
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


#: At `LEVEL`: every interval that is shown asks for it.
_AT_LEVEL = 1.6448536269514715


def log_sd_of(log_half_width: Values, level: float = LEVEL) -> Values:
    """Return the standard deviation of the logarithm, from the log half-width of an interval at a level.

    >>> round(log_sd_of(math.log(1.2)), 4)
    0.1108
    """
    return log_half_width / quantile(level)


@final
class Interval(Struct, frozen=True):
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


#: Short label of a host-bound latency.
HOST_LIMITED = "CPU-bound"


class Estimate(Struct, frozen=True, kw_only=True):
    """Latencies of many profiles, and the standard deviations of their logarithms, as arrays of one shape."""

    latency_ms: Values
    log_sd: Values

    @property
    def log_half_width(self) -> Values:
        """Half-widths of the intervals in the logarithm."""
        return quantile() * self.log_sd


def combined_sd(*log_sds: Values) -> Values:
    """Return the standard deviation of a sum of independent errors.

    >>> combined_sd(3.0, 4.0)
    5.0
    """
    return sum(log_sd * log_sd for log_sd in log_sds) ** 0.5


def smooth_max(free_ms: Values, launch_ms: Values) -> Values:
    """Smooth maximum of GPU and launch time: slightly above the longer one where they are close.

    >>> smooth_max(100.0, 0.0), round(smooth_max(100.0, 100.0), 1)
    (100.0, 118.9)
    """
    return (free_ms**SMOOTH_MAX_POWER + launch_ms**SMOOTH_MAX_POWER) ** (1 / SMOOTH_MAX_POWER)


def free_ms(latency_ms: Values, launch_ms: Values) -> Values:
    """Return the other part of a smooth maximum, at least 0.

    >>> free_ms(smooth_max(100.0, 100.0), 100.0)
    100.0
    """
    beyond = latency_ms**SMOOTH_MAX_POWER - launch_ms**SMOOTH_MAX_POWER
    return ((beyond + abs(beyond)) / 2) ** (1 / SMOOTH_MAX_POWER)


def sd_of_ratio(log_sd: Values, other: Values, correlation: Values) -> Values:
    """Return the standard deviation of the logarithm of a ratio, or of many.

    Fully correlated errors of one size cancel.

    >>> sd_of_ratio(0.3, 0.4, correlation=0), sd_of_ratio(0.3, 0.3, correlation=1)
    (0.5, 0.0)
    """
    return ((log_sd - other) ** 2 + 2 * (1 - correlation) * log_sd * other) ** 0.5
