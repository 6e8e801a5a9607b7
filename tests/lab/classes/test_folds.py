"""Held-out predictions of the default method come from networks that never saw the held-out rows."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.ensemble.members import MEMBERS, TREES
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
