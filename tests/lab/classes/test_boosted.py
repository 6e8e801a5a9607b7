"""Boosted trees: models side by side, each on its own rows alone, and only on what its pair's classes have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.ensemble.members import UNKNOWN_POWER
from profet_lab.classes.bank import ClassBank, TrainingRows, class_bank
from profet_lab.classes.boosted import REPEATS, BoostedTrees, fit_trees

PAIR = ("slow", "fast")


@pytest.fixture(scope="module")
def bank(many) -> ClassBank:
    return class_bank(many)


def fit(
    bank: ClassBank, *, rows: np.ndarray, known: bool = True, sizes: bool = False, rounds: int = 40
) -> BoostedTrees:
    sets = [TrainingRows(*PAIR, rows)]
    return fit_trees(bank, sets, latency_known=known, sizes_known=sizes, seed=0, rounds=rounds)


def slower(bank: ClassBank, rows: np.ndarray, factor: float) -> ClassBank:
    """The same with the target's latencies of `rows` times `factor`, and its profiles as they are."""
    target_ms = np.where(rows, factor, 1.0) * bank.latency_ms["fast"]
    return replace(bank, latency_ms={**bank.latency_ms, "fast": target_ms})


def written(trees: BoostedTrees) -> list[str]:
    return [model.model_to_string() for model in trees.trees]


def everything(bank: ClassBank) -> np.ndarray:
    return np.ones(len(bank.architectures), bool)


def predicted_ms(trees: BoostedTrees, bank: ClassBank, rows: np.ndarray, known: bool, sizes: bool) -> np.ndarray:
    """Of these rows, from the slow instance."""
    from profet_lab.classes.folds import fold_inputs

    return trees.predict(0, fold_inputs(bank, trees, 0, "slow", rows, known, sizes), bank.device_classes)


@pytest.mark.parametrize("known", [True, False])
def test_trees_learn_that_the_target_is_twice_as_fast(bank, known):
    rows = everything(bank)
    trees = fit(bank, rows=rows, known=known)
    np.testing.assert_allclose(trees.constants, np.log(0.5))
    np.testing.assert_allclose(predicted_ms(trees, bank, rows, known, False), bank.latency_ms["fast"], rtol=0.01)


def test_of_the_repeats_the_first_three_are_learned_from(bank):
    rows = everything(bank)
    last, first = (slower(bank, bank.repeats == number, 1.5) for number in (REPEATS + 1, 1))
    assert set(bank.repeats) == {1, 2, 3, REPEATS + 1}
    assert written(fit(last, rows=rows)) == written(fit(bank, rows=rows))
    assert written(fit(first, rows=rows)) != written(fit(bank, rows=rows))


def test_a_class_that_hardly_any_training_profile_has_is_zeroed(many, bank):
    """One profile of 720 without D has depthwise convolutions: as if it had none, and at its own price in D."""
    from profet_lab.classes.folds import fold_inputs

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
    inputs = fold_inputs(bank, trees, 0, "slow", ~learned, False, False)
    assert not inputs.classes_ms[:, depthwise].any()
    found = trees.predict(0, inputs, bank.device_classes)
    without = trees.predict(0, replace(inputs, unknown_ms=0 * inputs.unknown_ms), bank.device_classes)
    own_ms = many.times_us["slow"][~learned, column] / 1_000
    np.testing.assert_allclose(found - without, own_ms * 0.5**UNKNOWN_POWER)


def test_each_has_a_model_of_its_own_and_progress_counts_all_of_them_once(bank):
    learned = [bank.architectures != name for name in "AB"]
    sets = [TrainingRows(*PAIR, rows) for rows in learned] + [TrainingRows("fast", "slow", learned[0])]
    reported: list[int] = []
    trees = fit_trees(bank, sets, latency_known=True, sizes_known=False, seed=0, rounds=40, progress=reported.append)
    assert sum(reported) == 40
    assert trees.constants.shape == (3, 1, bank.device_classes)
    assert trees.typical_log_ratio == pytest.approx([np.log(0.5), np.log(0.5), np.log(2)])
    assert written(trees)[0] == written(fit(bank, rows=learned[0]))[0]
    assert written(trees)[1] == written(fit(bank, rows=learned[1]))[0]
    assert len(set(written(trees))) == 3
