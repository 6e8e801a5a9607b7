"""The answer in one sentence, by hand, on latencies and prices that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.advice.advise import advise
from profet_core.advice.headline import headline
from profet_core.advice.request import Limits, Workload
from profet_core.advice.words import answer_sentences
from tests.made.step_times import HOUR_AT_100_MS, OFFERS, ROWS, offer, row


def said(rows=ROWS, offers=OFFERS, limits=None) -> str:
    return headline(advise(rows, offers, HOUR_AT_100_MS, limits))


def test_the_cheapest_with_its_range_and_the_fastest_beside_it():
    assert said() == (
        "Rent slow (GPU of slow): about 2 h 0 min, $1.00 ($0.85–1.18); "
        "fast (GPU of fast) is 4.0 times as fast for $2.40."
    )


def test_what_may_be_as_cheap_is_named_with_it():
    rows = (row("slow", 200, 0.3), row("middle", 80), *ROWS[2:])
    assert said(rows).endswith(". Too close to call which is cheaper: middle (GPU of middle; 48 min 0 s, $1.20).")


def test_within_limits_it_says_how_surely_they_are_kept():
    assert said(limits=Limits(deadline_h=1.5)) == (
        "Rent middle (GPU of middle): about 1 h 0 min, $1.50 ($1.27–1.77), done within 1 h 30 min (over 99 % sure); "
        "fast (GPU of fast) is 2.0 times as fast for $2.40."
    )
    # The faster one is over the budget.
    both = Limits(deadline_h=1.5, budget_usd=2)
    assert said(limits=both).endswith("done within 1 h 30 min for at most $2.00 (over 99 % sure).")
    near = Limits(deadline_h=1.02, budget_usd=2)
    assert "expected to be done within 1 h 1 min for at most $2.00 (57 % sure)" in said(limits=near)


def test_out_of_reach_names_what_comes_nearest():
    assert said(limits=Limits(deadline_h=0.1)) == (
        "Nothing is expected to be done within 6 min 0 s: fast at $4.80 an hour (30 min 0 s, $2.40) comes nearest, "
        "24 min 0 s too late."
    )


def test_one_that_is_alone_stands_alone():
    rows, offers = (row("a", 100, None),), (offer("a", 2),)
    assert said(rows=rows, offers=offers) == "Rent a (GPU of a): about 1 h 0 min, $2.00."


def test_hardware_of_one_s_own_is_not_rented():
    rows, offers = ROWS[:2], (offer("slow", 0.5, market="own"), OFFERS[1])
    advice = advise(rows, offers, HOUR_AT_100_MS)
    assert headline(advice).startswith("Use slow own (GPU of slow): about 2 h 0 min, $1.00")
    assert answer_sentences(advice)[0].startswith("Use slow own at $0.50 an hour")
    within = advise(rows, offers, HOUR_AT_100_MS, Limits(deadline_h=9))
    assert answer_sentences(within)[0].startswith("Use slow own at $0.50 an hour")


def test_loading_lengthens_the_training_and_its_range():
    without, with_loading = (
        advise(ROWS, OFFERS, replace(HOUR_AT_100_MS, with_loading=counted)).answer for counted in (False, True)
    )
    assert with_loading.total_s == pytest.approx(1.075 * without.total_s)
    assert with_loading.total_usd == pytest.approx(1.075 * without.total_usd)
    assert with_loading.interval.low_s == pytest.approx(1.06 * without.interval.low_s)
    assert with_loading.interval.high_usd == pytest.approx(1.09 * without.interval.high_usd)
    assert with_loading.latency_ms == without.latency_ms
    assert Workload(1, 1, with_loading=True).steps == 1
