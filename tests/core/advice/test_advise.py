"""Picks, limits and what is said of them by hand, on latencies, prices and intervals that are made up."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from profet_core.advice.advise import advise
from profet_core.advice.certainty import ERROR_CORRELATION, compare
from profet_core.advice.plans import Limits
from profet_core.advice.recommend import frontier
from profet_core.advice.words import (
    SPOT_CAVEAT,
    answer_sentences,
    comparison_sentences,
    dominated_line,
    pick_line,
    upgrade_line,
)
from profet_core.catalog.collection import offers_in_market
from profet_core.errors import InputError
from profet_core.latency import Basis, sd_of_ratio
from profet_core.memory.fit import FitAnswer, Verdict
from tests.made.step_times import HOUR_AT_100_MS, OFFERS, ROWS, offer, row


def advised(limits=None, rows=ROWS, offers=OFFERS, **more):
    return advise(rows, offers, HOUR_AT_100_MS, limits, **more)


def names(plans) -> list[str]:
    return [plan.label for plan in plans]


def test_fastest_cheapest_and_the_trade_off():
    advice = advised()
    assert names(advice.plans) == ["slow", "middle", "fast", "beaten"]
    assert [plan.total_usd for plan in advice.plans] == pytest.approx([1, 1.5, 2.4, 3])
    assert (advice.fastest.plan.label, advice.cheapest.plan.label) == ("fast", "slow")
    assert names(advice.frontier) == names(frontier(reversed(advice.plans))) == ["fast", "middle", "slow"]
    assert advice.answer == advice.cheapest.plan and advice.within is None
    assert (advice.cheapest.rival.plan.label, advice.fastest.rival.plan.label) == ("middle", "middle")
    assert len(answer_sentences(advice)) == 2, "no doubt, no caveat"


def test_a_pick_is_as_sure_as_against_its_closest_rival():
    advice = advised(rows=(row("slow", 200, 0.3), *ROWS[1:]))
    chances = [compare(advice.cheapest.plan, other).cheaper for other in advice.plans[1:]]
    assert advice.cheapest.rival.certainty == min(chances) == chances[0]
    spread = sd_of_ratio(0.3, 0.1, ERROR_CORRELATION)
    assert advice.cheapest.rival.certainty == pytest.approx(NormalDist().cdf(math.log(1.5) / spread))
    assert pick_line(advice.cheapest) == "cheaper than middle with 93% confidence"


def test_a_rival_that_is_too_close_comes_before_a_surer_claim():
    """a beats b at 85 %, which is enough between profiled GPUs, and c at 90 %, too little for an estimate."""
    rows = (row("a", 100), row("b", 112), row("c", 135, 0.21, Basis.TRANSFERRED))
    pick = advised(rows=rows, offers=[offer(name, 1) for name in "abc"]).cheapest
    assert (pick.plan.label, pick.rival.plan.label, pick.close_rival) == ("a", "c", pick.rival)
    assert pick.rival.certainty == pytest.approx(NormalDist().cdf(math.log(1.35) / math.hypot(0.1, 0.21)))


def test_what_one_more_dollar_buys_and_who_dominates_the_dominated():
    advice = advised()
    first, second = advice.upgrades
    assert (first.cheaper.label, first.faster.label) == ("slow", "middle")
    assert (first.saves_h, first.extra_usd, first.hours_per_usd) == pytest.approx((1, 0.5, 2))
    assert (second.saves_h, second.extra_usd, second.hours_per_usd) == pytest.approx((0.5, 0.9, 0.5 / 0.9))
    assert "1 h 0 min sooner for $0.50 more, 2 h 0 min per dollar" in upgrade_line(first)
    (found,) = advice.dominated
    spread = sd_of_ratio(0.1, 0.2, ERROR_CORRELATION)
    assert (found.plan.label, found.by.label) == ("beaten", "middle")
    assert found.certainty == pytest.approx(NormalDist().cdf(math.log(1.5) / spread))
    assert "middle" in dominated_line(found) and "98%" in dominated_line(found)


def test_the_cheapest_in_time_with_the_certainty_asked_for():
    limits = Limits(deadline_h=2.1)
    certain = advised(limits)
    assert (certain.within.sure.label, certain.within.expected.label) == ("middle", "slow")
    assert certain.answer.label == "middle"
    assert certain.plans[0].in_time == pytest.approx(NormalDist().cdf(math.log(1.05) / 0.1))
    assert "over 99% likely" in answer_sentences(certain)[0] and "only 68% likely" in answer_sentences(certain)[1]
    bold = advised(replace(limits, certainty=0.6))
    assert bold.answer.label == "slow"
    # A near thing has a warning of other time; with time to spare there is none.
    assert any("6% to 9% longer" in line for line in answer_sentences(bold))
    assert not any("% longer" in line for line in answer_sentences(advised(Limits(deadline_h=3))))


def test_the_fastest_within_a_budget_and_both_limits_together():
    advice = advised(Limits(budget_usd=2.5))
    assert (advice.within.sure.label, advice.within.expected.label) == ("middle", "fast")
    assert "the fastest done for at most $2.50 with at least 90%" in answer_sentences(advice)[0]
    advice = advised(Limits(deadline_h=1.5, budget_usd=2))
    assert (advice.within.sure, advice.within.expected) == (advice.plans[1],) * 2
    assert advised(Limits(1.5, 1.5)).within.sure is None


def test_nothing_is_sure_enough():
    advice = advised(Limits(deadline_h=0.52))
    assert (advice.within.sure, advice.answer.label) == (None, "fast")
    lines = answer_sentences(advice)
    assert "65% likely" in lines[0] and "90%" in lines[1]


@pytest.mark.parametrize(
    ("limits", "nearest", "over_s", "over_usd", "said"),
    [
        (Limits(deadline_h=0.25), "fast", 900, 0, "15 min 0 s too late."),
        (Limits(budget_usd=0.75), "slow", 0, 0.25, "$0.25 over budget."),
        (Limits(deadline_h=0.9, budget_usd=1.2), "middle", 360, 0.3, "6 min 0 s too late and $0.30 over budget."),
    ],
)
def test_a_limit_that_nobody_keeps_to_says_by_how_much(limits, nearest, over_s, over_usd, said):
    advice = advised(limits)
    assert (advice.within.expected, advice.within.nearest.label) == (None, nearest)
    assert (advice.within.over_s, advice.within.over_usd) == pytest.approx((over_s, over_usd))
    assert answer_sentences(advice)[0].endswith(said)


def test_a_close_call_is_called_one():
    advice = advised(rows=(row("a", 100), row("b", 103)), offers=(offer("a", 1), offer("b", 1)))
    assert advice.cheapest.close_rival and advice.fastest.close_rival
    lines = answer_sentences(advice)
    assert "(60% that a is cheaper)" in lines[0] and "Neither is clearly" in lines[1]
    assert "statistically tied" in pick_line(advice.fastest) and "60%" in pick_line(advice.fastest)
    found = comparison_sentences(compare(*reversed(advice.plans)))
    assert "a with 60% confidence (about 1.03 times" in found[0]


def test_retired_instances_are_left_out_unless_asked_for():
    offers = (replace(OFFERS[0], status="retired"), *OFFERS[1:])
    advice = advised(offers=offers)
    assert advice.cheapest.plan.label == "middle"
    assert [one.instance for one in advice.excluded] == ["slow"] and "retired" in advice.excluded[0].reason
    assert advised(offers=offers, include_retired=True).cheapest.plan.label == "slow"


def test_what_does_not_fit_is_left_out_and_a_doubt_is_noted():
    fits = {
        "slow": FitAnswer(Verdict.DOES_NOT_FIT, 0.01, None, "needs 20 GiB"),
        "middle": FitAnswer(Verdict.CANT_TELL, None, None, "no memory in the profile"),
        "fast": FitAnswer(Verdict.FITS, 0.99, 512, "needs 4 GiB"),
    }
    advice = advised(fits=fits)
    assert [(one.instance, "needs 20 GiB" in one.reason) for one in advice.excluded] == [("slow", True)]
    assert "no memory in the profile" in advice.answer.note
    assert any(advice.answer.note in line for line in answer_sentences(advice))


def test_one_instance_in_two_markets_is_two_plans():
    advice = advised(offers=(*OFFERS, replace(OFFERS[2], market="spot", usd_per_hour=1.2)))
    assert names(advice.frontier) == ["fast spot"]
    assert advice.fastest.plan.label == "fast spot" and advice.fastest.rival.plan.label == "middle"
    assert SPOT_CAVEAT in answer_sentences(advice)
    on_demand = next(one for one in advice.dominated if one.plan.label == "fast")
    assert (on_demand.by.label, on_demand.certainty) == ("fast spot", 1)


def test_rows_without_an_interval_are_advised_on_without_certainty():
    rows = [row.changed(log_sd=None) for row in ROWS]
    advice = advised(Limits(deadline_h=1.2), rows)
    assert (advice.cheapest.rival, advice.within.sure, advice.within.surest) == (None, None, None)
    assert advice.answer.label == "middle"
    assert "no interval is known" in answer_sentences(advice)[0]
    cheapest, fastest, *_ = answer_sentences(advised(rows=rows))
    assert "without intervals" in cheapest and "The fastest is fast" in fastest
    # A bolder plan without one is named without a chance.
    rows = (row("slow", 200, deviation=None), row("fast", 50, deviation=None, basis=Basis.GIVEN))
    advice = advised(Limits(deadline_h=2.1), rows)
    assert (advice.within.sure.label, advice.within.expected.label) == ("fast", "slow")
    assert "without an interval" in answer_sentences(advice)[1]
    # Of one GPU the cheapest offer is the cheapest without doubt.
    both = (offer("node", 0.5), offer("node", 0.2, market="spot"))
    assert answer_sentences(advised(rows=[row("node", 100, None)], offers=both))[0].endswith("$0.20): the cheapest.")


def test_an_estimate_is_never_presented_like_a_measurement():
    lines = answer_sentences(advised(rows=(ROWS[0].changed(basis=Basis.TRANSFERRED), *ROWS[1:])))
    assert any("Rough estimate" in line and line.endswith("slow.") for line in lines)
    lines = answer_sentences(advised(rows=[row.changed(basis=Basis.DERIVED) for row in ROWS]))
    assert "Derived" in lines[-1] and lines[-1].endswith("slow and fast.")


def test_nothing_to_choose_from_says_why_of_each():
    rows = (row("slow", None), row("middle", 100), row("other", 100))
    offers = (OFFERS[0], replace(OFFERS[1], status="retired"))
    with pytest.raises(InputError, match=r"\(slow: no latency given; middle: retired.*; other: no price.*\)\.$"):
        advised(rows=rows, offers=offers)
    assert frontier([]) == []


def test_a_guessed_price_is_said_to_be_one(catalog):
    spot = offers_in_market(catalog, "spot", spot_discount=0.6)
    lines = answer_sentences(advised(rows=[row(one.name, 100) for one in spot], offers=spot))
    assert any("guess" in line for line in lines)
    assert not any("guess" in line for line in answer_sentences(advised()))
