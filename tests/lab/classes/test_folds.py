"""Held-out predictions of the default method come from networks that never saw the held-out rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.ensemble.members import MEMBERS, TREES
from profet_core.units import SMALLEST_NUMBER
from profet_lab.classes.bank import TrainingRows, class_bank
from tests.lab.conftest import SAME_TRAINING, without_numbers

PAIR = ("slow", "fast")


def test_a_fold_learns_from_all_rows_it_does_not_hold_out():
    from profet_lab.classes.folds import one_held_out

    groups = np.array(list("ABBCA"))
    folds = one_held_out(groups, [PAIR, PAIR[::-1]])
    assert [(*fold.pair, *fold.held_out) for fold in folds] == [
        (*pair, name) for pair in (PAIR, PAIR[::-1]) for name in "ABC"
    ]
    for fold in folds:
        ((name, rows),) = fold.held_out.items()
        assert set(groups[rows]) == {name}
        assert (fold.training.rows == ~rows).all()


def test_latencies_are_one_a_row_and_member_combined_by_the_weighted_geometric_mean(uncompiled, classed):
    from profet_lab.classes.folds import one_held_out, predict_folds

    bank = class_bank(classed)
    found = predict_folds(bank, one_held_out(bank.architectures, [PAIR]), latency_known=True, seed=0, steps=3)
    assert set(found.members_ms) == {(PAIR, name) for name in "ABCD"}
    # Each group with weights of its own.
    weights = {name: (0.5, 0.5, 0.0) if name == "A" else (0.0, 0.0, 1.0) for name in "ABCD"}
    all_ms = found.all_ensemble_ms(PAIR, weights)
    for name in "ABCD":
        members_ms = found.members_ms[PAIR, name]
        assert members_ms.shape == (12, len(MEMBERS))
        # Hardly trained, a network may predict below zero, which counts as next to nothing.
        first, second, third = np.maximum(members_ms, SMALLEST_NUMBER).T
        np.testing.assert_allclose(found.ensemble_ms(PAIR, name, (0.5, 0.5, 0.0)), np.sqrt(first * second))
        np.testing.assert_allclose(found.ensemble_ms(PAIR, name, (0.0, 0.0, 1.0)), third)
        rows = bank.architectures == name
        np.testing.assert_array_equal(all_ms[rows], found.ensemble_ms(PAIR, name, weights[name]))


def test_shuffled_targets_make_the_error_explode(measurements):
    """What the networks know, they know from the training targets."""
    from profet_lab.classes.folds import one_held_out, predict_folds

    pair, held_out = ("g4dn.xlarge", "p3.2xlarge"), ("VGG16", "ResNet34", "AlexNet")
    bank = class_bank(measurements)
    order = np.random.default_rng(0).permutation(len(bank.architectures))
    target = bank.inputs[pair[1], True]
    shuffled = replace(
        bank,
        latency_ms={**bank.latency_ms, pair[1]: bank.latency_ms[pair[1]][order]},
        inputs={**bank.inputs, (pair[1], True): replace(target, classes_ms=target.classes_ms[order])},
    )
    folds = [fold for fold in one_held_out(bank.architectures, [pair]) if set(fold.held_out) <= set(held_out)]
    assert len(folds) == 3

    def error(trained_on) -> float:
        found = predict_folds(trained_on, folds, latency_known=True, seed=0, steps=200)
        true_ms = [bank.latency_ms[pair[1]][bank.architectures == name] for name in held_out]
        predicted_ms = [found.ensemble_ms(pair, name, (0.2, 0.5, 0.3)) for name in held_out]
        return float(np.abs(np.concatenate(predicted_ms) / np.concatenate(true_ms) - 1).mean())

    true, exploded = error(bank), error(shuffled)
    assert true < 0.15
    assert exploded > 3 * true


@pytest.mark.parametrize(("known", "sizes"), [(True, False), (False, True)])
@pytest.mark.parametrize("member", MEMBERS)
def test_spoilt_rows_of_a_real_architecture_reach_no_member(uncompiled, measurements, member, known, sizes):
    from profet_lab.classes.folds import fit_member

    held_out = measurements.architectures == "MobileNetV2"
    training = TrainingRows("g3s.xlarge", "p2.xlarge", ~held_out)
    one, other = (
        fit_member(class_bank(each), member, [training], latency_known=known, sizes_known=sizes, seed=0, steps=3)
        for each in (measurements, without_numbers(measurements, held_out))
    )
    for name in ("constants", "typical_log_ratio", "unseen"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    if member == TREES:
        assert [tree.model_to_string() for tree in one.trees] == [tree.model_to_string() for tree in other.trees]
        return
    for mine, its in zip((*one.kernels, *one.biases), (*other.kernels, *other.biases), strict=True):
        np.testing.assert_allclose(mine, its, **SAME_TRAINING)
