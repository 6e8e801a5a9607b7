"""The documented regression finds what made the numbers, and nothing that a step could get faster by."""

from __future__ import annotations

import numpy as np
import pytest

from profet_lab.estimate.fit import forward_selection

NETWORKS = np.repeat(np.array(list("abcdefghij")), 20)


def made(weights: list[float]) -> tuple[np.ndarray, np.ndarray]:
    features = np.random.default_rng(1).normal(size=(len(NETWORKS), 6))
    return features, 3.0 + features @ np.array([*weights, *[0.0] * (6 - len(weights))])


def test_what_made_the_values_is_selected_the_weightiest_first():
    features, values = made([0.5, 0.0, 2.0])
    found = forward_selection(features, values, [True] * 6, NETWORKS)
    assert found.columns[:2] == (2, 0)
    assert found.weights[:2] == pytest.approx([2.0, 0.5], abs=0.02)
    assert found.intercept == pytest.approx(3.0, abs=0.02)
    assert list(found.errors) == sorted(found.errors, reverse=True) and found.errors[2] < 0.02


def test_a_feature_that_rises_gets_no_weight_below_zero():
    features, values = made([-1.0, 0.3])
    rising = forward_selection(features, values, [True] * 6, NETWORKS)
    assert 0 not in rising.columns
    assert 0 in forward_selection(features, values, [False, *[True] * 5], NETWORKS).columns
