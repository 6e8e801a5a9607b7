"""Nothing of a left-out architecture reaches a fit."""

import numpy as np
import pytest

from profet_lab.documented.folds import DocumentedFold, fit_folds
from tests.lab.conftest import without_numbers

pytestmark = pytest.mark.training

FOLD = DocumentedFold("slow", "fast", frozenset({"C"}))


def test_a_fold_learns_the_relation_of_its_training_rows(small):
    (fitted,) = fit_folds(small, [FOLD], seed=0, epochs=200)
    rows = small.architectures == "A"
    members_ms = fitted.predict(small.operations, small.times_us["slow"][rows], small.latency_ms["slow"][rows])
    np.testing.assert_allclose(members_ms["line"], small.latency_ms["fast"][rows], rtol=1e-6)
    assert np.mean(np.abs(members_ms["dense"] / small.latency_ms["fast"][rows] - 1)) < 0.25


def test_poisoned_rows_of_the_left_out_architecture_change_nothing(small):
    poisoned = without_numbers(small, small.architectures == "C")
    (clean,) = fit_folds(small, [FOLD], seed=0, epochs=3)
    (blind,) = fit_folds(poisoned, [FOLD], seed=0, epochs=3)
    assert clean.features == blind.features
    members_ms = [
        fitted.predict(small.operations, small.times_us["slow"], small.latency_ms["slow"]) for fitted in (clean, blind)
    ]
    for member, clean_ms in members_ms[0].items():
        assert np.all(np.isfinite(members_ms[1][member]))
        np.testing.assert_allclose(clean_ms, members_ms[1][member], rtol=1e-6)


def test_training_rows_are_all_but_the_left_out(small):
    assert set(small.architectures[FOLD.training_rows(small)]) == {"A", "B"}
