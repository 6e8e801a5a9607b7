"""Monotone cubic interpolation (PCHIP)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from profet_core.arrays import FloatArray


def monotone_interpolation(x: ArrayLike, y: ArrayLike, at: ArrayLike) -> FloatArray:
    """Values at `at` (within x) of the piecewise cubic through (x, y).

    x increases and has at least three points.

    Source: F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise cubic interpolants",
    SIAM J. Sci. Stat. Comput. 5 (1984), with the end slopes of C. Moler, Numerical Computing with MATLAB, 3.6. This
    matches `scipy.interpolate.PchipInterpolator`, which serving code doesn't depend on.

    >>> monotone_interpolation([0, 1, 2], [0, 1, 1], [0.5, 1, 1.5]).tolist()
    [0.6875, 1.0, 1.0]
    """
    x, y, at = np.asarray(x, float), np.asarray(y, float), np.asarray(at, float)
    steps, slopes = np.diff(x), np.diff(y) / np.diff(x)
    tangents = np.concatenate(
        [
            [_end_tangent(steps[0], steps[1], slopes[0], slopes[1])],
            _inner_tangents(steps, slopes),
            [_end_tangent(steps[-1], steps[-2], slopes[-1], slopes[-2])],
        ]
    )
    piece = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(steps) - 1)
    step, slope, start = steps[piece], slopes[piece], tangents[piece]
    along = at - x[piece]
    quadratic = (3 * slope - 2 * start - tangents[piece + 1]) / step
    cubic = (start - 2 * slope + tangents[piece + 1]) / step**2
    values: FloatArray = y[piece] + along * (start + along * (quadratic + along * cubic))
    return values


def _inner_tangents(steps: FloatArray, slopes: FloatArray) -> FloatArray:
    """Weighted harmonic mean of both neighboring slopes; 0 if they differ in sign or one is 0."""
    left, right = slopes[:-1], slopes[1:]
    heavy, light = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
    same_way = left * right > 0
    left, right = np.where(same_way, left, 1.0), np.where(same_way, right, 1.0)
    # A tiny slope divides to infinity, and the mean is 0 as it should be.
    with np.errstate(over="ignore"):
        return np.where(same_way, (heavy + light) / (heavy / left + light / right), 0.0)


def _end_tangent(near: float, next_one: float, slope: float, next_slope: float) -> float:
    """Three-point slope at an endpoint, bounded by 0 and three times the endpoint's own slope."""
    tangent = ((2 * near + next_one) * slope - near * next_slope) / (near + next_one)
    if np.sign(tangent) != np.sign(slope):
        return 0.0
    if np.sign(slope) != np.sign(next_slope) and abs(tangent) > 3 * abs(slope):
        return 3 * slope
    return tangent
