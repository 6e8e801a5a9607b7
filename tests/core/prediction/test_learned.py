"""The default curve between two sizes: hand-worked scaling model and correction, exact ends, never falling."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profet_core import ArtifactError, InputError, Profile, ProfileMeta, ScaleContext, scale, scale_curve
from profet_core.prediction.models import load_models
from profet_core.prediction.scaler import (
    AXIS_RANGE,
    CLASSES,
    INNER_KNOTS,
    KNOTS,
    DocumentedScaler,
    LearnedScaler,
    ResidualPolynomial,
    head_share,
    learned_scaler,
    polynomial_terms,
    scale_context,
)

INSTANCE = "made.up"
POLYNOMIALS = {
    "batch": DocumentedScaler(INSTANCE, "batch", -16 / 240, 1 / 240, 0.0),
    "pixels": DocumentedScaler(INSTANCE, "pixels", -32 / 224, 1 / 224, 0.0),
}


class Learned:
    """Models with a straight polynomial and the learned scaler given."""

    def __init__(self, scaler: LearnedScaler) -> None:
        self.learned = scaler

    def scaler(self, instance: str, axis: str) -> DocumentedScaler:
        return POLYNOMIALS[axis]

    def learned_scaler(self, axis: str) -> LearnedScaler:
        return self.learned


def correction(inputs: int = 2, degree: int = 1, constants=(0.0, 0.0, 0.0), offsets=None, coefficients=None):
    terms = polynomial_terms(np.zeros((1, inputs)), degree).shape[1]
    if coefficients is None:
        coefficients = ((*constants,), *((0.0, 0.0, 0.0),) * (terms - 1))
    zeros, ones = (0.0,) * inputs, (1.0,) * inputs
    return ResidualPolynomial(degree, zeros, ones, (-2.0,) * inputs, (2.0,) * inputs, coefficients, offsets or {})


def plain(axis: str, **informed) -> Learned:
    """No correction where only the ends are known; `informed` says the one where more is."""
    return Learned(LearnedScaler(axis, correction(), correction(3 if axis == "batch" else 2, **informed)))


BODY = math.sqrt(10**2 + (128**4 - 32**4) / (256**4 - 32**4) * (100**2 - 10**2))
HEAD = 10 + (128**2 * 100 - 32**2 * 10) / (256**2 * 1000 - 32**2 * 10) * 90


@pytest.mark.parametrize(
    ("axis", "high", "at", "context", "latency_ms"),
    [
        ("batch", 100, 16, None, 10),
        ("batch", 100, 64, None, 28),  # a fifth of the way: 10 + 48 / 240 * 90
        ("batch", 100, 136, None, 55),  # between knots a line stays a line
        ("batch", 320, 64, None, 40),  # 32 times as long for 16 times the images: 4 times the images, 4 times as long
        ("batch", 320, 256, None, 320),
        ("pixels", 100, 128, None, BODY),
        ("pixels", 100, 128, ScaleContext(head_share=1.0), HEAD),
        ("pixels", 100, 128, ScaleContext(head_share=0.25), 0.75 * BODY + 0.25 * HEAD),
        ("pixels", 100, 128, ScaleContext(head_share=1.0, fixed_classes=True), BODY),
        ("pixels", 100, 256, ScaleContext(head_share=1.0), 100),
    ],
)
def test_the_scaling_model_by_hand(axis, high, at, context, latency_ms):
    scaled = scale(plain(axis), INSTANCE, axis, 10, high, at, context=context)
    assert scaled.latency_ms == pytest.approx(latency_ms, rel=1e-12)


@pytest.mark.parametrize(("axis", "known_ms"), [("batch", 40.0), ("batch", 12.0), ("pixels", 30.0)])
def test_the_curve_passes_through_a_known_latency_between_the_ends(axis, known_ms):
    context = ScaleContext(known_at=64, known_ms=known_ms)
    curve = scale_curve(plain(axis), INSTANCE, axis, 10, 100, context=context)
    smallest, _ = AXIS_RANGE[axis]
    assert (curve[0], curve[64 - smallest], curve[-1]) == pytest.approx((10, known_ms, 100), rel=1e-12)
    assert (np.diff(curve) >= 0).all()
    before = scale(plain(axis), INSTANCE, axis, 10, 100, 128).latency_ms
    context = ScaleContext(known_at=128, known_ms=before)
    same = scale(plain(axis), INSTANCE, axis, 10, 100, 64, context=context).latency_ms
    assert same == pytest.approx(scale(plain(axis), INSTANCE, axis, 10, 100, 64).latency_ms, rel=0.05)
    for at, known in ((16, 40.0), (64, 5.0), (64, 100.0), (300, 40.0)):
        with pytest.raises(InputError):
            scale(plain(axis), INSTANCE, axis, 10, 100, 70, context=ScaleContext(known_at=at, known_ms=known))
    with pytest.raises(InputError):
        ScaleContext(known_at=64)


@pytest.mark.parametrize(
    ("constants", "at", "latency_ms"),
    [
        ((0, math.log(1.1), 0), 64, 30.8),  # 28 by the scaling model
        ((0, 0, 9.0), 128, 52 * math.exp(0.5)),  # at most exp(0.5) times the 52 of the scaling model
        ((0, 0, -9.0), 128, 52 * math.exp(-0.5)),
        ((9.0, -9.0, 0), 64, 16 * math.exp(0.5)),  # would fall below the knot before: level with it
    ],
)
def test_a_known_context_corrects_the_model_at_the_knots(constants, at, latency_ms):
    models = plain("batch", constants=constants)
    scaled_ms = scale(models, INSTANCE, "batch", 10, 100, at, context=ScaleContext(other_size=64)).latency_ms
    assert scaled_ms == pytest.approx(latency_ms, rel=1e-12)
    assert scale(models, INSTANCE, "batch", 10, 100, 64).latency_ms == pytest.approx(28)


def test_offsets_and_ranges_of_inputs_count_and_what_is_written_is_what_is_read():
    models, context = plain("batch", offsets={INSTANCE: (0.0, math.log(1.1), 0.0)}), ScaleContext(other_size=64)
    assert scale(models, INSTANCE, "batch", 10, 100, 64, context=context).latency_ms == pytest.approx(30.8)
    assert scale(models, "unheard.of", "batch", 10, 100, 64, context=context).latency_ms == pytest.approx(28)
    # 0.05 times the logarithm of the ends' ratio, which ends at 2.
    models = plain("batch", coefficients=((0.0,) * 3, (0.05,) * 3, (0.0,) * 3, (0.0,) * 3))
    scaled = scale(models, INSTANCE, "batch", 10, 100, 64, context=context).latency_ms
    assert scaled == pytest.approx(28 * math.exp(0.05 * 2))
    # The documented method is the polynomial whatever is known.
    scaled = scale(plain("pixels"), INSTANCE, "pixels", 10, 100, 144, method="profet", context=ScaleContext(64, 1.0))
    assert scaled.latency_ms == pytest.approx(55, rel=1e-12)
    with pytest.raises(InputError, match="'best'"):
        scale(models, INSTANCE, "batch", 10, 100, 64, method="best")
    scaler = LearnedScaler("pixels", correction(offsets={"a": (0.1, 0.2, 0.3)}), correction(constants=(0.1, 0, -0.2)))
    read = learned_scaler(json.loads(json.dumps(scaler.as_json())))
    given_ms = (["a", "b"], np.array([1.0, 2.0]), np.array([9.0, 90.0]), np.full(2, np.nan), np.array([0.3, np.nan]))
    np.testing.assert_array_equal(read.inner_ms(*given_ms), scaler.inner_ms(*given_ms))
    # A correction that makes no sense is refused.
    for changed in (
        {"coefficients": ((0.0, 0.0, 0.0),)},
        {"coefficients": ((math.nan, 0.0, 0.0),) * 3},
        {"spread": (0.0, 1.0)},
        {"low": (0.0,)},
        {"offsets": {"a": (0.0,)}},
        {"centre": ("x", "y")},
    ):
        with pytest.raises(ArtifactError, match="retrain"):
            ResidualPolynomial(**scaler.as_json()["informed"] | changed)
    assert {len(sizes) - 2 for sizes in KNOTS.values()} == {INNER_KNOTS} == {len(CLASSES) - 2}


ratios = st.floats(math.log(1.0001), math.log(1000)).map(math.exp)
numbers = st.floats(-3, 3)
triples = st.tuples(numbers, numbers, numbers)
contexts = st.builds(
    ScaleContext,
    other_size=st.none() | st.sampled_from([1, 16, 32, 64, 256, 4096]),
    head_share=st.none() | st.floats(0, 1),
    fixed_classes=st.booleans(),
)


def check_promises(models, instance, axis, low, high, context):
    """Exact ends, never falling over any size, never outside the ends; one size alone is as in the curve."""
    curve = scale_curve(models, instance, axis, low, high, context=context)
    smallest, largest = AXIS_RANGE[axis]
    assert len(curve) == largest - smallest + 1
    assert curve[0] == low and curve[-1] == high
    assert (np.diff(curve) >= 0).all()
    assert (curve >= low).all() and (curve <= high).all()
    picked = scale_curve(models, instance, axis, low, high, [largest, 77, smallest], context=context)
    assert picked.tolist() == [high, curve[77 - smallest], low]


@settings(max_examples=80)
@given(
    axis=st.sampled_from(list(AXIS_RANGE)),
    low=st.floats(1e-3, 1e6),
    ratio=ratios,
    ends_only=st.lists(triples, min_size=10, max_size=10),
    informed=st.lists(triples, min_size=20, max_size=20),
    context=contexts,
)
def test_any_correction_keeps_the_ends_and_never_falls(axis, low, ratio, ends_only, informed, context):
    inputs = 3 if axis == "batch" else 2
    informed = tuple(informed) if axis == "batch" else tuple(informed[:10])
    scaler = LearnedScaler(
        axis,
        correction(2, 3, coefficients=tuple(ends_only)),
        correction(inputs, 3, coefficients=informed, offsets={INSTANCE: (0.1, -0.1, 0.2)}),
    )
    check_promises(Learned(scaler), INSTANCE, axis, low, low * ratio, context)


@settings(max_examples=50)
@given(axis=st.sampled_from(list(AXIS_RANGE)), low=st.floats(1e-3, 1e6), ratio=ratios, context=contexts)
def test_the_shipped_curves_keep_the_ends_and_never_fall(models, axis, low, ratio, context):
    for instance in models.instances:
        check_promises(models, instance, axis, low, low * ratio, context)
    # Two neighboring floats are a curve too.
    check_promises(plain(axis), INSTANCE, axis, low, math.nextafter(low, math.inf), context)


def test_a_manifest_without_curves_falls_back_to_the_polynomial_and_one_with_them_reads_them(tmp_path, models, seal):
    manifest = {key: value for key, value in models.manifest.items() if key != "scaler_curves"}
    seal(tmp_path, dict(manifest))
    arguments = ("p3.2xlarge", "batch", 10, 100, 64)
    old = load_models(tmp_path)
    assert scale(old, *arguments) == scale(old, *arguments, method="profet")
    halved = LearnedScaler("batch", correction(constants=(0, math.log(0.5), 0)), correction(3))
    seal(tmp_path, manifest | {"scaler_curves": [halved.as_json()]})
    new = load_models(tmp_path)
    assert scale(new, *arguments).latency_ms == pytest.approx(28 * math.exp(-0.5)) == pytest.approx(16.98, abs=0.01)
    assert scale(new, *arguments, method="profet") == scale(old, *arguments)


OPERATIONS = {
    "Device_MatMul": 20.0,
    "Device_ResourceApplyGradientDescent": 10.0,
    "Device_Conv2D": 70.0,
    "Device_IDLE": 900.0,
    "Host_IDLE": 50.0,
    "Host_MatMul": 1000.0,
}


def test_a_profile_at_the_largest_size_gives_the_other_size_and_its_head():
    # Of the device's busy time.
    assert head_share(Profile(OPERATIONS)) == pytest.approx(0.3)
    assert head_share(Profile({"Host_MatMul": 5.0, "Device_IDLE": 5.0})) is None
    for axis, meta, other_size in (
        ("batch", ProfileMeta(batch_size=256, pixels=128), 128),
        ("batch", ProfileMeta(), None),
        ("pixels", ProfileMeta(batch_size=64, pixels=256), 64),
    ):
        profile = Profile(OPERATIONS, meta)
        assert scale_context(axis, profile) == ScaleContext(other_size, 0.3)
        assert scale_context(axis, profile, fixed_classes=True).fixed_classes
    with pytest.raises(InputError, match="must be recorded at batch 256, not 64"):
        scale_context("batch", profile)
    for values in ({"other_size": 0}, {"other_size": 1.5}):
        with pytest.raises(InputError, match="size on the other axis"):
            ScaleContext(**values)
    for share in (1.5, math.nan):
        with pytest.raises(InputError, match="head's share"):
            ScaleContext(head_share=share)
