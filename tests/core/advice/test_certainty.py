"""Chances by hand: a normal law of the logarithm, and how they are told."""

from __future__ import annotations

import math

import pytest

from profet_core.advice.certainty import (
    chance_at_most,
    chance_less,
    deviation_of_interval,
    deviation_of_ratio,
    format_certainty,
    interval_ends,
    surest_certainty,
)
from profet_core.latency import Basis


def test_the_deviation_is_the_log_half_width_over_1645():
    assert deviation_of_interval(math.log(1.2)) == pytest.approx(math.log(1.2) / 1.6448536)
    assert deviation_of_interval(math.log(2), level=0.6826894921) == pytest.approx(math.log(2))
    assert interval_ends(100, deviation_of_interval(math.log(1.25))) == pytest.approx((80, 125))


def test_chances_of_a_normal_law():
    assert chance_at_most(math.exp(0.1), 0.1) == pytest.approx(0.8413447)
    assert chance_at_most(1, 0.1) == 0.5
    assert chance_less(math.exp(-0.1), 0.1) == pytest.approx(0.8413447)
    assert chance_less(math.exp(0.2), 0.1) == pytest.approx(0.0227501, abs=1e-7)


def test_without_an_error_a_chance_is_all_or_nothing():
    assert [chance_at_most(ratio, 0) for ratio in (0.99, 1, 1.01)] == [0, 1, 1]
    assert [chance_less(ratio, 0) for ratio in (0.99, 1, 1.01)] == [1, 0.5, 0]


def test_an_interval_never_makes_a_thing_quite_sure():
    assert chance_at_most(1e6, 0.01) == chance_less(1e-6, 0.01) == 0.999
    assert chance_at_most(1e-6, 0.01) == pytest.approx(0.001)


def test_common_errors_cancel_out():
    assert deviation_of_ratio(0.3, 0.4, 0) == pytest.approx(0.5)
    assert deviation_of_ratio(0.3, 0.3, 1) == 0
    assert deviation_of_ratio(0.3, 0.1, 1) == pytest.approx(0.2)
    assert deviation_of_ratio(0.3, 0, 0.42) == pytest.approx(0.3)


def test_certainties_are_never_rounded_to_all_or_nothing():
    assert [format_certainty(value) for value in (0, 0.001, 0.0149, 0.5, 0.876, 0.994, 0.999, 1)] == [
        "0 %",
        "under 1 %",
        "1 %",
        "50 %",
        "87 %",
        "over 99 %",
        "over 99 %",
        "100 %",
    ]


def test_a_claim_about_an_estimate_is_never_as_sure_as_one_about_profiled_gpus():
    assert surest_certainty(Basis.MEASURED, Basis.GIVEN) == 0.999
    assert surest_certainty(Basis.MEASURED, Basis.DERIVED) == surest_certainty(Basis.CARRIED) == 0.99
