"""Members weigh what errs least, every row counting once."""

from __future__ import annotations

import numpy as np
import pytest

from profet_lab.classes.folds import WEIGHTS, ensemble_ms, summed_errors


def choosing(weights: tuple[float, float, float], error: float = 1.0) -> np.ndarray:
    """Errors that are `error` with any weights but these."""
    return np.where([each == weights for each in WEIGHTS], 0.0, error)


def test_members_are_combined_by_their_weighted_geometric_mean():
    members_ms = np.array([[1.0, 16.0, 1.0], [10.0, 10.0, 10.0], [1.0, 1.0, 32.0]])
    np.testing.assert_allclose(ensemble_ms(members_ms, (0.5, 0.25, 0.25)), [2, 10, 32**0.25])
    np.testing.assert_allclose(ensemble_ms(members_ms, (0.0, 0.0, 1.0)), [1, 10, 32])


def test_errors_are_summed_over_the_rows_by_hand():
    # Two rows; the networks agree on 100 ms and the trees on 1: with weight w they say 100 ** (1 - w).
    errors = summed_errors(np.array([[100.0, 100.0, 1.0], [100.0, 100.0, 1.0]]), np.array([100.0, 80.0]))
    assert errors.shape == (len(WEIGHTS),)
    assert errors[WEIGHTS.index((0.5, 0.5, 0.0))] == pytest.approx(0 + 0.25)
    assert errors[WEIGHTS.index((0.3, 0.3, 0.4))] == pytest.approx((1 - 100**-0.4) + (1 - 100**0.6 / 80))
