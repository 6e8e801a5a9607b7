"""Picks, limits and what is told of them by hand, on latencies, prices and intervals that are made up."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from profet_core.advice.advise import advise
from profet_core.advice.certainty import ERROR_CORRELATION, deviation_of_ratio
from profet_core.advice.comparison import compare
from profet_core.advice.comparison_words import comparison_sentences
from profet_core.advice.frontier import frontier
from profet_core.advice.request import Limits
from profet_core.advice.words import SPOT_CAVEAT, answer_sentences, dominated_line, pick_line, upgrade_line
from profet_core.catalog.offers import offers_in_market
from profet_core.errors import InputError
from profet_core.latency import Basis
from profet_core.memory.fit import FitAnswer, Verdict
from tests.made.step_times import HOUR_AT_100_MS, OFFERS, ROWS, offer, row


def names(plans) -> list[str]:
    return [plan.label for plan in plans]


def test_fastest_cheapest_and_the_trade_off():
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS)
    assert names(advice.plans) == ["slow", "middle", "fast", "beaten"]
    assert [plan.total_usd for plan in advice.plans] == pytest.approx([1, 1.5, 2.4, 3])
    assert (advice.fastest.plan.label, advice.cheapest.plan.label) == ("fast", "slow")
    assert names(advice.frontier) == ["fast", "middle", "slow"]
    assert advice.answer == advice.cheapest.plan and advice.within is None
    assert (advice.cheapest.rival.plan.label, advice.fastest.rival.plan.label) == ("middle", "middle")


def test_a_pick_is_as_sure_as_against_its_closest_rival():
    rows = (row("slow", 200, 0.3), *ROWS[1:])
    advice = advise(rows, OFFERS, HOUR_AT_100_MS)
    chances = [compare(advice.cheapest.plan, other).cheaper for other in advice.plans[1:]]
    assert advice.cheapest.rival.certainty == min(chances) == chances[0]
    spread = deviation_of_ratio(0.3, 0.1, ERROR_CORRELATION)
    assert advice.cheapest.rival.certainty == pytest.approx(NormalDist().cdf(math.log(1.5) / spread))
    assert pick_line(advice.cheapest) == "cheaper than middle with 93 % certainty"


def test_a_rival_that_is_too_close_comes_before_a_surer_claim():
    """a beats b at 85 %, which is enough between profiled GPUs, and c at 90 %, too little for an estimate."""
    offers = tuple(offer(name, 1) for name in "abc")
    rows = (row("a", 100), row("b", 112), row("c", 135, 0.21, Basis.TRANSFERRED))
    pick = advise(rows, offers, HOUR_AT_100_MS).cheapest
    assert (pick.plan.label, pick.rival.plan.label, pick.close_rival) == ("a", "c", pick.rival)
    assert pick.rival.certainty == pytest.approx(NormalDist().cdf(math.log(1.35) / math.hypot(0.1, 0.21)))


def test_what_one_more_dollar_buys():
    first, second = advise(ROWS, OFFERS, HOUR_AT_100_MS).upgrades
    assert (first.cheaper.label, first.faster.label) == ("slow", "middle")
    assert (first.saves_h, first.extra_usd, first.hours_per_usd) == pytest.approx((1, 0.5, 2))
    assert (second.saves_h, second.extra_usd, second.hours_per_usd) == pytest.approx((0.5, 0.9, 0.5 / 0.9))
    assert upgrade_line(first) == "middle instead of slow: 1 h 0 min sooner for $0.50 more, 2 h 0 min a dollar"


def test_who_dominates_the_dominated():
    (found,) = advise(ROWS, OFFERS, HOUR_AT_100_MS).dominated
    spread = deviation_of_ratio(0.1, 0.2, ERROR_CORRELATION)
    assert (found.plan.label, found.by.label) == ("beaten", "middle")
    assert found.certainty == pytest.approx(NormalDist().cdf(math.log(1.5) / spread))
    assert dominated_line(found) == "beaten by middle (98 % sure)"


def test_the_cheapest_in_time_with_the_certainty_asked_for():
    limits = Limits(deadline_h=2.1)
    certain = advise(ROWS, OFFERS, HOUR_AT_100_MS, limits)
    assert (certain.within.sure.label, certain.within.expected.label) == ("middle", "slow")
    assert certain.answer.label == "middle"
    assert certain.plans[0].in_time == pytest.approx(NormalDist().cdf(math.log(1.05) / 0.1))
    bold = advise(ROWS, OFFERS, HOUR_AT_100_MS, replace(limits, certainty=0.6))
    assert bold.answer.label == "slow"
    lines = answer_sentences(certain)
    assert lines[0] == (
        "Rent middle at $1.50 an hour (1 h 0 min, $1.50): the cheapest done within 2 h 6 min with at least 90 % "
        "certainty (over 99 % sure)."
    )
    assert lines[1] == (
        "slow at $0.50 an hour (2 h 0 min, $1.00) is expected to keep to it too, but that is only 68 % sure."
    )


def test_a_bolder_plan_without_an_interval_is_named_without_a_chance():
    rows = (row("slow", 200, deviation=None), row("fast", 50, deviation=None, basis=Basis.GIVEN))
    advice = advise(rows, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=2.1))
    assert (advice.within.sure.label, advice.within.expected.label) == ("fast", "slow")
    assert answer_sentences(advice)[1] == (
        "slow at $0.50 an hour (2 h 0 min, $1.00) is expected to keep to it too, but without an interval nobody can "
        "say how sure that is."
    )


def test_the_fastest_within_a_budget():
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(budget_usd=2.5))
    assert (advice.within.sure.label, advice.within.expected.label) == ("middle", "fast")
    assert "the fastest done for at most $2.50 with at least 90 %" in answer_sentences(advice)[0]


def test_both_limits_are_kept_to_together():
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=1.5, budget_usd=2))
    assert (advice.within.sure, advice.within.expected) == (advice.plans[1],) * 2
    assert advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(1.5, 1.5)).within.sure is None


def test_nothing_is_sure_enough():
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=0.52))
    assert (advice.within.sure, advice.answer.label) == (None, "fast")
    assert answer_sentences(advice)[:2] == (
        "Rent fast at $4.80 an hour (30 min 0 s, $2.40): the cheapest that is expected to be done within 31 min 12 s "
        "(65 % sure).",
        "Nothing keeps to that with 90 % certainty.",
    )


def test_a_limit_that_nobody_keeps_to_says_by_how_much():
    late = advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=0.25))
    assert (late.within.expected, late.within.nearest.label) == (None, "fast")
    assert (late.within.over_s, late.within.over_usd) == (pytest.approx(900), 0)
    assert "fast at $4.80 an hour (30 min 0 s, $2.40) comes nearest, 15 min 0 s too late." in answer_sentences(late)[0]
    dear = advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(budget_usd=0.75))
    assert dear.within.over_usd == pytest.approx(0.25) and dear.within.nearest.label == "slow"
    both = advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=0.9, budget_usd=1.2))
    assert both.within.nearest.label == "middle"
    assert answer_sentences(both)[0].endswith("6 min 0 s too late and $0.30 over the budget.")


def test_a_close_call_is_called_one():
    rows = (row("a", 100), row("b", 103))
    advice = advise(rows, (offer("a", 1), offer("b", 1)), HOUR_AT_100_MS)
    assert advice.cheapest.close_rival and advice.fastest.close_rival
    lines = answer_sentences(advice)
    assert lines[0] == (
        "Rent a at $1.00 an hour (1 h 0 min, $1.00) or b at $1.00 an hour (1 h 1 min, $1.03): too close to call which "
        "is cheaper (60 % for a)."
    )
    assert lines[1] == "Which of the two is faster is too close to call as well."
    assert pick_line(advice.fastest) == "too close to call against b (60 %)"
    found = comparison_sentences(compare(*reversed(advice.plans)))
    assert found[0] == "Too close to call which is cheaper: a with 60 % certainty (1.03 times by the estimate)."


def test_retired_instances_are_left_out_unless_asked_for():
    offers = (replace(OFFERS[0], status="retired"), *OFFERS[1:])
    advice = advise(ROWS, offers, HOUR_AT_100_MS)
    assert advice.cheapest.plan.label == "middle"
    assert [(one.instance, one.reason) for one in advice.excluded] == [("slow", "retired, no longer rented out")]
    assert advise(ROWS, offers, HOUR_AT_100_MS, include_retired=True).cheapest.plan.label == "slow"


def test_what_does_not_fit_is_left_out_and_a_doubt_is_noted():
    fits = {
        "slow": FitAnswer(Verdict.DOES_NOT_FIT, 0.01, None, "needs 20 GiB"),
        "middle": FitAnswer(Verdict.CANT_TELL, None, None, "no memory in the profile"),
        "fast": FitAnswer(Verdict.FITS, 0.99, 512, "needs 4 GiB"),
    }
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS, fits=fits)
    assert [(one.instance, one.reason) for one in advice.excluded] == [("slow", "does not fit in memory: needs 20 GiB")]
    assert advice.answer.note == "can't tell whether it fits in memory: no memory in the profile"
    assert f"Keep in mind: {advice.answer.note}." in answer_sentences(advice)


def test_a_node_of_several_gpus_costs_its_whole_price_and_says_so():
    offers = (*OFFERS[:3], replace(OFFERS[3], usd_per_hour=16.0, gpu_count=8))
    plan = advise(ROWS, offers, HOUR_AT_100_MS).plans[-1]
    assert plan.whole_node and plan.total_usd == pytest.approx(24)
    assert plan.note == "price of the whole node of 8 GPUs, speed of one"


def test_one_instance_in_two_markets_is_two_plans():
    offers = (*OFFERS, replace(OFFERS[2], market="spot", usd_per_hour=1.2))
    advice = advise(ROWS, offers, HOUR_AT_100_MS)
    assert names(advice.frontier) == ["fast spot"]
    assert advice.fastest.plan.label == "fast spot" and advice.fastest.rival.plan.label == "middle"
    assert SPOT_CAVEAT in answer_sentences(advice)
    on_demand = next(one for one in advice.dominated if one.plan.label == "fast")
    assert (on_demand.by.label, on_demand.certainty) == ("fast spot", 1)


def test_rows_without_an_interval_are_advised_on_without_certainty():
    rows = [replace(row, interval=None) for row in ROWS]
    advice = advise(rows, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=1.2))
    assert (advice.cheapest.rival, advice.within.sure, advice.within.surest) == (None, None, None)
    assert advice.answer.label == "middle"
    assert answer_sentences(advice)[0].endswith("done within 1 h 12 min (no interval is known).")
    assert answer_sentences(advise(rows, OFFERS, HOUR_AT_100_MS))[:2] == (
        "Rent slow at $0.50 an hour (2 h 0 min, $1.00): the cheapest by the estimate; without intervals nobody can "
        "say how sure that is.",
        "The fastest is fast at $4.80 an hour (30 min 0 s, $2.40) by the estimate.",
    )


def test_of_one_gpu_the_cheapest_offer_is_the_cheapest_without_doubt():
    both = (offer("node", 0.5), offer("node", 0.2, market="spot"))
    lines = answer_sentences(advise([row("node", 100, None)], both, HOUR_AT_100_MS))
    assert lines[0] == "Rent node spot at $0.20 an hour (1 h 0 min, $0.20): the cheapest."


def test_an_estimate_is_never_presented_like_a_measurement():
    rows = (replace(ROWS[0], basis=Basis.TRANSFERRED), *ROWS[1:])
    lines = answer_sentences(advise(rows, OFFERS, HOUR_AT_100_MS))
    assert "A rough estimate, as nobody profiled the GPU: the time on slow." in lines
    derived = tuple(replace(row, basis=Basis.DERIVED) for row in ROWS)
    lines = answer_sentences(advise(derived, OFFERS, HOUR_AT_100_MS))
    assert lines[-1] == (
        "Derived from others' biased timings, not from a profile of the GPU: the time on slow and on fast."
    )
    assert len(answer_sentences(advise(ROWS, OFFERS, HOUR_AT_100_MS))) == 2


def test_a_near_thing_is_told_what_else_takes_time():
    near = answer_sentences(advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=2.1, certainty=0.6)))
    assert any("6 % to 9 % longer than their steps" in line for line in near)
    far = answer_sentences(advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=3)))
    assert not any("near thing" in line for line in far)


def test_nothing_to_choose_from_is_one_line():
    rows = (row("slow", None), row("middle", 100), row("other", 100))
    offers = (OFFERS[0], replace(OFFERS[1], status="retired"))
    with pytest.raises(InputError) as error:
        advise(rows, offers, HOUR_AT_100_MS)
    assert str(error.value) == (
        "There is nothing to choose from (slow: its latency is not given; middle: retired, no longer rented out; "
        "other: no price in this market)."
    )


def test_the_frontier_is_what_none_dominates():
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS)
    assert names(frontier(reversed(advice.plans))) == ["fast", "middle", "slow"]
    assert frontier([]) == []


def test_a_guessed_price_is_said_to_be_one(catalog):
    spot = offers_in_market(catalog, "spot", spot_discount=0.6)
    line = "What spot costs is your guess, not a price that anybody offers."
    assert line in answer_sentences(advise([row(one.name, 100) for one in spot], spot, HOUR_AT_100_MS))
    assert line not in answer_sentences(advise(ROWS, OFFERS, HOUR_AT_100_MS))
