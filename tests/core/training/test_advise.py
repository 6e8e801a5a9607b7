"""Plans, picks, limits and what is said of them by hand, on latencies, prices and intervals that are made up."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist

import pytest
from msgspec.structs import replace

from profet_core import cost_table
from profet_core.catalog.collection import offers_in_market
from profet_core.errors import InputError
from profet_core.latency import Basis, sd_of_ratio
from profet_core.training.advise import advise, without_larger_nodes
from profet_core.training.cost import Workload
from profet_core.training.memory import FitAnswer, Verdict
from profet_core.training.plans import Limits, Period
from profet_core.training.recommend import ERROR_CORRELATION, compare, frontier, others_of_gpus, shortlist
from profet_core.training.words import (
    SPOT_CAVEAT,
    alternative_sentence,
    answer_sentences,
    comparison_sentences,
    dominated_line,
    pick_line,
    upgrade_line,
)
from tests.made.step_times import HOUR_AT_100_MS, OFFERS, ROWS, Z90, offer, planned, plans_of, row, steps_of

#: What the middle beats costs as much as it.
CHEAP_BEATEN = (*OFFERS[:3], replace(OFFERS[3], usd_per_hour=1.4))


def advised(limits=None, rows=ROWS, offers=OFFERS, workload=HOUR_AT_100_MS, **more):
    return advise(steps_of(rows), offers, workload, limits or Limits(), **more)


def names(plans) -> list[str]:
    return [plan.label for plan in plans]


def test_fastest_cheapest_and_the_trade_off():
    advice = advised()
    assert names(advice.plans) == ["slow", "middle", "fast", "beaten"]
    assert [plan.total_usd for plan in advice.plans] == pytest.approx([1, 1.5, 2.4, 3])
    assert (advice.fastest.plan.label, advice.cheapest.plan.label) == ("fast", "slow")
    assert names(advice.frontier) == names(frontier(reversed(advice.plans))) == ["fast", "middle", "slow"]
    assert advice.answer == advice.cheapest.plan and advice.within is None
    assert (advice.cheapest.rival.label, advice.fastest.rival.label) == ("middle", "middle")
    assert answer_sentences(advice) == (
        "Cheapest: GPU of slow at slow, $1.00 in 2.00 h ($0.500/h). Fastest: GPU of fast at fast, $2.40 in 30.0 min.",
        "GPU of slow at slow is the cheapest: over 99% sure.",
        "GPU of fast at fast is the fastest: over 99% sure.",
    )


def test_a_pick_is_as_sure_as_against_its_closest_rival_which_comes_before_a_surer_claim():
    advice = advised(rows=(row("slow", 200, 0.3), *ROWS[1:]))
    chances = [compare(advice.cheapest.plan, other).cheaper for other in advice.plans[1:]]
    assert advice.cheapest.certainty == min(chances) == chances[0]
    spread = sd_of_ratio(0.3, 0.1, ERROR_CORRELATION)
    assert advice.cheapest.certainty == pytest.approx(NormalDist().cdf(math.log(1.5) / spread))
    assert pick_line(advice.cheapest) == "cheaper than GPU of middle · middle, 93% sure"
    # a beats b at 85 %, which is enough between profiled GPUs, and c at 90 %, too little for an estimate.
    rows = (row("a", 100), row("b", 112), row("c", 135, 0.21, Basis.TRANSFERRED))
    pick = advised(rows=rows, offers=[offer(name, 1) for name in "abc"]).cheapest
    assert (pick.plan.label, pick.rival.label, pick.close_rival) == ("a", "c", pick.rival)
    assert pick.certainty == pytest.approx(NormalDist().cdf(math.log(1.35) / math.hypot(0.1, 0.21)))


def test_what_one_more_dollar_buys_and_who_dominates_the_dominated():
    advice = advised()
    first, second = advice.upgrades
    assert (first.cheaper.label, first.faster.label) == ("slow", "middle")
    assert (first.saves_h, first.extra_usd, first.hours_per_usd) == pytest.approx((1, 0.5, 2))
    assert (second.saves_h, second.extra_usd, second.hours_per_usd) == pytest.approx((0.5, 0.9, 0.5 / 0.9))
    assert "60.0 min sooner for $0.500 more, 2.00 h per dollar" in upgrade_line(first)
    (dominated,) = advice.dominated
    spread = sd_of_ratio(0.1, 0.2, ERROR_CORRELATION)
    assert (dominated.plan.label, dominated.by.label) == ("beaten", "middle")
    assert dominated.certainty == pytest.approx(NormalDist().cdf(math.log(1.5) / spread))
    assert "middle" in dominated_line(dominated) and "98%" in dominated_line(dominated)


def test_the_cheapest_in_time_with_the_requested_certainty():
    limits = Limits(deadline_h=2.1)
    certain = advised(limits)
    assert (certain.within.sure.label, certain.within.expected.label) == ("middle", "slow")
    assert certain.answer.label == "middle"
    assert certain.plans[0].in_time == pytest.approx(NormalDist().cdf(math.log(1.05) / 0.1))
    assert "over 99% likely" in answer_sentences(certain)[0] and "only 68% likely" in answer_sentences(certain)[1]
    assert [plan.label for plan in certain.recommended.skipped] == ["slow"]
    assert [card.plan.label for card in certain.recommended.cards] == ["middle", "fast"]
    bold = advised(replace(limits, certainty=0.6))
    assert bold.answer.label == "slow"
    # A near thing has a warning of other time; with time to spare there is none.
    assert any("6% to 9% longer" in line for line in answer_sentences(bold))
    assert not any("% longer" in line for line in answer_sentences(advised(Limits(deadline_h=3))))


def test_the_fastest_within_a_budget_and_both_limits_together_unless_nothing_is_sure_enough():
    advice = advised(Limits(budget_usd=2.5))
    assert (advice.within.sure.label, advice.within.expected.label) == ("middle", "fast")
    assert answer_sentences(advice)[0].startswith("Fastest within your limits: ")
    advice = advised(Limits(deadline_h=1.5, budget_usd=2))
    assert (advice.within.sure, advice.within.expected) == (advice.plans[1],) * 2
    assert advised(Limits(1.5, 1.5)).within.sure is None
    advice = advised(Limits(deadline_h=0.52))
    assert (advice.within.sure, advice.answer.label) == (None, "fast")
    lines = answer_sentences(advice)
    assert "65% likely" in lines[0] and "90%" in lines[1]


@pytest.mark.parametrize(
    ("limits", "nearest", "over_s", "over_usd", "second_line"),
    [
        (Limits(deadline_h=0.25), "fast", 900, 0, "It is 15.0 min too late."),
        (Limits(budget_usd=0.75), "slow", 0, 0.25, "It is $0.250 over budget."),
        (Limits(deadline_h=0.9, budget_usd=1.2), "middle", 360, 0.3, "It is 6.00 min too late and $0.300 over budget."),
    ],
)
def test_a_limit_that_nobody_keeps_to_says_by_how_much(limits, nearest, over_s, over_usd, second_line):
    advice = advised(limits)
    assert (advice.within.expected, advice.within.nearest.label) == (None, nearest)
    assert (advice.within.over_s, advice.within.over_usd) == pytest.approx((over_s, over_usd))
    first, second, *_ = answer_sentences(advice)
    assert first.startswith("No instance here meets your") and f"Closest: GPU of {nearest} at" in first
    assert second == second_line
    assert len(advice.recommended.cards) > 1, "the cards are those of all plans"


def test_a_close_call_is_called_one():
    advice = advised(rows=(row("a", 100), row("b", 103)), offers=(offer("a", 1), offer("b", 1)))
    assert advice.cheapest.close_rival and advice.fastest.close_rival
    lines = answer_sentences(advice)
    assert "is as cheap: 60% sure that GPU of a at a is cheaper" in lines[1] and "Neither is clearly" in lines[2]
    # The other one is slower and dearer.
    assert [card.alternative for card in advice.recommended.cards] == [None]
    assert pick_line(advice.fastest) == "as fast: GPU of b · b"
    # Beyond 5% the words follow the number.
    advice = advised(rows=(row("a", 100), row("b", 107)), offers=(offer("a", 1), offer("b", 0.8)))
    assert pick_line(advice.fastest) == "perhaps as fast (26% likely): GPU of b · b"
    (_, card) = advice.recommended.cards
    assert alternative_sentence(card, "1 h, $1") == "Perhaps as fast (26% likely): GPU of b · b, 1 h, $1"
    advice = advised(rows=(row("a", 100), row("b", 104.9)), offers=(offer("a", 1), offer("b", 0.8)))
    (_, card) = advice.recommended.cards
    assert alternative_sentence(card, "1 h, $1") == "As fast: GPU of b · b, 1 h, $1"
    advice = advised(rows=(row("a", 100), row("b", 103)), offers=(offer("a", 1), offer("b", 1)))
    sentences = comparison_sentences(compare(*reversed(advice.plans)))
    assert "GPU of a at a is 1.03 times cheaper than GPU of b at b (60% sure)" in sentences[1]


def test_what_is_retired_or_does_not_fit_is_left_out_and_a_doubt_is_noted():
    offers = (replace(OFFERS[0], status="retired"), *OFFERS[1:])
    advice = advised(offers=offers)
    assert advice.cheapest.plan.label == "middle"
    assert list(advice.excluded) == ["slow"] and "retired" in advice.excluded["slow"]
    advice = advised(offers=offers, include_retired=True)
    assert (advice.cheapest.plan.label, names(advice.recommended.skipped)) == ("middle", ["slow"])
    assert "GPU of slow at slow ($1.00 in 2.00 h) is retired and can't be rented." in answer_sentences(advice)
    fits = {
        "slow": FitAnswer(Verdict.DOES_NOT_FIT, 0.01, None, "needs 20 GiB"),
        "middle": FitAnswer(Verdict.CANT_TELL, None, None, "no memory in the profile"),
        "fast": FitAnswer(Verdict.FITS, 0.99, 512, "needs 4 GiB"),
    }
    advice = advised(fits=fits)
    assert [(name, "needs 20 GiB" in reason) for name, reason in advice.excluded.items()] == [("slow", True)]
    assert (advice.answer.label, names(advice.recommended.skipped)) == ("fast", ["middle"])
    assert "GPU of middle at middle ($1.50 in 60.0 min) may not fit in memory." in answer_sentences(advice)


@pytest.mark.parametrize(
    ("certainty", "limits", "cards", "skipped"),
    [
        (0.9, {}, ["beaten", "fast"], ["slow"]),
        (0.6, {}, ["middle", "fast"], ["slow"]),
        (0.5, {}, ["slow", "fast"], []),
        (0.99, {}, ["fast"], ["slow"]),
        (0.9, {"deadline_h": 1.2}, ["fast"], ["middle"]),
        # Nothing else keeps to it.
        (0.9, {"budget_usd": 1.2}, ["beaten", "fast"], ["slow"]),
    ],
)
def test_only_what_fits_with_the_requested_certainty_is_recommended(certainty, limits, cards, skipped):
    chances = {"slow": 0.5, "middle": 0.65, "beaten": 0.95, "fast": 0.9996}
    fits = {
        name: FitAnswer(Verdict.FITS if chance > 0.9 else Verdict.CANT_TELL, chance, None, "")
        for name, chance in chances.items()
    }
    recommended = advised(Limits(certainty=certainty, **limits), offers=CHEAP_BEATEN, fits=fits).recommended
    assert ([card.plan.label for card in recommended.cards], names(recommended.skipped)) == (cards, skipped)
    assert recommended.answer in recommended.choices


def test_where_nothing_surely_fits_the_likeliest_is_named_with_its_doubt():
    fits = {name: FitAnswer(Verdict.CANT_TELL, chance, 24, "") for name, chance in (("slow", 0.2), ("middle", 0.4))}
    advice = advised(rows=ROWS[:2], fits=fits)
    assert advice.answer.label == "middle"
    assert "It is only 40% likely to fit in memory." in answer_sentences(advice)[0]


def test_rows_without_an_interval_are_advised_on_without_certainty():
    rows = [dataclasses.replace(row, deviation=None) for row in ROWS]
    advice = advised(Limits(deadline_h=1.2), rows)
    assert (advice.cheapest.rival, advice.within.sure, advice.within.surest) == (None, None, None)
    assert advice.answer.label == "middle"
    assert answer_sentences(advice)[0].startswith("Cheapest expected to be within your limits: ")
    _, cheapest, fastest, *_ = answer_sentences(advised(rows=rows))
    assert "cheapest by the estimate" in cheapest and "fastest by the estimate" in fastest
    # A bolder plan without one is named without a chance.
    rows = (row("slow", 200, deviation=None), row("fast", 50, deviation=None, basis=Basis.GIVEN))
    advice = advised(Limits(deadline_h=2.1), rows)
    assert (advice.within.sure.label, advice.within.expected.label) == ("fast", "slow")
    assert "has no prediction interval" in answer_sentences(advice)[1]
    # Of one GPU the cheapest offer is the cheapest without doubt.
    both = (offer("node", 0.5), offer("node", 0.2, market="spot"))
    assert len(answer_sentences(advised(rows=[row("node", 100, None)], offers=both))) == 2


def test_an_estimate_and_a_guessed_price_are_marked(catalog):
    lines = answer_sentences(advised(rows=(dataclasses.replace(ROWS[0], basis=Basis.TRANSFERRED), *ROWS[1:])))
    assert "GPU of slow at slow: estimated from specs and published benchmarks." in lines
    lines = answer_sentences(
        advised(rows=[dataclasses.replace(known_row, basis=Basis.CALIBRATED) for known_row in ROWS])
    )
    assert lines[-1].startswith(
        "GPU of slow at slow and GPU of fast at fast: scaled from a few steps measured on this GPU"
    )
    spot = offers_in_market(catalog, "spot", spot_discount=0.6)
    lines = answer_sentences(advised(rows=[row(spot_offer.name, 100) for spot_offer in spot], offers=spot))
    assert any("guess" in line for line in lines)
    assert not any("guess" in line for line in answer_sentences(advised()))


def test_nothing_to_choose_from_says_why_and_custom_hardware_is_used_not_rented():
    rows = (row("slow", None), row("middle", 100), row("other", 100))
    offers = (OFFERS[0], replace(OFFERS[1], status="retired"))
    with pytest.raises(InputError, match=r"\(slow: no latency given; middle: retired; other: no price.*\); incl"):
        advised(rows=rows, offers=offers)
    assert frontier([]) == []
    own = advised(rows=ROWS[:2], offers=(offer("slow", 0.5, market="own"), OFFERS[1]))
    assert answer_sentences(own)[0].startswith("Cheapest: GPU of slow at slow, $")


def test_a_plan_s_time_and_money_are_those_of_the_cost_table_one_a_market(catalog):
    workload = Workload(images=50_000, batch_size=64, epochs=7, validation_images=9_999)
    plan = planned(row("g4dn.xlarge", 123.4), catalog["g4dn.xlarge"], workload=workload)
    table = cost_table(
        {"g4dn.xlarge": 123.4}, catalog, images=50_000, batch_size=64, epochs=7, validation_images=9_999
    )[0]
    assert (plan.total_s, plan.total_usd) == pytest.approx((table.total_s, table.total_usd), rel=1e-12)
    advice = advised(offers=(*OFFERS, replace(OFFERS[2], market="spot", usd_per_hour=1.2)))
    assert names(advice.frontier) == ["fast spot"]
    assert advice.fastest.plan.label == "fast spot" and advice.fastest.rival.label == "middle"
    assert SPOT_CAVEAT in answer_sentences(advice)
    on_demand = next(beaten for beaten in advice.dominated if beaten.plan.label == "fast")
    assert (on_demand.by.label, on_demand.certainty) == ("fast spot", 1)


def test_intervals_and_chances_of_time_and_money_by_hand():
    plan = planned(row("middle", 100, deviation=math.log(1.5) / Z90), offer("middle", 2))
    assert (plan.interval.low_s, plan.total_s, plan.interval.high_s) == pytest.approx((2400, 3600, 5400))
    assert (plan.interval.low_usd, plan.total_usd, plan.interval.high_usd) == pytest.approx((4 / 3, 2, 3))
    plan = planned(row("middle", 100, deviation=0.2), offer("middle", 2), Limits(math.exp(0.2), 2 * math.exp(-0.4)))
    assert plan.in_time == pytest.approx(NormalDist().cdf(1))
    assert plan.in_budget == pytest.approx(NormalDist().cdf(-2))
    limits = Limits(deadline_h=1.01, budget_usd=1.99)
    given = planned(row("middle", 100, deviation=None, basis=Basis.GIVEN), offer("middle", 2), limits)
    assert (given.in_time, given.in_budget, given.interval) == (1, 0, None)
    unknown = planned(row("middle", 100, deviation=None), offer("middle", 2), limits)
    assert (unknown.deviation, unknown.in_time, unknown.in_budget) == (None, None, None)


def test_a_limit_must_be_a_positive_number():
    for limits, line in (((0, None), "deadline in hours must be"), ((None, -1), "budget in US dollars must be")):
        with pytest.raises(InputError, match=line):
            Limits(*limits)
    for certainty in (90, 0.4, 1.0, math.nan):
        with pytest.raises(InputError, match=r"certainty must be at least 0\.5"):
            Limits(certainty=certainty)
    with pytest.raises(InputError, match="number of epochs"):
        planned(row("middle", 100), offer("middle", 2), workload=Workload(100, 10, epochs=0))


def test_loading_lengthens_the_training_and_its_range_for_validation_too():
    without, with_loading = (
        advised(workload=replace(HOUR_AT_100_MS, with_loading=counted)).answer for counted in (False, True)
    )
    assert with_loading.total_s == pytest.approx(1.075 * without.total_s)
    assert with_loading.total_usd == pytest.approx(1.075 * without.total_usd)
    assert with_loading.interval.low_s == pytest.approx(1.06 * without.interval.low_s)
    assert with_loading.interval.high_usd == pytest.approx(1.09 * without.interval.high_usd)
    assert with_loading.latency_ms == without.latency_ms
    assert Workload(1, 1, with_loading=True).steps() == (1, 0)
    # A validation step takes a third of a training step, or as long as its images.
    work = Workload(64_000, 64, validation_images=6_400, images_per_s_per_vcpu=320)
    # 4 vCPUs: 50 ms of loading; 1,000 steps of 100 ms, and 100 of 33 ms, which wait for 50.
    assert planned(row("middle", 100), offer("middle", 1), workload=work).total_s == pytest.approx(100 + 5)


#: Name -> its GPU, milliseconds a step, US dollars an hour, and what else is special about its offer.
LISTED = {
    "slow": ("Tesla T4", 400.0, 0.9, {}),
    "cheap": ("Tesla T4", 400.0, 0.1, {}),
    "middle": ("A10G", 200.0, 0.3, {}),
    "beaten": ("L4", 300.0, 1.2, {}),
    "fast": ("H100-SXM5-80GB", 50.0, 2.0, {}),
    "as fast": ("H100-SXM5-80GB", 50.0, 3.0, {}),
    "dearest": ("A40", 390.0, 9.0, {}),
    "own": ("Tesla T4", 400.0, 0.9, {"custom": True}),
    "node": ("H100-SXM5-80GB", 50.0, 99.0, {"gpu_count": 8}),
}


@pytest.fixture
def plans(catalog):
    """Name -> its plan."""
    g5 = catalog["g5.xlarge"]
    made = plans_of(
        *(
            (row(name, ms, None, Basis.GIVEN), replace(g5, name=name, gpu=gpu, usd_per_hour=usd, **more))
            for name, (gpu, ms, usd, more) in LISTED.items()
        )
    )
    return {plan.label: plan for plan in made}


def test_each_gpu_has_its_cheapest_offer_and_names_the_others(plans):
    own, node = plans.pop("own"), plans.pop("node")
    every = plans.values()
    assert names(shortlist(every, [], 9)) == ["cheap", "middle", "fast", "beaten", "dearest"]
    assert names(shortlist(every, [plans["as fast"]], 3)) == ["cheap", "middle", "as fast"]
    assert names(shortlist([own, plans["cheap"], plans["fast"]], [], 2)) == ["cheap", "own"]
    # Numbers of GPUs are kept apart.
    assert names(shortlist([*every, node], [], 9))[-1] == "node"
    assert names(others_of_gpus(plans.values(), plans["slow"])) == ["cheap"]
    assert names(others_of_gpus(plans.values(), plans["middle"])) == []


def test_nodes_are_left_out_where_fewer_gpus_can_be_rented(catalog):
    def left(*offers) -> list[str]:
        made = plans_of(*((row("p4d.24xlarge", 50), replace(catalog["p4d.24xlarge"], **offer)) for offer in offers))
        return names(without_larger_nodes(made))

    one, two, eight = ({"name": name, "gpu_count": count} for name, count in (("one", 1), ("two", 2), ("eight", 8)))
    assert left(eight, one, two) == ["one"]
    other = {"name": "other form", "gpu_count": 8, "gpu": "A100-SXM4-80GB"}
    assert left(eight, two, {**two, "name": "another two"}, other) == ["two", "another two", "other form"]
    own = ({"custom": True}, {"provider": "own"}, {"market": "your price"})
    assert len(left(one, eight, *({**eight, **which} for which in own))) == 4, "one's own stay"


#: Batches of 64, a GPU that trains 1,430 images/s, and vCPUs that prepare 120 images/s each.
FED = replace(HOUR_AT_100_MS, images_per_s_per_vcpu=120)
FAST_MS = 64_000 / 1_430


def test_a_gpu_waits_for_images_that_too_few_vcpus_prepare():
    four = planned(row("four", FAST_MS, 0.1), offer("four", 3.6, vcpus=4), workload=FED)
    # 480 images/s: 133.3 ms for 64 images.
    assert (four.latency_ms, four.gpu_ms) == pytest.approx((64_000 / 480, FAST_MS))
    assert four.waiting == pytest.approx(1 - 480 / 1_430)
    assert four.note == "4 vCPUs feed 480 images/s; this GPU could train 1,430"
    assert four.total_s == pytest.approx(36_000 * 64 / 480) and four.total_usd == pytest.approx(four.total_s / 1000)
    # The whole interval waits: its length is certain.
    assert (four.interval.low_s, four.interval.high_s, four.deviation) == (four.total_s, four.total_s, 0)
    many = planned(row("many", FAST_MS, 0.1), offer("many", 3.6, vcpus=32), workload=FED)
    assert (many.waiting, many.note, many.latency_ms) == (0, "", FAST_MS)
    unknown = planned(row("unknown", FAST_MS), offer("unknown", 1, vcpus=None), workload=FED)
    assert (unknown.waiting, unknown.note) == (0, "data loading not counted: vCPUs unknown")


def test_only_the_part_of_an_interval_that_waits_is_cut():
    # 120 ms of loading between 100 ms and both ends of its interval, 80 and 125 ms.
    step, fed = row("middle", 100, math.log(1.25) / Z90), replace(FED, images_per_s_per_vcpu=64_000 / 120 / 4)
    plan = planned(step, offer("middle", 1), workload=fed)
    assert (plan.interval.low_s, plan.total_s, plan.interval.high_s) == pytest.approx((4320, 4320, 4500))
    # Nothing is faster than the loading, and at most 5% slower than the interval's end.
    limits = [Limits(deadline_h=hours) for hours in (4319 / 3600, 4500 / 3600)]
    chances = [planned(step, offer("middle", 1), limit, workload=fed).in_time for limit in limits]
    assert chances == pytest.approx([0.001, 0.95])


def test_cards_take_waiting_into_account():
    """The faster GPU has too few vCPUs: the slower one is as fast and cheaper."""
    rows = (row("slow", 100, 0.05), row("fast", 40, 0.05))
    offers = (offer("slow", 1, vcpus=32), offer("fast", 4, vcpus=4))
    assert advised(rows=rows, offers=offers).fastest.plan.label == "fast"
    fed = advised(rows=rows, offers=offers, workload=FED)
    assert (fed.fastest.plan.label, fed.cheapest.plan.label) == ("slow", "slow")
    assert fed.answer.note == "" and "vCPUs feed" in fed.plans[1].note


def test_runs_in_turn_take_longer_and_at_once_more_machines():
    one, turns, once = (
        planned(row("middle", 100), offer("middle", 2), workload=replace(HOUR_AT_100_MS, runs=runs, at_once=at_once))
        for runs, at_once in ((1, False), (5, False), (5, True))
    )
    assert [plan.total_s for plan in (one, turns, once)] == pytest.approx([3600, 18_000, 3600])
    assert [plan.total_usd for plan in (one, turns, once)] == pytest.approx([2, 10, 10])
    assert turns.interval.high_usd == pytest.approx(once.interval.high_usd) == pytest.approx(5 * one.interval.high_usd)
    # A step and an epoch are those of one run on one machine.
    for per in (Period.STEP, Period.EPOCH):
        shown = [plan.per(per) for plan in (one, turns, once)]
        assert [plan.total_s for plan in shown] == pytest.approx([shown[0].total_s] * 3)
        assert [plan.total_usd for plan in shown] == pytest.approx([shown[0].total_usd] * 3)
    assert turns.epoch_s == once.epoch_s == pytest.approx(one.epoch_s) and turns.epoch_usd == pytest.approx(2 / 36)


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"images_per_s_per_vcpu": 0.0}, {"images_per_s_per_vcpu": math.inf}])
def test_no_training_has_such_runs_or_loading(wrong):
    with pytest.raises(InputError):
        planned(row("middle", 100), offer("middle", 2), workload=replace(HOUR_AT_100_MS, **wrong))
