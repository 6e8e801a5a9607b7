"""How wide an interval is, and how far a profile lies from the training data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core.latency import NORMAL_90
from profet_core.networks.intervals import (
    BAND_WORDS,
    DISTANCE_BANDS,
    MOST_LOG_HALF_WIDTH,
    IntervalScale,
    class_shares,
    nearest_distance,
    scale_features,
    words_of,
)

SCALE = IntervalScale(
    level=0.9,
    spread=0.5,
    distance=1.0,
    offset={"here": {"there": math.log(2)}},
    quantile={"here": {"there": 3.0}},
    error_by_distance=(4.0, 7.0, 11.0, 15.0),
)


def half_width(spread: float, distance: float, doubt: float = 0.0) -> float:
    """Of two members whose logarithms have this standard deviation."""
    said = np.array([[10.0 * math.exp(-spread), 10.0 * math.exp(spread)]])
    return float(SCALE.log_half_width("here", "there", said, np.array([distance]), np.array([doubt]))[0])


def test_the_half_width_by_hand():
    # 3 x 2 x (0.15 + 0.01) ** 0.5 x (0.08 + 0.02)
    assert half_width(0.15, 0.08) == pytest.approx(3 * 2 * 0.4 * 0.1)
    assert half_width(0.15, 0.08, doubt=0.1) == pytest.approx(math.hypot(0.24, 0.1645))
    assert pytest.approx(1.645) == NORMAL_90


def test_the_features_are_logarithms_of_spread_and_distance():
    said = np.array([[20.0, 20.0], [10.0, 10.0 * math.exp(0.2)]])
    expected = np.log([[0.01, 0.02], [0.11, 0.12]])
    np.testing.assert_allclose(scale_features(said, np.array([0.0, 0.1])), expected, rtol=1e-9)


def test_equal_members_and_a_twin_in_the_data_still_have_a_width():
    assert half_width(0.0, 0.0) == pytest.approx(3 * 2 * 0.1 * 0.02)


@pytest.mark.parametrize(("distance", "quantile"), [(5.0, 1.0), (1_000.0, 1.0), (1_000.0, 0.0)])
def test_a_scale_that_runs_away_beyond_few_networks_stays_a_number(distance, quantile):
    runaway = replace(SCALE, distance=distance, quantile={"here": {"there": quantile}})
    half = runaway.log_half_width("here", "there", np.array([[10.0, 11.0]]), np.array([20.0]), np.zeros(1))
    assert half.tolist() == [MOST_LOG_HALF_WIDTH if quantile else 0.0]
    assert np.isfinite(10.0 * np.exp(half)).all()


AMOUNT = st.floats(0, 3)


@given(low=st.tuples(AMOUNT, AMOUNT, AMOUNT), more=st.tuples(AMOUNT, AMOUNT, AMOUNT))
def test_the_interval_never_narrows_with_spread_distance_or_doubt(low, more):
    wider = [one + other for one, other in zip(low, more, strict=True)]
    assert half_width(*wider) >= half_width(*low) * (1 - 1e-9)


def test_each_profile_has_its_own_width():
    said = np.array([[10.0, 11.0], [500.0, 900.0]])
    together = SCALE.log_half_width("here", "there", said, np.array([0.1, 0.4]), np.array([0.0, 0.2]))
    alone = [
        SCALE.log_half_width("here", "there", said[[row]], np.array([distance]), np.array([doubt]))[0]
        for row, (distance, doubt) in enumerate([(0.1, 0.0), (0.4, 0.2)])
    ]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


# --- distance -------------------------------------------------------------------------------------------------------


def test_class_shares_by_hand():
    # Device classes alone, of which there are two; the host's third does not count.
    expected = [math.sqrt(0.25), math.sqrt(0.75), 0.05 * math.log(40)]
    np.testing.assert_allclose(class_shares(np.array([[10.0, 30.0, 99.0]]), 2), [expected])


def test_a_profile_without_device_time_has_finite_shares():
    assert np.isfinite(class_shares(np.zeros((1, 3)), 2)).all()


@pytest.mark.parametrize("block", [1, 3, 512])
def test_the_nearest_distance_is_that_of_all_pairs(block):
    random = np.random.default_rng(0)
    shares, reference = random.uniform(size=(10, 4)), random.uniform(size=(7, 4))
    brute = np.linalg.norm(shares[:, None] - reference[None], axis=2).min(axis=1)
    np.testing.assert_allclose(nearest_distance(shares, reference, block), brute, rtol=1e-9)


def test_a_training_profile_is_at_no_distance():
    reference = np.random.default_rng(1).uniform(size=(7, 4))
    np.testing.assert_allclose(nearest_distance(reference, reference), 0, atol=1e-6)


def test_no_profiles_have_no_distances():
    assert nearest_distance(np.zeros((0, 4)), np.ones((2, 4))).shape == (0,)


@pytest.mark.parametrize("band", range(len(DISTANCE_BANDS)))
def test_a_distance_at_a_bands_edge_belongs_to_the_nearer_band(band):
    edge = DISTANCE_BANDS[band]
    errors = SCALE.error_by_distance
    assert words_of(edge, errors) == (BAND_WORDS[band], errors[band])
    assert words_of(np.nextafter(edge, 9), errors) == (BAND_WORDS[band + 1], errors[band + 1])


def test_bands_reach_from_nothing_to_any_distance():
    assert words_of(0.0, SCALE.error_by_distance) == ("like", 4.0)
    assert words_of(1e9, SCALE.error_by_distance) == ("very unlike", 15.0)
