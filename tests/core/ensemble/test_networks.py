"""Members by hand, networks and trees read again to the last bit, widths of intervals, distances of profiles."""

from __future__ import annotations

import io
import math
import zipfile
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
    DenseStack,
    IntervalScale,
    Similarity,
    StepInputs,
    TreeStack,
    class_latencies,
    class_shares,
    device_total,
    member_latency,
    nearest_distance,
    network_inputs,
    network_latency,
    outputs_of,
    read_fitted,
    scale_features,
    size_inputs,
    step_inputs,
    step_scale,
    written,
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


def two_layers(activation: str) -> DenseStack:
    """value -> 3 x act(2 x value - 1) + 0.5, and value -> act(-value) + 1."""
    return DenseStack(
        kernels=(np.array([[[2.0]], [[-1.0]]]), np.array([[[3.0]], [[1.0]]])),
        biases=(np.array([[[-1.0]], [[0.0]]]), np.array([[[0.5]], [[1.0]]])),
        activation=activation,
    )


def silu(value: float) -> float:
    return value / (1 + math.exp(-value))


def test_networks_answer_side_by_side_by_relu_or_silu():
    networks = two_layers("relu")
    assert (networks.models, networks.inputs) == (2, 1)
    assert networks.run(np.array([[1.0], [-1.0]])).tolist() == [[[3.5], [0.5]], [[1.0], [2.0]]]
    assert networks.run(np.zeros((0, 1))).shape == (2, 0, 1)
    answers = two_layers("silu").run(np.array([[1.0], [-1.0]]))[..., 0]
    expected = [[3 * silu(1) + 0.5, 3 * silu(-3) + 0.5], [silu(-1) + 1, silu(1) + 1]]
    np.testing.assert_allclose(answers, expected, rtol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_no_value_is_too_large_for_silu(precision):
    layers = two_layers("silu")
    kernels, biases = ([array.astype(precision) for array in arrays] for arrays in (layers.kernels, layers.biases))
    answers = DenseStack(kernels, biases, "silu").run(np.array([[1e6], [-1e6]]))[..., 0]
    np.testing.assert_allclose(answers, [[3 * (2e6 - 1) + 0.5, 0.5], [1, 1e6 + 1]], rtol=1e-6)
    # Networks compute in the precision of their weights.
    line = DenseStack((np.array([[[3.0]]], precision),), (np.zeros((1, 1, 1), precision),), "relu")
    answer = line.run(np.array([[0.1]]))
    assert answer.dtype == precision and answer.item() == precision(3) * precision(0.1)


def test_a_row_s_answer_does_not_depend_on_its_company():
    random = np.random.default_rng(0)
    widths = [(20, 64), (64, 32), (32, 5)]
    kernels = [random.normal(size=(3, *width)) for width in widths]
    networks = DenseStack(kernels, [random.normal(size=(3, 1, width[1])) for width in widths], "silu")
    rows = random.normal(size=(700, 20))
    alone = np.concatenate([networks.run(row[None]) for row in rows], axis=1)
    np.testing.assert_allclose(networks.run(rows), alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("kernels", "biases", "activation"),
    [
        ([], [], "relu"),
        ([(1, 2, 3)], [(1, 1, 3)], "tanh"),
        ([(1, 2, 3)], [], "relu"),
        ([(1, 2, 3)], [(1, 1, 4)], "relu"),
        ([(1, 2, 3)], [(2, 1, 3)], "relu"),
        ([(1, 2, 3), (1, 4, 1)], [(1, 1, 3), (1, 1, 1)], "relu"),
    ],
)
def test_what_is_no_network_is_none(kernels, biases, activation):
    with pytest.raises(ValueError, match="layers"):
        DenseStack([np.zeros(shape) for shape in kernels], [np.zeros(shape) for shape in biases], activation)


# Node 0: column 1 <= 2.5 ? leaf 10 : (column 0 <= -1 ? leaf 20 : leaf 30). Nodes 5 to 7: column 0 <= 0 ? 1 : 2.
# Node 8: a leaf of 100.
SMALL_TREES = TreeStack(
    roots=np.array([[0, 5], [8, 5]]),
    features=np.array([1, 0, 0, 0, 0, 0, 0, 0, 0]),
    steps=np.array([1, 0, 1, 0, 0, 1, 0, 0, 0]),
    numbers=np.array([2.5, 10.0, -1.0, 20.0, 30.0, 0.0, 1.0, 2.0, 100.0]),
    inputs=2,
)


def by_hand(row: np.ndarray) -> list[float]:
    second = 1.0 if row[0] <= 0 else 2.0
    first = 10.0 if row[1] <= 2.5 else 20.0 if row[0] <= -1 else 30.0
    return [first + second, 100 + second]


def test_each_row_ends_in_its_own_leaves():
    rows = np.array([[0.0, 0.0], [1.0, 2.5], [-1.0, 2.6], [-0.9, 3.0], [1.0, 1e300]])
    answers = SMALL_TREES.run(rows)
    assert answers.shape == (2, 5, 1)
    assert answers[..., 0].T.tolist() == [by_hand(row) for row in rows]
    assert answers[0, :, 0].tolist() == [11, 12, 21, 31, 32]
    # A value on the threshold goes left and the next one right.
    assert SMALL_TREES.run(np.array([[0.0, 2.5], [0.0, np.nextafter(2.5, 3)]]))[0, :, 0].tolist() == [11, 31]
    assert SMALL_TREES.run(np.zeros((0, 2))).shape == (2, 0, 1)
    for columns in (1, 3):
        with pytest.raises(ValueError, match=f"2 columns are needed, not {columns}"):
            SMALL_TREES.run(np.zeros((1, columns)))


@pytest.mark.parametrize("together", [1, 7, 40_000])
def test_chunks_of_rows_answer_as_all_rows_do(monkeypatch, together):
    monkeypatch.setattr("profet_core.ensemble.members._TREES_TOGETHER", together)
    rows = np.random.default_rng(0).uniform(-3, 6, (101, 2))
    assert SMALL_TREES.run(rows)[..., 0].T.tolist() == [by_hand(row) for row in rows]


@pytest.mark.parametrize(
    "change",
    [
        {"roots": np.array([[0, 9]])},
        {"roots": np.array([[-1, 5]])},
        {"roots": np.array([0, 5])},
        {"features": np.array([2, 0, 0, 0, 0, 0, 0, 0, 0])},
        {"features": np.array([-1, 0, 0, 0, 0, 0, 0, 0, 0])},
        {"steps": np.array([8, 0, 1, 0, 0, 1, 0, 0, 0])},
        {"steps": np.array([1, 0, -2, 0, 0, 1, 0, 0, 0])},
        {"steps": np.array([1, 1, 1, 1, 1, 1, 1, 0, 0])},
        {"numbers": np.zeros(8)},
    ],
)
def test_what_is_no_table_of_trees_is_none(change):
    whole = {name: getattr(SMALL_TREES, name) for name in ("roots", "features", "steps", "numbers", "inputs")}
    with pytest.raises(ValueError, match="node"):
        TreeStack(**{**whole, **change})


THIRD = 1 / 3


def network(weight: float = 0.5, activation: str = "silu") -> DenseStack:
    return DenseStack((np.full((2, 3, 1), weight),), (np.full((2, 1, 1), -1.0),), activation)


def tree(threshold: float = 0.5, inputs: int = 3) -> TreeStack:
    return TreeStack(
        roots=np.array([[0]]),
        features=np.array([inputs - 1, 0, 0]),
        steps=np.array([1, 0, 0]),
        numbers=np.array([threshold, -1.0, 2.0]),
        inputs=inputs,
    )


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_networks_come_back_as_they_were(precision, activation):
    layer = DenseStack((np.full((2, 3, 1), THIRD, precision),), (np.full((2, 1, 1), -1.0, precision),), activation)
    restored = read_fitted(written(layer))
    assert isinstance(restored, DenseStack) and restored.activation == activation
    assert [(array.dtype, array.shape) for array in restored.kernels] == [(precision, (2, 3, 1))]
    assert restored.kernels[0].ravel().tolist() == [precision(THIRD)] * 6 and restored.biases[0].ravel().tolist() == [
        -1,
        -1,
    ]


@pytest.mark.parametrize("threshold", [0.5, THIRD])
def test_trees_come_back_as_they_were(threshold):
    restored = read_fitted(written(tree(threshold)))
    assert isinstance(restored, TreeStack) and restored.inputs == 3
    assert (restored.numbers.dtype, restored.numbers.tolist()) == (np.float64, [threshold, -1.0, 2.0])
    rows = np.array([[0, 0, threshold], [0, 0, np.nextafter(threshold, 1)]])
    assert restored.run(rows).ravel().tolist() == [-1.0, 2.0]
    # More columns than 16 bits hold are distinguished.
    wide = np.zeros((2, 70_000))
    wide[1, -1] = 1
    assert read_fitted(written(tree(inputs=70_000))).run(wide).ravel().tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("make", [network, tree])
def test_equal_arrays_are_equal_bytes_and_others_are_not(make):
    assert written(make()) == written(make()) != written(make(THIRD))


def test_a_table_of_nodes_takes_no_more_room_than_it_needs():
    def types(data: bytes) -> set[str]:
        with np.load(io.BytesIO(data)) as file:
            return {str(file[name].dtype) for name in file.files}

    assert types(written(tree())) == {"uint16", "float32"}
    assert types(written(tree(THIRD))) == {"uint16", "float64"}
    assert types(written(tree(inputs=70_000))) == {"uint16", "int32", "float32"}


def arrays(**values: object) -> bytes:
    data = io.BytesIO()
    np.savez(data, **{name: np.array(value) for name, value in values.items()})
    return data.getvalue()


def archive(**members: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return data.getvalue()


def test_another_file_or_a_pickle_is_a_value_error():
    files = [
        b"",
        b"PK\x03\x04",
        written(network())[:-1],
        arrays(),
        arrays(activation="relu"),
        arrays(activation="relu", kernel_0=[[[1.0]]], bias_1=[[[1.0]]]),
        arrays(activation="relu", kernel_0=[[["1"]]], bias_0=[[[1.0]]]),
        arrays(activation="relu", kernel_0=1.0, bias_0=1.0),
        arrays(activation="relu", kernel_0=np.array([print], object), bias_0=np.zeros((1, 1, 1))),
        arrays(roots=[[0]]),
        arrays(roots=[[]], features=[], steps=[], numbers=[], inputs=0),
        archive(activation=b"relu", kernel_0=b"1", bias_0=b"1"),
    ]
    for data in files:
        with pytest.raises(ValueError, match="not a file of fitted arrays"):
            read_fitted(data)
