"""Latency between two sizes by the documented curve, and the monotone cubic of the default one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from profet_core import ArtifactError, InputError, scale, scale_curve
from profet_core.prediction.scaler import (
    AXIS_RANGE,
    SIZE_WORDS,
    DocumentedScaler,
    check_ends,
    check_size,
    monotone_interpolation,
)


class OneCurve:
    """Models that know one scaler only, the documented one."""

    def __init__(self, curve: DocumentedScaler) -> None:
        self.curve = curve

    def scaler(self, instance: str, axis: str) -> DocumentedScaler:
        return self.curve

    def learned_scaler(self, axis: str) -> None:
        return None


def curve_through_ends(axis: str, curvature: float) -> DocumentedScaler:
    """scaled = t + curvature * t * (t - 1) with t from 0 to 1 along the axis; rising for |curvature| <= 1."""
    low, high = AXIS_RANGE[axis]
    span = high - low
    quadratic = curvature / span**2
    linear = (1 - curvature) / span - 2 * quadratic * low
    intercept = -linear * low - quadratic * low**2
    return DocumentedScaler("made.up", axis, intercept, linear, quadratic)


LINEAR_BATCH = DocumentedScaler("made.up", "batch", -16 / 240, 1 / 240, 0.0)
#: (x - 32)**2 / 224**2
SQUARE_PIXELS = DocumentedScaler("made.up", "pixels", 1024 / 50176, -64 / 50176, 1 / 50176)


@pytest.mark.parametrize(
    ("curve", "at", "latency_ms"),
    [
        (LINEAR_BATCH, 16, 10),
        (LINEAR_BATCH, 64, 28),  # a fifth of the way: 10 + 48 / 240 * 90
        (LINEAR_BATCH, 136, 55),
        (LINEAR_BATCH, 256, 100),
        (SQUARE_PIXELS, 144, 32.5),  # half of the way, a quarter of the rise: 10 + 90 / 4
        (SQUARE_PIXELS, 88, 15.625),  # a quarter of the way, a sixteenth of the rise
    ],
)
def test_hand_worked_values(curve, at, latency_ms):
    scaled = scale(OneCurve(curve), "made.up", curve.axis, 10, 100, at)
    assert scaled.latency_ms == pytest.approx(latency_ms, rel=1e-12)
    assert (scaled.instance, scaled.axis, scaled.at) == ("made.up", curve.axis, at)


def test_the_whole_axis_is_scaled_by_a_curve_that_misses_no_end_and_never_falls():
    latencies_ms = scale_curve(OneCurve(LINEAR_BATCH), "made.up", "batch", 16, 256)
    np.testing.assert_allclose(latencies_ms, np.arange(16, 257), rtol=1e-12)
    latencies_ms = scale_curve(OneCurve(LINEAR_BATCH), "made.up", "batch", 16, 256, np.array([256, 16, 100]))
    assert latencies_ms.tolist() == pytest.approx([256, 16, 100])
    # Misses both ends, by much or a little; or is none.
    for coefficients in ((0, 1 / 240, 0), (-16 / 240 + 1e-4, 1 / 240, 0), (math.nan, 1 / 240, 0), (0, math.inf, 0)):
        with pytest.raises(ArtifactError, match=r"^The batch scaler of made\.up is not a rising curve"):
            DocumentedScaler("made.up", "batch", *coefficients)
    for curvature in (1.01, -1.01, 3.0):
        with pytest.raises(ArtifactError, match="not a rising curve"):
            curve_through_ends("pixels", curvature)


def check_scaled(models, instance: str, axis: str, low: float, high: float) -> None:
    """The three promises: exact ends, never falling, between the ends."""
    latencies_ms = scale_curve(models, instance, axis, low, high)
    smallest, largest = AXIS_RANGE[axis]
    assert len(latencies_ms) == largest - smallest + 1
    assert latencies_ms[0] == low
    assert latencies_ms[-1] == high
    assert (np.diff(latencies_ms) >= 0).all()
    assert (latencies_ms >= low).all() and (latencies_ms <= high).all()
    assert scale(models, instance, axis, low, high, smallest).latency_ms == low
    assert scale(models, instance, axis, low, high, largest).latency_ms == high


latencies = st.floats(1e-6, 1e9)


@given(axis=st.sampled_from(list(AXIS_RANGE)), curvature=st.floats(-1, 1), one=latencies, other=latencies)
def test_any_valid_curve_keeps_the_ends_and_never_falls(axis, curvature, one, other):
    assume(one != other)
    curve = curve_through_ends(axis, curvature)
    check_scaled(OneCurve(curve), "made.up", axis, min(one, other), max(one, other))


@pytest.mark.parametrize(
    ("axis", "low", "high", "says"),
    [
        ("batch", 10, 10, r"^The latency at batch 256 \(10 ms\) must be above the latency at batch 16 \(10 ms\)\.$"),
        ("pixels", 20, 10, r"^The latency at 256 pixels \(10 ms\) must be above the latency at 32 pixels \(20 ms\)\.$"),
        ("batch", 0, 10, "^The latency at batch 16 must be a number above 0"),
        ("pixels", 1, math.inf, "^The latency at 256 pixels must be a number above 0"),
        ("depth", 1, 2, "^Unknown axis 'depth': use batch or pixels"),
    ],
)
def test_ends_that_make_no_curve_are_refused_in_one_line(models, axis, low, high, says):
    with pytest.raises(InputError, match=says):
        check_ends(axis, low, high)
    with pytest.raises(InputError, match=says):
        scale(models, "p3.2xlarge", axis, low, high, 64)


def test_a_size_off_the_axis_and_an_unknown_instance_are_refused(models):
    for axis, size in (("batch", 15), ("batch", 257), ("pixels", 31), ("pixels", 257)):
        with pytest.raises(InputError, match=f"^The {SIZE_WORDS[axis]} must be between .*, not {size}"):
            scale(models, "p3.2xlarge", axis, 1, 2, size)
    for size in (64.5, math.nan, True, "64", None, -1, 10**400):
        with pytest.raises(InputError, match=r"^The batch size must be"):
            check_size("batch", size)
    assert [check_size("batch", size) for size in (64, 64.0, np.int64(64))] == [64] * 3
    with pytest.raises(InputError, match=r"^No scaler for 'g5\.xlarge': choose one of .*p3\.2xlarge"):
        scale(models, "g5.xlarge", "batch", 1, 2, 64)


def test_a_line_and_a_rise_to_a_plateau_are_as_worked_by_hand():
    x = np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(monotone_interpolation(x, 2 * x + 1, np.array([0.5, 2.0, 4.0])), [2, 5, 9], rtol=1e-14)
    # Slopes 1 then 0: level tangents at the knee and after; the first end's is (3 * 1 - 0) / 2 = 1.5.
    # Halfway up: h00 * 0 + h10 * 1.5 + h01 * 1 = 0.125 * 1.5 + 0.5.
    heights = monotone_interpolation([0, 1, 2], [0, 1, 1], [0.5, 1, 1.5, 2])
    np.testing.assert_allclose(heights, [0.6875, 1, 1, 1], rtol=1e-14)


knots = st.lists(st.floats(0, 1), min_size=3, max_size=5).map(sorted)


@given(heights=knots, widths=st.lists(st.floats(0.01, 10), min_size=5, max_size=5))
def test_it_keeps_the_points_and_stays_between_neighbors(heights, widths):
    x = np.cumsum(widths[: len(heights)])
    at = np.linspace(x[0], x[-1], 101)
    between = monotone_interpolation(x, heights, at)
    piece = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    assert (between >= np.array(heights)[piece] - 1e-12).all()
    assert (between <= np.array(heights)[piece + 1] + 1e-12).all()
    assert (np.diff(between) >= -1e-12).all()
    np.testing.assert_allclose(monotone_interpolation(x, heights, x), heights, atol=1e-12)


@given(heights=st.lists(st.integers(-20, 20), min_size=3, max_size=6))
def test_it_is_what_scipy_computes(heights):
    interpolate = pytest.importorskip("scipy.interpolate", reason="SciPy is part of the training set")
    x = np.array([0.0, 1.0, 1.5, 4.0, 9.0, 9.5])[: len(heights)]
    at = np.linspace(x[0], x[-1], 57)
    expected = interpolate.PchipInterpolator(x, heights)(at)
    np.testing.assert_allclose(monotone_interpolation(x, heights, at), expected, atol=1e-10)
