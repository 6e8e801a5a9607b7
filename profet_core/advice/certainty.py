"""Confidence that a plan meets limits or beats another plan."""

from __future__ import annotations

import math
from statistics import NormalDist

from profet_core.latency import LEVEL, Basis, quantile

#: Correlation between the errors of two measured targets predicted from one anchor: a network that takes longer than
#: predicted on one target also takes longer on the other. Mean over 12 pairs of targets of the shipped models' held-out
#: predictions, as `tests/lab/validation/test_advice_calibration.py` measures it (lowest pair 0.16, highest 0.68).
ERROR_CORRELATION = 0.42

#: Share of statements with 80% to 90% confidence that were right on held-out architectures; from the same test.
CAME_TRUE_80_TO_90 = 0.90

#: Highest confidence from an interval: 15 architectures can't show rarer misses.
SUREST = 0.999
#: The same for derived and transferred latencies, whose intervals are estimated from a handful of GPUs.
SUREST_ESTIMATE = 0.99
_NORMAL = NormalDist()


def surest_certainty(basis: Basis, other: Basis = Basis.GIVEN) -> float:
    """Highest confidence in a statement about a latency, or two, with these bases."""
    return SUREST if basis.is_profiled and other.is_profiled else SUREST_ESTIMATE


def chance_at_most(ratio: float, deviation: float, surest: float = SUREST) -> float:
    """Probability that a value is at most `ratio` times its prediction, 0 to 1.

    Certain where the deviation is 0.

    >>> chance_at_most(1.0, 0.1), round(chance_at_most(1.2, 0.1), 3), chance_at_most(1.2, 0)
    (0.5, 0.966, 1.0)
    """
    if deviation == 0:
        return 1.0 if ratio >= 1 else 0.0
    return _bounded(_NORMAL.cdf(math.log(ratio) / deviation), surest)


def chance_less(ratio: float, deviation: float, surest: float = SUREST) -> float:
    """Probability that A is less than B where A is predicted to be `ratio` times B, 0 to 1; 0.5 for equals.

    Parameters
    ----------
    deviation : standard deviation of the logarithm of A over B, see `latency.sd_of_ratio`.
    surest : highest confidence to return.

    >>> chance_less(1.0, 0.1), round(chance_less(0.9, 0.1), 3), chance_less(0.1, 0.1)
    (0.5, 0.854, 0.999)
    """
    if deviation == 0:
        return 0.5 if ratio == 1 else float(ratio < 1)
    return _bounded(_NORMAL.cdf(-math.log(ratio) / deviation), surest)


def _bounded(chance: float, surest: float) -> float:
    return min(max(chance, 1 - surest), surest)


def interval_ends(value: float, deviation: float, level: float = LEVEL) -> tuple[float, float]:
    """Endpoints of the interval around `value` that holds this share of a log-normal error.

    >>> tuple(round(end, 1) for end in interval_ends(100, 0.1))
    (84.8, 117.9)
    """
    factor = math.exp(quantile(level) * deviation)
    return value / factor, value * factor


def whole_percent(chance: float) -> int:
    """Round a confidence down to whole percent, as shown and compared."""
    # Add a small tolerance: 0.29 is 28.999999999999996%.
    return math.floor(100 * chance + 1e-9)


def format_certainty(chance: float) -> str:
    """Format a confidence in whole percent, never 0 or 100 by rounding.

    Rounded down, so a value below the required confidence never shows as reaching it.

    >>> format_certainty(0.879), format_certainty(0.9999), format_certainty(0.001), format_certainty(1.0)
    ('87%', 'over 99%', 'under 1%', '100%')
    """
    if 0 < chance < 0.01:
        return "under 1%"
    if 0.99 < chance < 1:
        return "over 99%"
    return f"{whole_percent(chance)}%"
