"""Left-out predictions of the default method come from networks that never saw the left-out rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.networks.members import MEMBERS, TREES
from profet_core.units import SMALLEST_NUMBER
from profet_lab.classes.bank import class_bank
from profet_lab.classes.fit_member import fit_member
from profet_lab.classes.folds import fold_inputs, left_out_folds, predict_folds
from profet_lab.classes.jobs import MemberJob
from profet_lab.validation.default import _left_out_twice

pytestmark = pytest.mark.training

PAIR = ("slow", "fast")


def test_a_fold_learns_from_all_rows_it_is_not_asked_about():
    groups = np.array(list("ABBCA"))
    folds = left_out_folds(groups, [PAIR, PAIR[::-1]])
    assert [(fold.anchor, fold.target, *fold.asked) for fold in folds] == [
        (*pair, name) for pair in (PAIR, PAIR[::-1]) for name in "ABC"
    ]
    for fold in folds:
        ((name, rows),) = fold.asked.items()
        assert set(groups[rows]) == {name}
        assert (fold.learned == ~rows).all()


def test_two_left_out_are_both_asked_about_and_neither_is_learned_from(classed):
    bank = class_bank(classed)
    folds = _left_out_twice(bank, [PAIR])
    assert len(folds) == 6
    for fold in folds:
        assert len(fold.asked) == 2
        for name, rows in fold.asked.items():
            first, second = name.split("|")
            assert set(bank.architectures[rows]) == {first}
            assert set(bank.architectures[fold.learned]) == set("ABCD") - {first, second}


def test_answers_are_one_a_row_and_member_joined_by_the_weighted_geometric_mean(classed):
    bank = class_bank(classed)
    folds = left_out_folds(bank.architectures, [PAIR])
    left_out = predict_folds(bank, folds, latency_known=True, seed=0, steps=3)
    assert set(left_out.said) == {(PAIR, name) for name in "ABCD"}
    for name in "ABCD":
        said = left_out.said[PAIR, name]
        assert said.shape == (12, len(MEMBERS))
        # Hardly trained, a network may answer below zero, which counts as next to nothing.
        first, second, third = np.maximum(said, SMALLEST_NUMBER).T
        np.testing.assert_allclose(left_out.joined(PAIR, name, (0.5, 0.5, 0.0)), np.sqrt(first * second))
        np.testing.assert_allclose(left_out.joined(PAIR, name, (0.0, 0.0, 1.0)), third)


def test_time_of_a_class_that_only_the_left_out_architecture_has_counts_as_unknown(classed):
    bank = class_bank(classed)
    rows = bank.architectures == "D"
    job = MemberJob(*PAIR, ~rows)
    networks = fit_member(bank, MEMBERS[0], [job], latency_known=False, sizes_known=False, seed=0, steps=1)
    inputs = fold_inputs(bank, networks, 0, "slow", rows, False, False)
    depthwise = bank.classes.names.index("depthwise")
    np.testing.assert_allclose(inputs.unknown_ms[:, 0], bank.times["slow"].times_ms[rows, depthwise])
    assert not inputs.classes_ms[:, depthwise].any()


@pytest.mark.data
def test_shuffled_targets_make_the_error_explode(measurements):
    """What the networks know, they know from the training targets."""
    pair, asked = ("g4dn.xlarge", "p3.2xlarge"), ("VGG16", "ResNet34", "AlexNet")
    bank = class_bank(measurements)
    order = np.random.default_rng(0).permutation(len(bank.architectures))
    target = bank.inputs[pair[1], True]
    shuffled = replace(
        bank,
        latency_ms={**bank.latency_ms, pair[1]: bank.latency_ms[pair[1]][order]},
        inputs={**bank.inputs, (pair[1], True): replace(target, classes_ms=target.classes_ms[order])},
    )
    folds = [fold for fold in left_out_folds(bank.architectures, [pair]) if set(fold.asked) <= set(asked)]
    assert len(folds) == 3

    def error(learned_from) -> float:
        left_out = predict_folds(learned_from, folds, latency_known=True, seed=0, steps=200)
        true_ms = [bank.latency_ms[pair[1]][bank.architectures == name] for name in asked]
        said = [left_out.joined(pair, name, (0.2, 0.5, 0.3)) for name in asked]
        return float(np.abs(np.concatenate(said) / np.concatenate(true_ms) - 1).mean())

    true, exploded = error(bank), error(shuffled)
    assert true < 0.15
    assert exploded > 3 * true


@pytest.mark.data
@pytest.mark.parametrize("member", MEMBERS)
def test_spoilt_rows_of_a_real_architecture_reach_no_member(measurements, member):
    left_out = measurements.architectures == "MobileNetV2"
    spoilt = replace(
        measurements,
        times_us={name: np.where(left_out[:, None], np.nan, each) for name, each in measurements.times_us.items()},
        latency_ms={name: np.where(left_out, np.nan, each) for name, each in measurements.latency_ms.items()},
    )
    job = MemberJob("g3s.xlarge", "p2.xlarge", ~left_out)
    one, other = (
        fit_member(class_bank(each), member, [job], latency_known=True, sizes_known=False, seed=0, steps=3)
        for each in (measurements, spoilt)
    )
    for name in ("constants", "typical_log_ratio", "unseen"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    if member == TREES:
        assert [tree.model_to_string() for tree in one.trees] == [tree.model_to_string() for tree in other.trees]
        return
    for mine, its in zip((*one.kernels, *one.biases), (*other.kernels, *other.biases), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-6, atol=1e-12)
