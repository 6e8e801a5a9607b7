"""Memory contention over threads: exact at the published numbers of threads, a power law between two of them."""

from __future__ import annotations

import math
from bisect import bisect_left

#: Where the contention of a network is known.
PUBLISHED_THREADS = (1, 15, 30, 60, 120, 180, 240, 480, 960, 1_920, 3_840)
#: What is above was extrapolated by the publication itself.
MOST_MEASURED_THREADS = 240


def contention_at(contention_s: tuple[float, ...], threads: int) -> float:
    """Seconds of contention an image, shared by all threads.

    Between two published numbers it follows the straight line through both logarithms, so it never falls where the
    published ones rise.

    Parameters
    ----------
    contention_s : at each of `PUBLISHED_THREADS`.
    threads : from the first to the last of these.
    """
    above = bisect_left(PUBLISHED_THREADS, threads)
    high = PUBLISHED_THREADS[above]
    if high == threads:
        return contention_s[above]
    return between(threads, (PUBLISHED_THREADS[above - 1], contention_s[above - 1]), (high, contention_s[above]))


def between(at: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    """A power law through two points, each a place and a value above 0.

    >>> between(4, (2, 10), (8, 40))
    20.0
    """
    exponent = math.log(high[1] / low[1]) / math.log(high[0] / low[0])
    times: float = (at / low[0]) ** exponent
    return low[1] * times
