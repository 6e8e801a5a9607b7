"""Intervals cover what they promise where the error has the form that they assume."""

from __future__ import annotations

import math

import numpy as np
import pytest

from profet_core.latency import quantile

PAIRS = {("a", "b"): 0.5, ("b", "a"): 1.5}
ROWS = 5_000


def made_up(seed: int):
    """Held-out predictions whose log error is normal, of deviation size x (s + 0.01) ** 0.5 x (d + 0.02) ** 0.8."""
    random = np.random.default_rng(seed)
    members_ms, ensemble_ms, true_ms, distance = {}, {}, {}, {}
    for pair, size in PAIRS.items():
        ensemble_ms[pair] = np.exp(random.uniform(1, 6, ROWS))
        spread = random.uniform(0.0, 0.2, ROWS)
        members_ms[pair] = ensemble_ms[pair][:, None] * np.exp(np.outer(spread, [-1, 1]))
        distance[pair] = random.uniform(0.0, 0.6, ROWS)
        deviation = size * (spread + 0.01) ** 0.5 * (distance[pair] + 0.02) ** 0.8
        true_ms[pair] = ensemble_ms[pair] * np.exp(deviation * random.normal(size=ROWS))
    return members_ms, ensemble_ms, true_ms, distance


def test_fresh_data_of_the_same_form_are_covered_as_promised():
    from profet_lab.classes.folds import fit_scale

    scale = fit_scale(*made_up(0))
    at_half = fit_scale(*made_up(0), level=0.5)
    assert (scale.level, at_half.level) == (0.9, 0.5)
    assert scale.spread == pytest.approx(0.5, abs=0.1)
    assert scale.distance == pytest.approx(0.8, abs=0.1)
    members_ms, ensemble_ms, true_ms, distance = made_up(1)
    for anchor, target in PAIRS:
        pair = (anchor, target)
        half = quantile() * scale.log_sd(anchor, [target], members_ms[pair][None], distance[pair], np.zeros(ROWS))[0]
        inside = np.abs(np.log(true_ms[pair] / ensemble_ms[pair])) <= half
        assert 0.88 < inside.mean() < 0.92
        half = (
            quantile(0.5) * at_half.log_sd(anchor, [target], members_ms[pair][None], distance[pair], np.zeros(ROWS))[0]
        )
        assert np.mean(np.abs(np.log(true_ms[pair] / ensemble_ms[pair])) <= half) == pytest.approx(0.5, abs=0.03)
        for far in (False, True):  # near and far alike
            assert 0.86 < inside[(distance[pair] > 0.3) == far].mean() < 0.94


def test_the_error_of_a_distance_band_is_its_mean_and_empty_bands_take_their_neighbors():
    from profet_lab.classes.folds import fit_scale

    ensemble_ms = {("a", "b"): np.array([110.0, 70.0, 120.0, 120.0])}
    members_ms = {("a", "b"): np.column_stack([ensemble_ms["a", "b"]] * 2)}
    scale = fit_scale(
        members_ms, ensemble_ms, {("a", "b"): np.full(4, 100.0)}, {("a", "b"): np.array([0.05, 0.1, 0.3, 0.4])}
    )
    assert scale.error_by_distance == pytest.approx([20, 20, 20, 20])
    far = fit_scale(
        members_ms, ensemble_ms, {("a", "b"): np.full(4, 100.0)}, {("a", "b"): np.array([0.05, 0.3, 0.6, 0.6])}
    )
    assert far.error_by_distance == pytest.approx([10, 10, 30, 20])


TABLE = np.array([[0.0, 0.2, 0.5], [0.2, 0.0, 0.1], [0.9, 0.3, 0.0], [0.0, 0.4, 0.6]])
ARCHITECTURES = np.array(["A", "B", "C", "A"])


def test_the_nearest_other_is_neither_its_own_nor_a_named_architecture():
    from profet_lab.classes.folds import nearest_other

    for without, expected in (
        ((), [0.2, 0.1, 0.3, 0.4]),
        (("B",), [0.5, 0.1, 0.9, 0.6]),
        (("C",), [0.2, 0.2, 0.3, 0.4]),
    ):
        assert nearest_other(TABLE, ARCHITECTURES, without).tolist() == expected
    # With nothing left the distance is infinite; a column that is barred may hold anything.
    assert nearest_other(TABLE, ARCHITECTURES, ("B", "C"))[0] == math.inf
    spoilt = np.where(np.arange(3) == 2, np.nan, TABLE)
    assert nearest_other(spoilt, ARCHITECTURES, ("C",)).tolist() == [0.2, 0.2, 0.3, 0.4]
