"""Nothing of a held-out architecture reaches a fit."""

import numpy as np

from tests.lab.conftest import SAME_TRAINING, without_numbers


def fitted(*measured, epochs: int):
    """C held out of each."""
    from profet_lab.documented.ensemble import DocumentedFold, fit_folds

    fold = DocumentedFold("slow", "fast", frozenset({"C"}))
    assert set(measured[0].architectures[fold.training_rows(measured[0])]) == {"A", "B"}
    return [fit_folds(each, [fold], seed=0, epochs=epochs)[0] for each in measured]


def test_a_fold_learns_the_relation_of_its_training_rows(small):
    (found,) = fitted(small, epochs=200)
    rows = small.architectures == "A"
    members_ms = found.predict(small.operations, small.times_us["slow"][rows], small.latency_ms["slow"][rows])
    np.testing.assert_allclose(members_ms["line"], small.latency_ms["fast"][rows], rtol=1e-6)
    assert np.mean(np.abs(members_ms["dense"] / small.latency_ms["fast"][rows] - 1)) < 0.25


def test_poisoned_rows_of_the_held_out_architecture_change_nothing(uncompiled, small):
    poisoned = without_numbers(small, small.architectures == "C")
    clean, blind = fitted(small, poisoned, epochs=3)
    assert clean.features == blind.features
    members_ms = [
        each.predict(small.operations, small.times_us["slow"], small.latency_ms["slow"]) for each in (clean, blind)
    ]
    for member, clean_ms in members_ms[0].items():
        assert np.all(np.isfinite(members_ms[1][member]))
        np.testing.assert_allclose(clean_ms, members_ms[1][member], **SAME_TRAINING)
