"""One plan against another by hand: chances, break-even, and their sentences."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from profet_core.advice.plans import Limits, Plan
from profet_core.advice.recommend import ERROR_CORRELATION, compare
from profet_core.advice.words import comparison_sentences
from profet_core.latency import Basis, sd_of_ratio
from tests.made.step_times import Z90, offer, planned, row

GIVEN = row("b", 100, None, Basis.GIVEN)


def test_two_measured_gpus_share_part_of_their_error():
    a, b = planned(row("a", 80, 0.1), offer("a", 1.0)), planned(row("b", 100, 0.2), offer("b", 0.9))
    found = compare(a, b)
    spread = math.sqrt(0.1**2 + 0.2**2 - 2 * ERROR_CORRELATION * 0.1 * 0.2)
    assert found.faster == pytest.approx(NormalDist().cdf(math.log(100 / 80) / spread))
    assert found.cheaper == pytest.approx(NormalDist().cdf(math.log(90 / 80) / spread))
    assert found.dominates == found.cheaper, "the worse of both decides"
    back = compare(b, a)
    assert (back.faster, back.cheaper) == pytest.approx((1 - found.faster, 1 - found.cheaper))
    # Those of an estimate are taken for independent; a given latency has none.
    for other, spread in ((row("b", 100, 0.2, Basis.TRANSFERRED), math.hypot(0.1, 0.2)), (GIVEN, 0.1)):
        found = compare(a, planned(other, offer("b", 1.0)))
        assert found.faster == pytest.approx(NormalDist().cdf(math.log(1.25) / spread))


def derived_pair(ratio: float, deviation: float = 0.15) -> tuple[Plan, Plan]:
    """g5 at `ratio` times the latency of g4dn, from which it was derived, at their prices of 2026."""
    g5 = row("g5", 100 * ratio, 0.2, Basis.DERIVED, ("g4dn", deviation))
    return planned(g5, offer("g5", 1.006)), planned(row("g4dn", 100, 0.1), offer("g4dn", 0.526))


def test_beside_what_it_was_derived_from_the_ratio_s_own_interval_counts():
    g5, g4dn = derived_pair(0.45)
    found = compare(g5, g4dn)
    assert found.cheaper == pytest.approx(NormalDist().cdf(math.log(0.526 / 1.006 / 0.45) / 0.15))
    assert compare(g4dn, g5).cheaper == pytest.approx(1 - found.cheaper)
    assert (found.latency_ratio_low, found.latency_ratio_high) == pytest.approx(
        (0.45 * math.exp(-Z90 * 0.15), 0.45 * math.exp(Z90 * 0.15))
    )
    spot = planned(row("g4dn", 100, 0.1), offer("g4dn", 0.45, market="spot"))
    assert compare(g5, spot).cheaper == pytest.approx(NormalDist().cdf(math.log(0.45 / 1.006 / 0.45) / 0.15))
    other = planned(row("p3", 40, 0.1), offer("p3", 3.06))
    assert compare(g5, other).faster == pytest.approx(NormalDist().cdf(math.log(40 / 45) / math.hypot(0.2, 0.1)))


@pytest.mark.parametrize(
    ("of_break_even", "says"),
    [
        (0.999 * math.exp(-Z90 * 0.15), "g5 is cheaper than g4dn with 95% confidence"),
        (1.001 * math.exp(-Z90 * 0.15), "Neither is clearly cheaper: g5 with 94% confidence"),
        (0.999 * math.exp(Z90 * 0.15), "Neither is clearly cheaper: g4dn with 94% confidence"),
        (1.001 * math.exp(Z90 * 0.15), "g4dn is cheaper than g5 with 95% confidence"),
    ],
)
def test_an_estimate_is_cheaper_only_where_its_interval_excludes_break_even(of_break_even, says):
    g5, g4dn = derived_pair(of_break_even * 0.526 / 1.006)
    found = compare(g5, g4dn)
    assert comparison_sentences(found)[0].startswith(says)
    low, high = found.latency_ratio_low, found.latency_ratio_high
    assert says.startswith("Neither") == (low <= found.break_even_ratio <= high)


def test_an_estimate_is_never_as_sure_as_a_prediction():
    limits = Limits(deadline_h=1000)
    a, b = (planned(row("a", 10, 0.1, basis), offer("a", 1.0), limits) for basis in (Basis.MEASURED, Basis.TRANSFERRED))
    assert (a.in_time, b.in_time) == (0.999, 0.99)
    slow = planned(row("slow", 1000, 0.1), offer("slow", 1.0))
    assert (compare(a, slow).faster, compare(b, slow).faster) == (0.999, 0.99)


def test_one_gpu_in_two_instances_has_one_error():
    same = {"gpu": "H100", "gpu_count": 1}
    node, single = offer("node", 8.0, **{**same, "gpu_count": 8}), offer("single", 2.0, **same)
    found = compare(planned(row("single", 100), single), planned(row("node", 100), node))
    assert (found.faster, found.cheaper, found.dominates) == (0.5, 1, 1)


def test_break_even_is_where_both_cost_the_same():
    a, b = planned(row("g5", 55), offer("g5", 1.006)), planned(row("g4dn", 100), offer("g4dn", 0.526))
    found = compare(a, b)
    assert found.break_even_ratio == pytest.approx(0.523, abs=5e-4)
    assert found.latency_ratio == pytest.approx(0.55)
    assert found.break_even_usd_per_hour == pytest.approx(0.526 / 0.55)
    moved = compare(replace(a, offer=replace(a.offer, usd_per_hour=0.526 / 0.55), total_usd=b.total_usd), b)
    assert moved.cheaper == pytest.approx(0.5)
    assert found.break_even_low * found.latency_ratio_high == pytest.approx(0.526)
    half = Z90 * sd_of_ratio(0.1, 0.1, ERROR_CORRELATION)
    assert found.latency_ratio_high == pytest.approx(0.55 * math.exp(half))


def test_without_an_interval_nobody_can_say_how_sure():
    a, b = planned(row("a", 80, None), offer("a", 1.0)), planned(row("b", 100), offer("b", 1.0))
    found = compare(a, b)
    assert (found.latency_ratio_low, found.faster, found.cheaper, found.dominates) == (None,) * 4
    assert found.latency_ratio == 0.8
    spot = replace(a, offer=replace(a.offer, market="spot", usd_per_hour=0.4), total_usd=0.4 * a.total_usd)
    assert compare(spot, a).cheaper == 1, "one GPU's error is the same on every offer of it"
