"""Latency between two sizes: exact at the ends, never falling, and hand-worked in between."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from profet_core import ArtifactError, InputError, scale, scale_curve
from profet_core.scaling.axes import AXIS_RANGE, check_ends, check_size
from profet_core.scaling.documented import DocumentedScaler

INSTANCES = ["g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge"]
SHIPPED = [(instance, axis) for instance in INSTANCES for axis in AXIS_RANGE]


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


def test_the_whole_axis_is_scaled_if_no_sizes_are_named():
    latencies_ms = scale_curve(OneCurve(LINEAR_BATCH), "made.up", "batch", 16, 256)
    np.testing.assert_allclose(latencies_ms, np.arange(16, 257), rtol=1e-12)


def test_sizes_may_be_a_numpy_range_in_any_order():
    latencies_ms = scale_curve(OneCurve(LINEAR_BATCH), "made.up", "batch", 16, 256, np.array([256, 16, 100]))
    assert latencies_ms.tolist() == pytest.approx([256, 16, 100])


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


@pytest.mark.parametrize(("instance", "axis"), SHIPPED)
@settings(max_examples=40)
@given(one=latencies, other=latencies)
def test_shipped_scalers_keep_the_ends_and_never_fall(models, instance, axis, one, other):
    assume(one != other)
    check_scaled(models, instance, axis, min(one, other), max(one, other))


@pytest.mark.parametrize(("instance", "axis"), SHIPPED)
@settings(max_examples=20)
@given(low=latencies)
def test_shipped_scalers_hold_between_two_neighbouring_floats(models, instance, axis, low):
    check_scaled(models, instance, axis, low, math.nextafter(low, math.inf))


@settings(max_examples=200)
@given(axis=st.sampled_from(list(AXIS_RANGE)), curvature=st.floats(-1, 1), one=latencies, other=latencies)
def test_any_valid_curve_keeps_the_ends_and_never_falls(axis, curvature, one, other):
    assume(one != other)
    curve = curve_through_ends(axis, curvature)
    check_scaled(OneCurve(curve), "made.up", axis, min(one, other), max(one, other))


@pytest.mark.parametrize(
    "coefficients",
    [
        (0, 1 / 240, 0),  # misses both ends
        (-16 / 240 + 1e-4, 1 / 240, 0),  # misses them by a little
        (math.nan, 1 / 240, 0),
        (0, math.inf, 0),
    ],
)
def test_a_curve_that_misses_an_end_is_refused(coefficients):
    with pytest.raises(
        ArtifactError, match=r"^The batch scaler of made\.up is not a rising curve from 0 to 1: retrain"
    ):
        DocumentedScaler("made.up", "batch", *coefficients)


@pytest.mark.parametrize("curvature", [1.01, -1.01, 3.0])
def test_a_curve_that_falls_somewhere_is_refused(curvature):
    with pytest.raises(ArtifactError, match="not a rising curve"):
        curve_through_ends("pixels", curvature)


@pytest.mark.parametrize(
    ("axis", "low", "high", "says"),
    [
        ("batch", 10, 10, r"^The latency at batch 256 \(10 ms\) must be above the latency at batch 16 \(10 ms\)\.$"),
        ("pixels", 20, 10, r"^The latency at pixels 256 \(10 ms\) must be above the latency at pixels 32 \(20 ms\)\.$"),
        *(
            ("batch", bad, 10, "^The latency at batch 16 must be a number above 0")
            for bad in (0, -1, math.nan, True, "5")
        ),
        *(
            ("pixels", 1, bad, "^The latency at pixels 256 must be a number above 0")
            for bad in (math.inf, None, -math.inf)
        ),
        ("depth", 1, 2, "^Unknown axis 'depth': use batch or pixels"),
    ],
)
def test_ends_that_make_no_curve_are_refused_in_one_line(models, axis, low, high, says):
    with pytest.raises(InputError, match=says):
        check_ends(axis, low, high)
    with pytest.raises(InputError, match=says):
        scale(models, "p3.2xlarge", axis, low, high, 64)


@pytest.mark.parametrize(
    ("axis", "size"), [("batch", 15), ("batch", 257), ("pixels", 31), ("pixels", 257), ("batch", 0)]
)
def test_a_size_off_the_axis_is_refused(models, axis, size):
    smallest, largest = AXIS_RANGE[axis]
    with pytest.raises(InputError, match=f"^The {axis} size must be between {smallest} and {largest}, not {size}"):
        scale(models, "p3.2xlarge", axis, 1, 2, size)


@pytest.mark.parametrize("size", [64.5, math.nan, math.inf, True, "64", None, -1, 10**400])
def test_a_size_that_is_no_whole_number_is_refused(size):
    with pytest.raises(InputError, match=r"^The batch size must be"):
        check_size("batch", size)


@pytest.mark.parametrize("size", [64, 64.0, np.int64(64)])
def test_a_whole_size_of_any_number_type_is_taken(size):
    assert check_size("batch", size) == 64


def test_an_unknown_instance_is_refused(models):
    with pytest.raises(InputError, match=r"^No scaler for 'g5\.xlarge': choose one of .*p3\.2xlarge"):
        scale(models, "g5.xlarge", "batch", 1, 2, 64)


def test_every_profiled_instance_has_both_scalers(models):
    assert sorted(models.instances) == INSTANCES
    for instance, axis in SHIPPED:
        assert models.scaler(instance, axis).axis == axis
