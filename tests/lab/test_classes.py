"""The default method's members learn from their rows alone, and intervals are calibrated on held-out architectures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from profet_core.ensemble.members import MEMBERS, NETWORKS, TREES, UNKNOWN_POWER
from profet_core.latency import quantile
from profet_lab.class_folds import ensemble_ms, fit_scale, fold_inputs, nearest_other, one_held_out
from profet_lab.class_members import RECIPES, REPEATS, MemberModels, PairTraining, fit_member, fit_trees
from profet_lab.measurements.tables import ClassBank, class_bank
from profet_lab.models_folder import network_stack
from tests.lab.conftest import SAME_TRAINING, without_numbers

PAIR = ("slow", "fast")


@pytest.fixture(scope="module")
def bank(many) -> ClassBank:
    return class_bank(many)


def fit(
    bank: ClassBank, *, rows: np.ndarray, known: bool = True, sizes: bool = False, rounds: int = 40
) -> MemberModels:
    return fit_trees(bank, [PairTraining(*PAIR, rows, known, sizes)], seed=0, rounds=rounds)


def slower(bank: ClassBank, rows: np.ndarray, factor: float) -> ClassBank:
    """The same with the target's latencies of `rows` times `factor`, and its profiles as they are."""
    target_ms = np.where(rows, factor, 1.0) * bank.latency_ms["fast"]
    return replace(bank, latency_ms={**bank.latency_ms, "fast": target_ms})


def written(trees: MemberModels) -> list[str]:
    return [model.model_to_string() for model in trees.trees]


def everything(bank: ClassBank) -> np.ndarray:
    return np.ones(len(bank.architectures), bool)


@pytest.mark.parametrize("known", [True, False])
def test_trees_learn_that_the_target_is_twice_as_fast(bank, known):
    rows = everything(bank)
    trees = fit(bank, rows=rows, known=known)
    np.testing.assert_allclose(trees.constants, np.log(0.5))
    np.testing.assert_allclose(predicted_ms(bank, trees, rows, known, False), bank.latency_ms["fast"], rtol=0.01)


def test_of_the_repeats_the_first_three_are_learned_from(bank):
    rows = everything(bank)
    last, first = (slower(bank, bank.repeats == number, 1.5) for number in (REPEATS + 1, 1))
    assert set(bank.repeats) == {1, 2, 3, REPEATS + 1}
    assert written(fit(last, rows=rows)) == written(fit(bank, rows=rows))
    assert written(fit(first, rows=rows)) != written(fit(bank, rows=rows))


def test_a_class_that_hardly_any_training_profile_has_is_zeroed(many, bank):
    """One profile of 720 without D has depthwise convolutions: as if it had none, and at its own price in D."""
    learned = bank.architectures != "D"
    column = many.operations.index("Device_DepthwiseConv2dNative")
    one_row = {name: each.copy() for name, each in many.times_us.items()}
    for times_us in one_row.values():
        times_us[0, column] = 500.0
    with_one = class_bank(replace(many, times_us=one_row))
    depthwise = bank.classes.names.index("depthwise")
    assert with_one.inputs["slow", False].classes_ms[0, depthwise] == pytest.approx(0.5)
    trees = fit(with_one, rows=learned, known=False)
    assert trees.unseen[0, depthwise]
    assert written(trees) == written(fit(bank, rows=learned, known=False))
    # Of D, the class is excluded and scaled by a power of the typical ratio, here one half.
    inputs = fold_inputs(bank, PairTraining(*PAIR, learned, False), ~learned, trees.unseen[0])
    assert not inputs.classes_ms[:, depthwise].any()
    prediction = trees.predict(0, inputs, bank.device_classes)
    without = trees.predict(0, replace(inputs, unknown_ms=0 * inputs.unknown_ms), bank.device_classes)
    unknown_ms = many.times_us["slow"][~learned, column] / 1_000
    np.testing.assert_allclose(prediction - without, unknown_ms * 0.5**UNKNOWN_POWER)


def test_each_has_a_model_of_its_own(bank):
    learned = [bank.architectures != name for name in "AB"]
    trainings = [*(PairTraining(*PAIR, rows, True) for rows in learned), PairTraining(*PAIR[::-1], learned[0], True)]
    trees = fit_trees(bank, trainings, seed=0, rounds=40)
    assert trees.constants.shape == (3, 1, bank.device_classes)
    assert trees.typical_log_ratio == pytest.approx([np.log(0.5), np.log(0.5), np.log(2)])
    assert written(trees)[0] == written(fit(bank, rows=learned[0]))[0]
    assert written(trees)[1] == written(fit(bank, rows=learned[1]))[0]
    assert len(set(written(trees))) == 3


PAIRS = {("a", "b"): 0.5, ("b", "a"): 1.5}
ROWS = 5_000


def made_up(seed: int):
    """Held-out predictions whose log error is normal, of deviation size x (s + 0.01) ** 0.5 x (d + 0.02) ** 0.8."""
    random = np.random.default_rng(seed)
    members_ms, ensemble_ms, true_ms, distance = {}, {}, {}, {}
    for pair, size in PAIRS.items():
        ensemble_ms[pair] = np.exp(random.uniform(1, 6, ROWS))
        spread = random.uniform(0.0, 0.2, ROWS)
        members_ms[pair] = ensemble_ms[pair][:, None] * np.exp(np.outer(spread, [-1, 1]))
        distance[pair] = random.uniform(0.0, 0.6, ROWS)
        deviation = size * (spread + 0.01) ** 0.5 * (distance[pair] + 0.02) ** 0.8
        true_ms[pair] = ensemble_ms[pair] * np.exp(deviation * random.normal(size=ROWS))
    return members_ms, ensemble_ms, true_ms, distance


def test_fresh_data_of_the_same_form_are_covered_as_promised():
    scale = fit_scale(*made_up(0))
    at_half = fit_scale(*made_up(0), level=0.5)
    assert (scale.level, at_half.level) == (0.9, 0.5)
    assert scale.spread == pytest.approx(0.5, abs=0.1)
    assert scale.distance == pytest.approx(0.8, abs=0.1)
    members_ms, ensemble_ms, true_ms, distance = made_up(1)
    for anchor, target in PAIRS:
        pair = (anchor, target)
        half = quantile() * scale.log_sd(anchor, [target], members_ms[pair][None], distance[pair], np.zeros(ROWS))[0]
        inside = np.abs(np.log(true_ms[pair] / ensemble_ms[pair])) <= half
        assert 0.88 < inside.mean() < 0.92
        half = (
            quantile(0.5) * at_half.log_sd(anchor, [target], members_ms[pair][None], distance[pair], np.zeros(ROWS))[0]
        )
        assert np.mean(np.abs(np.log(true_ms[pair] / ensemble_ms[pair])) <= half) == pytest.approx(0.5, abs=0.03)
        for far in (False, True):  # near and far alike
            assert 0.86 < inside[(distance[pair] > 0.3) == far].mean() < 0.94


def test_the_error_of_a_distance_band_is_its_mean_and_empty_bands_take_their_neighbors():
    ensemble_ms = {("a", "b"): np.array([110.0, 70.0, 120.0, 120.0])}
    members_ms = {("a", "b"): np.column_stack([ensemble_ms["a", "b"]] * 2)}
    scale = fit_scale(
        members_ms, ensemble_ms, {("a", "b"): np.full(4, 100.0)}, {("a", "b"): np.array([0.05, 0.1, 0.3, 0.4])}
    )
    assert scale.error_by_distance == pytest.approx([20, 20, 20, 20])
    far = fit_scale(
        members_ms, ensemble_ms, {("a", "b"): np.full(4, 100.0)}, {("a", "b"): np.array([0.05, 0.3, 0.6, 0.6])}
    )
    assert far.error_by_distance == pytest.approx([10, 10, 30, 20])


TABLE = np.array([[0.0, 0.2, 0.5], [0.2, 0.0, 0.1], [0.9, 0.3, 0.0], [0.0, 0.4, 0.6]])
ARCHITECTURES = np.array(["A", "B", "C", "A"])


def test_folds_and_nearest_others_leave_out_what_is_held_out():
    for without, expected in (
        ((), [0.2, 0.1, 0.3, 0.4]),
        (("B",), [0.5, 0.1, 0.9, 0.6]),
        (("C",), [0.2, 0.2, 0.3, 0.4]),
    ):
        assert nearest_other(TABLE, ARCHITECTURES, without).tolist() == expected
    # With nothing left the distance is infinite; a column that is barred may hold anything.
    assert nearest_other(TABLE, ARCHITECTURES, ("B", "C"))[0] == math.inf
    spoilt = np.where(np.arange(3) == 2, np.nan, TABLE)
    assert nearest_other(spoilt, ARCHITECTURES, ("C",)).tolist() == [0.2, 0.2, 0.3, 0.4]
    groups = np.array(list("ABBCA"))
    folds = one_held_out(groups, [PAIR, PAIR[::-1]], latency_known=True)
    assert [(*training.pair, *held_out) for training, held_out in folds] == [
        (*pair, name) for pair in (PAIR, PAIR[::-1]) for name in "ABC"
    ]
    for training, held_out in folds:
        ((name, rows),) = held_out.items()
        assert set(groups[rows]) == {name}
        assert (training.rows == ~rows).all()


@pytest.mark.parametrize(("known", "sizes"), [(True, False), (False, True)])
@pytest.mark.parametrize("member", MEMBERS)
def test_spoilt_rows_of_a_real_architecture_change_no_member(uncompiled, measurements, member, known, sizes):
    held_out = measurements.architectures == "MobileNetV2"
    training = PairTraining("g3s.xlarge", "p2.xlarge", ~held_out, known, sizes)
    one, other = (
        fit_member(class_bank(measured), member, [training], seed=0, steps=3)
        for measured in (measurements, without_numbers(measurements, held_out))
    )
    for name in ("constants", "typical_log_ratio", "unseen"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    if member == TREES:
        assert [tree.model_to_string() for tree in one.trees] == [tree.model_to_string() for tree in other.trees]
        return
    for mine, its in zip((*one.kernels, *one.biases), (*other.kernels, *other.biases), strict=True):
        np.testing.assert_allclose(mine, its, **SAME_TRAINING)


def test_members_are_combined_by_their_weights():
    members_ms = np.array([[1.0, 32.0, 1.0], [10.0, 10.0, 10.0], [1.0, 1.0, 32.0]])
    np.testing.assert_allclose(ensemble_ms(members_ms), [8, 10, 2])


STEPS = 5


def trained(bank, member, *, rows, known=True, sizes=False, steps=STEPS):
    return fit_member(bank, member, [PairTraining(*PAIR, rows, known, sizes)], seed=0, steps=steps)


def predicted_ms(bank, networks, rows, known=True, sizes=False):
    training = PairTraining(*PAIR, rows, known, sizes)
    return networks.predict(0, fold_inputs(bank, training, rows, networks.unseen[0]), bank.device_classes)


def test_constants_are_the_ratios_of_the_training_rows(classed):
    bank = class_bank(classed)
    learned = bank.architectures != "D"
    ratios, typical = PairTraining(*PAIR, learned, True).log_ratios(bank)
    np.testing.assert_allclose(ratios, np.log(0.5))
    assert typical == pytest.approx(np.log(0.5))
    unseen = PairTraining(*PAIR, learned, True).unseen(bank)
    names = np.array(bank.classes.names)
    depthwise = names == "depthwise"
    assert unseen[depthwise].all() and not PairTraining(*PAIR, ~learned, True).unseen(bank)[depthwise].any()
    assert not unseen[names == "convolution"].any() and not unseen[bank.device_classes :].any()


@pytest.mark.parametrize("member", NETWORKS)
def test_a_network_learns_that_the_target_is_twice_as_fast(classed, member):
    bank = class_bank(classed)
    rows = np.ones(len(classed.workloads), bool)
    networks = trained(bank, member, rows=rows, steps=250)
    assert np.mean(np.abs(predicted_ms(bank, networks, rows) / bank.latency_ms["fast"] - 1)) < 0.06


@pytest.mark.parametrize("member", NETWORKS)
def test_what_is_served_answers_what_the_networks_answer(member):
    random = np.random.default_rng(0)
    widths = [(7, 6), (6, 5), (5, 3)]
    networks = MemberModels(
        member,
        kernels=tuple(random.normal(size=(4, *width)) for width in widths),
        biases=tuple(random.normal(size=(4, 1, width[1])) for width in widths),
        constants=np.zeros((4, 1, 1)),
        typical_log_ratio=np.zeros(4),
        unseen=np.zeros((4, 2), bool),
    )
    served = network_stack(networks.kernels, networks.biases, RECIPES[member].activation)
    for rows in (1, 9):
        inputs = random.normal(size=(rows, 7))
        outputs = served.run(inputs)
        assert outputs.shape == (4, rows, 3)
        for network in range(4):
            wanted = networks.run(network, inputs)[0]
            # Served in single precision, whose sums differ by processor in the seventh digit of their largest term. A
            # latency is made of all of a row's outputs and shown to three digits.
            np.testing.assert_allclose(outputs[network], wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
