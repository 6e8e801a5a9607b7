"""The default method's networks: inputs and outputs by hand, how wide an interval is, how far a profile lies."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from profet_core.ensemble.members import (
    BAND_WORDS,
    CLASS_RATIO,
    DISTANCE_BANDS,
    HOMOGENEOUS,
    LAUNCH_BOUND_MS,
    MAX_LOG_SD,
    MEMBERS,
    TREES,
    IntervalScale,
    Similarity,
    StepInputs,
    class_latencies,
    class_shares,
    device_total,
    member_latency,
    nearest_distance,
    network_inputs,
    network_latency,
    outputs_of,
    scale_features,
    size_inputs,
    step_inputs,
    step_scale,
)
from profet_core.ensemble.operations import ClassTimes
from profet_core.latency import quantile

#: Three device classes, the last idle, and one of the host.
DEVICE = 3
CLASSES_MS = np.array([[30.0, 10.0, 4.0, 7.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0], [300.0, 5.0, 95.0, 1.0]])
LATENCY_MS = np.array([[20.0], [0.7], [1.0], [180.0]])
SIZES = size_inputs(np, np.array([[64.0], [16.0], [128.0], [256.0]]), np.array([[128.0], [32.0], [256.0], [64.0]]))
#: What is left above zero when an overhead of -1 is rounded off.
MIN_OVERHEAD_MS = math.log(1 + math.exp(-1))


def latency_of(xp, member, raw, classes_ms, latency_ms, constants):
    """`latency_ms` : of the anchor; None: unknown."""
    return network_latency(xp, member, raw, classes_ms, step_scale(xp, classes_ms, DEVICE, latency_ms), constants)


def test_totals_scale_sizes_class_shares_and_homogeneous_inputs_by_hand():
    assert device_total(np, CLASSES_MS, DEVICE).ravel().tolist() == [44, 1, 1e-3, 400]
    assert step_scale(np, CLASSES_MS, DEVICE, None).ravel().tolist() == [44, 1, 1e-3, 400]
    assert step_scale(np, CLASSES_MS, DEVICE, LATENCY_MS) is LATENCY_MS
    np.testing.assert_allclose(SIZES[:2], [[0, 0], [math.log(1 / 4), math.log(1 / 4)]], atol=1e-15)
    seen = network_inputs(np, HOMOGENEOUS, CLASSES_MS[:1], DEVICE, LATENCY_MS[:1], None)
    np.testing.assert_allclose(seen, [[1.5, 0.5, 0.2, 0.35, 2.2, 1, 9 / 20]])
    # The launch bound is a bound.
    seen = network_inputs(np, HOMOGENEOUS, CLASSES_MS[1:3], DEVICE, LATENCY_MS[1:3], None)
    assert seen[:, -1].tolist() == [LAUNCH_BOUND_MS] * 2
    # Device classes alone, of which there are two; the host's third does not count.
    expected = [math.sqrt(0.25), math.sqrt(0.75), 0.05 * math.log(40)]
    np.testing.assert_allclose(class_shares(np.array([[10.0, 30.0, 99.0]]), 2), [expected])
    assert np.isfinite(class_shares(np.zeros((1, 3)), 2)).all()


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("factor", [2.0, 50.0])
def test_homogeneous_inputs_do_not_change_with_the_scale_of_a_step(known, factor):
    rows = [0, 3]  # totals and latencies above the launch bound
    latency_ms = LATENCY_MS[rows] if known else None
    scaled_ms = factor * LATENCY_MS[rows] if known else None
    assert (step_scale(np, CLASSES_MS[rows], DEVICE, latency_ms) > LAUNCH_BOUND_MS).all()
    one = network_inputs(np, HOMOGENEOUS, CLASSES_MS[rows], DEVICE, latency_ms, None)
    other = network_inputs(np, HOMOGENEOUS, factor * CLASSES_MS[rows], DEVICE, scaled_ms, None)
    np.testing.assert_allclose(one[:, :-1], other[:, :-1], rtol=1e-12)
    # The last is a constant time over the scale, so that a network may add a constant to any step.
    np.testing.assert_allclose(one[:, -1] / factor, other[:, -1], rtol=1e-12)


def test_inputs_of_class_ratios_and_trees_by_hand():
    seen = network_inputs(np, CLASS_RATIO, CLASSES_MS[:1], DEVICE, LATENCY_MS[:1], SIZES[:1])
    logs = np.log([31, 11, 5, 8])
    roots = np.sqrt(np.array([30, 10, 4, 7]) / 44)
    np.testing.assert_allclose(seen[0], [*logs, *roots, math.log(44), math.log(20), math.log(2.2), 0, 0])
    seen = network_inputs(np, TREES, CLASSES_MS[:1], DEVICE, LATENCY_MS[:1], SIZES[1:2])
    shares = np.array([30, 10, 4, 7]) / 44
    logs = [math.log(44), math.log(20), math.log(2.2), math.log(1 / 4), math.log(1 / 4)]
    np.testing.assert_allclose(seen[0], [*shares, *logs])
    without = network_inputs(np, TREES, CLASSES_MS[:1], DEVICE, None, None)
    np.testing.assert_allclose(without[0], [*shares, math.log(44)])


def test_latencies_of_each_member_by_hand():
    constants = np.log([[0.5, 2.0, 1.0]])
    raw = np.full((1, outputs_of(TREES, DEVICE)), math.log(1.1))
    # 30 / 2 + 10 x 2 + 4 = 39 of 44 ms; of a latency of 20 ms the same share.
    without = latency_of(np, TREES, raw, CLASSES_MS[:1], None, constants)
    known = latency_of(np, TREES, raw, CLASSES_MS[:1], LATENCY_MS[:1], constants)
    assert without.item() == pytest.approx(1.1 * 39)
    assert known.item() == pytest.approx(1.1 * 20 * 39 / 44)
    raw = np.full((4, 1), 0.5)
    given = latency_of(np, HOMOGENEOUS, raw, CLASSES_MS, LATENCY_MS, None)
    np.testing.assert_allclose(given, LATENCY_MS / 2)
    without = latency_of(np, HOMOGENEOUS, raw, CLASSES_MS, None, None)
    np.testing.assert_allclose(without.ravel(), [22, 0.5, 5e-4, 200])
    constants = np.log([[0.5, 2.0, 1.0]])
    raw = np.zeros((1, outputs_of(CLASS_RATIO, DEVICE)))
    assert outputs_of(CLASS_RATIO, DEVICE) == 5
    found_ms = latency_of(np, CLASS_RATIO, raw, CLASSES_MS[:1], LATENCY_MS[:1], constants)
    # 30 / 2 + 10 x 2 + 4 ms, and the least overhead.
    assert found_ms.item() == pytest.approx(39 + MIN_OVERHEAD_MS)
    found_ms = latency_of(np, CLASS_RATIO, np.full((4, 5), -1e6), CLASSES_MS, None, np.zeros((1, DEVICE)))
    np.testing.assert_allclose(found_ms.ravel(), np.array([44, 1, 0, 400]) / math.e**2, atol=1e-12)


@pytest.mark.parametrize(("raw", "ratio"), [(1e9, math.e), (-1e9, 1 / math.e), (0.0, 1.0)])
def test_class_ratios_are_bounded_to_a_factor_e(raw, ratio):
    found_ms = class_latencies(np, np.full((1, 5), raw), CLASSES_MS[:1], DEVICE, np.zeros((1, DEVICE)))
    np.testing.assert_allclose(found_ms, CLASSES_MS[:1, :DEVICE] * ratio)


def step(unknown_ms: float, latency_ms: float | None = None) -> StepInputs:
    known = None if latency_ms is None else np.array([[latency_ms]])
    return StepInputs(CLASSES_MS[:1], np.array([[unknown_ms]]), known, None, np.ones(1), np.zeros(1))


def test_unknown_time_is_scaled_by_the_root_of_the_typical_ratio():
    # Typical ratios 4 and 1/4 scale 8 ms by 2 and 1/2.
    found_ms = member_latency(
        HOMOGENEOUS, lambda seen: np.zeros((2, 1, 1)), step(8.0), DEVICE, np.zeros((2, 1, 1)), np.log([4.0, 0.25])
    )
    np.testing.assert_allclose(found_ms, [[16.0], [4.0]])
    # It comes on top of a network's answer.
    constants, network = np.log([[[0.5, 2.0, 1.0]]]), lambda seen: np.zeros((1, 1, 5))
    found_ms = member_latency(CLASS_RATIO, network, step(8.0, 20.0), DEVICE, constants, np.zeros(1))
    assert found_ms.item() == pytest.approx(39 + MIN_OVERHEAD_MS + 8.0)


def class_times(unknown_ms: float) -> ClassTimes:
    nothing = np.zeros(1, bool)
    return ClassTimes(CLASSES_MS[:1], np.array([unknown_ms]), np.array([0.0]), nothing, nothing)


@pytest.mark.parametrize(
    ("unknown_ms", "known_ms"), [(0.0, 100.0), (40.0, 60.0), (80.0, 20.0), (90.0, 20.0), (1000.0, 20.0)]
)
def test_the_latency_loses_unknown_time_down_to_a_fifth(unknown_ms, known_ms):
    inputs = step_inputs(class_times(unknown_ms), DEVICE, 2, np.array([100.0]), None)
    assert inputs.latency_ms.tolist() == [[known_ms]]
    assert inputs.unknown_ms.tolist() == [[unknown_ms]]


def test_unseen_classes_count_as_unknown_and_repair_keeps_idle_and_host_times():
    unseen = np.array([False, True, False, False])
    inputs = step_inputs(class_times(6.0), DEVICE, 2, np.array([100.0]), None, unseen)
    assert inputs.unknown_ms.tolist() == [[16.0]]
    assert inputs.classes_ms.tolist() == [[30.0, 0.0, 4.0, 7.0]]
    assert inputs.latency_ms.tolist() == [[84.0]]
    cut = np.ones(1, bool)
    times = ClassTimes(CLASSES_MS[:1], np.array([6.0]), np.array([412.0]), cut, cut)
    inputs = step_inputs(times, DEVICE, 2, np.array([190.0]), None)
    factor = inputs.repaired[0]
    assert factor == 2.0  # of 190 ms or more it holds 50: it lacks more than half
    assert inputs.classes_ms.tolist() == [[60.0, 20.0, 4.0, 7.0]]
    assert inputs.unknown_ms.tolist() == [[12.0]]
    assert inputs.doubt[0] > 0


@pytest.mark.training
def test_serving_computes_what_training_computes():
    ops = pytest.importorskip("keras", reason="the training set is not installed").ops
    constants = np.log([[0.5, 2.0, 1.0]])

    def tensor(value):
        return None if value is None else ops.convert_to_tensor(value.astype(np.float32))

    def check(tensors, expected):
        np.testing.assert_allclose(ops.convert_to_numpy(tensors), expected, rtol=1e-5, atol=1e-6)

    for member, latency_ms, sizes in product(MEMBERS, (LATENCY_MS, None), (SIZES, None)):
        raw = np.random.default_rng(0).normal(size=(4, outputs_of(member, DEVICE)))
        classes, known = tensor(CLASSES_MS), tensor(latency_ms)
        inputs = network_inputs(np, member, CLASSES_MS, DEVICE, latency_ms, sizes)
        check(network_inputs(ops, member, classes, DEVICE, known, tensor(sizes)), inputs)
        found_ms = latency_of(np, member, raw, CLASSES_MS, latency_ms, constants)
        check(latency_of(ops, member, tensor(raw), classes, known, tensor(constants)), found_ms)


SCALE = IntervalScale(
    level=0.9,
    spread=0.5,
    distance=1.0,
    offset={"here": {"there": math.log(2)}},
    quantile={"here": {"there": 3.0}},
    error_by_distance=(4.0, 7.0, 11.0, 15.0),
)


def half_width(spread: float, distance: float, doubt: float = 0.0) -> float:
    """Of two members whose logarithms have this standard deviation."""
    found_ms = np.array([[10.0 * math.exp(-spread), 10.0 * math.exp(spread)]])
    return float(
        quantile() * SCALE.log_sd("here", ["there"], found_ms[None], np.array([distance]), np.array([doubt]))[0, 0]
    )


def test_the_half_width_by_hand_and_at_a_bands_edge():
    # 3 x 2 x (0.15 + 0.01) ** 0.5 x (0.08 + 0.02)
    assert half_width(0.15, 0.08) == pytest.approx(3 * 2 * 0.4 * 0.1)
    assert half_width(0.15, 0.08, doubt=0.1) == pytest.approx(math.hypot(0.24, 0.16448536))
    # Equal members and a twin in the data still have a width.
    assert half_width(0.0, 0.0) == pytest.approx(3 * 2 * 0.1 * 0.02)
    found_ms = np.array([[20.0, 20.0], [10.0, 10.0 * math.exp(0.2)]])
    expected = np.log([[0.01, 0.02], [0.11, 0.12]])
    np.testing.assert_allclose(scale_features(found_ms, np.array([0.0, 0.1])), expected, rtol=1e-9)
    errors = SCALE.error_by_distance
    for band, edge in enumerate(DISTANCE_BANDS):
        for distance, inside in ((edge, band), (np.nextafter(edge, 9), band + 1)):
            assert Similarity.at(distance, errors) == Similarity(distance, BAND_WORDS[inside], errors[inside])
    assert Similarity.at(0.0, errors).words == "like" and Similarity.at(1e9, errors).error_percent == 15.0


@pytest.mark.parametrize(("distance", "conformal"), [(5.0, 1.0), (1_000.0, 1.0), (1_000.0, 0.0)])
def test_a_scale_that_runs_away_beyond_few_networks_stays_a_number(distance, conformal):
    runaway = replace(SCALE, distance=distance, quantile={"here": {"there": conformal}})
    log_sd = runaway.log_sd("here", ["there"], np.array([[[10.0, 11.0]]]), np.array([20.0]), np.zeros(1))[0]
    assert log_sd.tolist() == [MAX_LOG_SD if conformal else 0.0]
    assert np.isfinite(10.0 * np.exp(quantile() * log_sd)).all()


AMOUNT = st.floats(0, 3)


@given(low=st.tuples(AMOUNT, AMOUNT, AMOUNT), more=st.tuples(AMOUNT, AMOUNT, AMOUNT))
def test_the_interval_never_narrows_with_spread_distance_or_doubt(low, more):
    wider = [one + other for one, other in zip(low, more, strict=True)]
    assert half_width(*wider) >= half_width(*low) * (1 - 1e-9)


def test_each_profile_has_its_own_width():
    found_ms = np.array([[10.0, 11.0], [500.0, 900.0]])
    together = SCALE.log_sd("here", ["there"], found_ms[None], np.array([0.1, 0.4]), np.array([0.0, 0.2]))[0]
    alone = [
        SCALE.log_sd("here", ["there"], found_ms[[row]][None], np.array([distance]), np.array([doubt]))[0, 0]
        for row, (distance, doubt) in enumerate([(0.1, 0.0), (0.4, 0.2)])
    ]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


@pytest.mark.parametrize("block", [1, 3, 512])
def test_the_nearest_distance_is_that_of_all_pairs(block):
    random = np.random.default_rng(0)
    shares, reference = random.uniform(size=(10, 4)), random.uniform(size=(7, 4))
    brute = np.linalg.norm(shares[:, None] - reference[None], axis=2).min(axis=1)
    np.testing.assert_allclose(nearest_distance(shares, reference, block), brute, rtol=1e-9)
    np.testing.assert_allclose(nearest_distance(reference, reference, block), 0, atol=1e-6)
    assert nearest_distance(np.zeros((0, 4)), reference, block).shape == (0,)
