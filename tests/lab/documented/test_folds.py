"""Nothing of a left-out architecture reaches a fit."""

from dataclasses import replace

import numpy as np
import pytest

from profet_lab.documented.folds import Fold, fit_folds

pytestmark = pytest.mark.training

FOLD = Fold("slow", "fast", frozenset({"C"}))


def test_a_fold_learns_the_relation_of_its_training_rows(small):
    (fitted,) = fit_folds(small, [FOLD], seed=0, epochs=200)
    rows = small.architectures == "A"
    said = fitted.predict(small.operations, small.times_us["slow"][rows], small.latency_ms["slow"][rows])
    np.testing.assert_allclose(said["line"], small.latency_ms["fast"][rows], rtol=1e-6)
    assert np.mean(np.abs(said["dense"] / small.latency_ms["fast"][rows] - 1)) < 0.25


def test_poisoned_rows_of_the_left_out_architecture_change_nothing(small):
    left_out = small.architectures == "C"
    poisoned = replace(
        small,
        times_us={name: np.where(left_out[:, None], np.nan, times) for name, times in small.times_us.items()},
        latency_ms={name: np.where(left_out, np.nan, latency) for name, latency in small.latency_ms.items()},
    )
    (clean,) = fit_folds(small, [FOLD], seed=0, epochs=3)
    (blind,) = fit_folds(poisoned, [FOLD], seed=0, epochs=3)
    assert clean.features == blind.features
    said = [
        fitted.predict(small.operations, small.times_us["slow"], small.latency_ms["slow"]) for fitted in (clean, blind)
    ]
    for member in said[0]:
        assert np.all(np.isfinite(said[1][member]))
        np.testing.assert_allclose(said[0][member], said[1][member], rtol=1e-6)


def test_training_rows_are_all_but_the_left_out(small):
    assert set(small.architectures[FOLD.training_rows(small)]) == {"A", "B"}
