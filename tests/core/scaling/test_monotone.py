"""The monotone cubic: hand-worked, never overshooting, and the same as SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core.scaling.monotone import monotone_interpolation


def test_a_straight_line_stays_straight():
    x = np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(monotone_interpolation(x, 2 * x + 1, np.array([0.5, 2.0, 4.0])), [2, 5, 9], rtol=1e-14)


def test_a_rise_to_a_plateau_is_as_worked_by_hand():
    # Slopes 1 then 0: level tangents at the knee and after; the first end's is (3 * 1 - 0) / 2 = 1.5.
    # Halfway up: h00 * 0 + h10 * 1.5 + h01 * 1 = 0.125 * 1.5 + 0.5.
    found = monotone_interpolation([0, 1, 2], [0, 1, 1], [0.5, 1, 1.5, 2])
    np.testing.assert_allclose(found, [0.6875, 1, 1, 1], rtol=1e-14)


knots = st.lists(st.floats(0, 1), min_size=3, max_size=5).map(sorted)


@given(heights=knots, widths=st.lists(st.floats(0.01, 10), min_size=5, max_size=5))
def test_it_keeps_the_points_and_stays_between_neighbours(heights, widths):
    x = np.cumsum(widths[: len(heights)])
    at = np.linspace(x[0], x[-1], 101)
    found = monotone_interpolation(x, heights, at)
    piece = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    assert (found >= np.array(heights)[piece] - 1e-12).all()
    assert (found <= np.array(heights)[piece + 1] + 1e-12).all()
    assert (np.diff(found) >= -1e-12).all()
    np.testing.assert_allclose(monotone_interpolation(x, heights, x), heights, atol=1e-12)


@given(heights=st.lists(st.integers(-20, 20), min_size=3, max_size=6))
def test_it_is_what_scipy_computes(heights):
    interpolate = pytest.importorskip("scipy.interpolate", reason="SciPy is part of the training set")
    x = np.array([0.0, 1.0, 1.5, 4.0, 9.0, 9.5])[: len(heights)]
    at = np.linspace(x[0], x[-1], 57)
    expected = interpolate.PchipInterpolator(x, heights)(at)
    np.testing.assert_allclose(monotone_interpolation(x, heights, at), expected, atol=1e-10)
