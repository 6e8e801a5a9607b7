"""Weights are never chosen by the errors that are then judged: inner folds leave out a second architecture."""

from __future__ import annotations

import numpy as np
import pytest

from profet_lab.classes.bank import class_bank
from profet_lab.classes.folds import WEIGHTS
from tests.lab.classes.test_member_weights import choosing
from tests.lab.conftest import SAME_TRAINING

PAIR = ("slow", "fast")


def test_two_held_out_are_both_predicted_and_neither_is_learned_from(classed):
    from profet_lab.validation.default import two_held_out

    bank = class_bank(classed)
    folds = two_held_out(bank, [PAIR])
    assert len(folds) == 6
    for fold in folds:
        assert len(fold.held_out) == 2
        for name, rows in fold.held_out.items():
            first, second = name.split("|")
            assert set(bank.architectures[rows]) == {first}
            assert set(bank.architectures[fold.training.rows]) == set("ABCD") - {first, second}


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_no_error_of_those_held_out_counts(poison):
    """Errors of a held-out name, seen without another, and those of others seen with it, are all nonsense."""
    from profet_lab.validation.default import InnerErrors

    wanted, names = WEIGHTS[9], "ABCD"
    spoilt = np.full(len(WEIGHTS), poison)
    for out in (["D"], ["C", "D"]):
        errors = {
            (outer, inner): choosing(wanted) if outer in out and inner not in out else spoilt
            for outer in names
            for inner in names
            if inner != outer
        }
        assert InnerErrors(errors).of_group(out) == wanted
        # One such error let in, and the choice is another: the first of what is not a number, or all infinite.
        assert InnerErrors(errors).of_group(["A"]) == WEIGHTS[0]


def test_spoilt_rows_of_the_held_out_architecture_reach_neither_weights_nor_interval(uncompiled, classed, poisoned):
    """Both come from errors of others, by members that never saw it; the widths at distances that leave it out."""
    from profet_lab.classes.folds import FoldCase, distances, half_widths, one_held_out, predict_cases
    from profet_lab.validation.default import inner_errors, nested_scale, two_held_out

    pair, held_out = ("slow", "fast"), classed.architectures == "D"
    clean, spoilt = class_bank(classed), class_bank(poisoned)
    (plain,) = predict_cases(clean, [FoldCase(one_held_out(clean.architectures, [pair]), True)], seed=0, steps=3)
    half, weights = [], []
    for bank in (clean, spoilt):
        (inner,) = predict_cases(bank, [FoldCase(two_held_out(bank, [pair]), True)], seed=0, steps=3)
        # How far its own profiles lie from the others is an input of the prediction, and nothing learned.
        own, learned = distances(clean, "slow", True), distances(bank, "slow", True)
        tables = {"slow": np.where(held_out[:, None], own, learned)}
        weights.append(inner_errors(bank, [pair], inner).by_architecture)
        scales = {
            name: nested_scale(bank, [pair], inner, name, weights[-1][name], tables)
            for name in np.unique(bank.architectures)
        }
        half.append(half_widths(bank, [pair], plain, lambda name, _, scales=scales: scales[name], tables, True)[pair])
    assert weights[0]["D"] == weights[1]["D"] != WEIGHTS[0]  # what is not a number gives the first of them
    assert np.isfinite(half[1][held_out]).all()
    np.testing.assert_allclose(half[0][held_out], half[1][held_out], **SAME_TRAINING)
    assert not np.isfinite(half[1][~held_out]).any()  # the others' widths do learn from it
