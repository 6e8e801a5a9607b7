"""Scaling model of step latency along an axis, exact at both endpoints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.scaling.axes import KNOTS

#: Number of classes of the measured networks at each pixel knot.
CLASSES = (10, 100, 100, 1000, 1000)


def step_work(axis: str, sizes: Sequence[int] | np.ndarray) -> FloatArray:
    """Quantity that a step's work is proportional to: images along "batch", pixels per image along "pixels".

    Curves are interpolated over it. With one inner knot of the measured curves held out, a monotone cubic through the
    others misses it by 2.8% over the batch size (2.9% with both logarithms) and 6.0% over the square of the pixel size
    (7.3% over both logarithms, 7.8% over the size itself).
    """
    return np.asarray(sizes, float) ** (1 if axis == "batch" else 2)


def law_ms(axis: str, low_ms: FloatArray, high_ms: FloatArray, head_shares: FloatArray) -> FloatArray:
    """Latencies at the inner knots by the scaling model of the axis, milliseconds, shape (curves, 3).

    Along "batch" a step is a fixed time plus a time proportional to its images. Along "pixels" the body of the network
    scales with the area. Its head, `head_shares` of the largest step, also scales with the classes, because the
    measured networks have more classes at larger sizes. An unknown share (NaN) counts as no head.
    """
    low_ms, high_ms = low_ms[:, None], high_ms[:, None]
    work = step_work(axis, KNOTS[axis])
    if axis == "batch":
        # No step grows by more than its images, unless the largest size forces the GPU into slower kernels. Then that
        # endpoint gives no information on smaller sizes.
        most_ms: FloatArray = low_ms * (work / work[0])[1:-1]
        return np.minimum(low_ms + _inner_shares(work) * (high_ms - low_ms), most_ms)
    # With small images the GPU waits for launches, which are later hidden by its work. So the body's step is closer to
    # the maximum of both than to their sum: a root of a sum of squares.
    body = np.sqrt(low_ms**2 + _inner_shares(work**2) * (high_ms**2 - low_ms**2))
    head = low_ms + _inner_shares(work * CLASSES) * (high_ms - low_ms)
    share: FloatArray = np.nan_to_num(np.asarray(head_shares, float))[:, None]
    return (1 - share) * body + share * head


def _inner_shares(values: FloatArray) -> FloatArray:
    """Normalize: 0 at the first value, 1 at the last, the inner ones in between."""
    shares: FloatArray = (values - values[0]) / (values[-1] - values[0])
    return shares[1:-1]
