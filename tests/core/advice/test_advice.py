"""Plans, picks and certainties by hand: latencies, prices and intervals are made up so that every figure is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import pytest

from profet_core import Catalog, Instance, cost_table
from profet_core.advice.advise import advise
from profet_core.advice.certainty import (
    ERROR_CORRELATION,
    chance_at_most,
    chance_less,
    deviation_of_ratio,
    format_certainty,
    interval_ends,
    log_deviation,
)
from profet_core.advice.comparison import comparison_sentences
from profet_core.advice.frontier import frontier
from profet_core.advice.plans import Limits, Plan, Workload, compare, plan_of
from profet_core.advice.words import (
    SPOT_CAVEAT,
    answer_sentences,
    beaten_line,
    pick_line,
    upgrade_line,
)
from profet_core.catalog.offers import is_guess, offers_in_market
from profet_core.errors import InputError
from profet_core.latency import Basis, Interval, RelativeInterval, carried_steps
from profet_core.memory.fit import FitAnswer, Verdict

#: 1,000 steps an epoch, 36 epochs: a step of 100 ms makes an hour.
HOUR_AT_100_MS = Workload(images=64_000, batch_size=64, epochs=36)
Z90 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True)
class Row:
    """A `StepTime`; `sd` is the deviation its interval is made of, `relative_sd` that of its ratio to `relative_to`."""

    instance: str
    latency_ms: float | None
    sd: float | None = 0.1
    basis: Basis = Basis.MEASURED
    relative_to: str = ""
    relative_sd: float | None = None
    note: str = ""

    @property
    def relative(self) -> RelativeInterval | None:
        return None if self.relative_sd is None else RelativeInterval(self.relative_to, Z90 * self.relative_sd)

    @property
    def interval(self) -> Interval | None:
        known = self.sd is not None and self.latency_ms is not None
        return Interval.around(self.latency_ms, Z90 * self.sd) if known else None


def offer(name: str, usd_per_hour: float, **others: object) -> Instance:
    row = Instance(
        name, f"GPU of {name}", 1, 16, 4, usd_per_hour, "here", "linux", "on-demand", "available", "2026", ""
    )
    return replace(row, **others)


#: Slow and cheap, in between, fast and dear, and one that the middle beats; $1, $1.5, $2.4 and $3 for the hour's work.
ROWS = (Row("slow", 200), Row("middle", 100), Row("fast", 50), Row("beaten", 150, 0.2))
OFFERS = (offer("slow", 0.5), offer("middle", 1.5), offer("fast", 4.8), offer("beaten", 2.0))


def names(plans) -> list[str]:
    return [plan.label for plan in plans]


# --- certainty ------------------------------------------------------------------------------------------------------


def test_the_deviation_is_the_log_half_width_over_1645():
    assert log_deviation(100 / 1.2, 100 * 1.2) == pytest.approx(math.log(1.2) / 1.6448536)
    assert log_deviation(50, 200, level=0.6826894921) == pytest.approx(math.log(2))
    assert interval_ends(100, log_deviation(80, 125)) == pytest.approx((80, 125))


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
        "88 %",
        "over 99 %",
        "over 99 %",
        "100 %",
    ]


# --- plans ----------------------------------------------------------------------------------------------------------


def planned(row: Row, price: Instance, limits: Limits | None = None, workload: Workload = HOUR_AT_100_MS) -> Plan:
    return plan_of(row, price, workload, limits or Limits(), 0.9)


def test_a_plan_s_time_and_money_are_those_of_the_cost_table(catalog):
    workload = Workload(images=50_000, batch_size=64, epochs=7, validation_images=9_999)
    plan = planned(Row("g4dn.xlarge", 123.4), catalog["g4dn.xlarge"], workload=workload)
    table = cost_table(
        {"g4dn.xlarge": 123.4}, catalog, images=50_000, batch_size=64, epochs=7, validation_images=9_999
    ).rows[0]
    assert (plan.total_s, plan.total_usd) == pytest.approx((table.total_s, table.total_usd), rel=1e-12)


def test_the_interval_is_carried_into_time_and_money():
    plan = planned(Row("middle", 100, sd=math.log(1.5) / Z90), offer("middle", 2))
    assert (plan.interval.low_s, plan.total_s, plan.interval.high_s) == pytest.approx((2400, 3600, 5400))
    assert (plan.interval.low_usd, plan.total_usd, plan.interval.high_usd) == pytest.approx((4 / 3, 2, 3))


def test_the_chance_to_keep_to_a_limit():
    plan = planned(Row("middle", 100, sd=0.2), offer("middle", 2), Limits(math.exp(0.2), 2 * math.exp(-0.4)))
    assert plan.in_time == pytest.approx(NormalDist().cdf(1))
    assert plan.in_budget == pytest.approx(NormalDist().cdf(-2))


def test_a_given_latency_has_no_error_and_a_missing_interval_no_chance():
    limits = Limits(deadline_h=1.01, budget_usd=1.99)
    given = planned(Row("middle", 100, sd=None, basis=Basis.GIVEN), offer("middle", 2), limits)
    assert (given.in_time, given.in_budget, given.interval) == (1, 0, None)
    unknown = planned(Row("middle", 100, sd=None), offer("middle", 2), limits)
    assert (unknown.deviation, unknown.in_time, unknown.in_budget) == (None, None, None)


def test_a_limit_must_be_a_positive_number():
    for limits, line in (((0, None), "deadline in hours must be"), ((None, -1), "budget in US dollars must be")):
        with pytest.raises(InputError, match=line):
            Limits(*limits)
    with pytest.raises(InputError, match="number of epochs"):
        planned(Row("middle", 100), offer("middle", 2), workload=Workload(100, 10, epochs=0))


# --- comparisons ----------------------------------------------------------------------------------------------------


def test_two_measured_gpus_share_part_of_their_error():
    a, b = planned(Row("a", 80, 0.1), offer("a", 1.0)), planned(Row("b", 100, 0.2), offer("b", 0.9))
    found = compare(a, b)
    spread = math.sqrt(0.1**2 + 0.2**2 - 2 * ERROR_CORRELATION * 0.1 * 0.2)
    assert found.faster == pytest.approx(NormalDist().cdf(math.log(100 / 80) / spread))
    assert found.cheaper == pytest.approx(NormalDist().cdf(math.log(90 / 80) / spread))
    assert found.beats == found.cheaper, "the worse of both decides"
    back = compare(b, a)
    assert (back.faster, back.cheaper) == pytest.approx((1 - found.faster, 1 - found.cheaper))


def test_errors_of_an_estimate_are_taken_for_independent():
    a = planned(Row("a", 80, 0.1), offer("a", 1.0))
    b = planned(Row("b", 100, 0.2, Basis.TRANSFERRED), offer("b", 1.0))
    assert compare(a, b).faster == pytest.approx(NormalDist().cdf(math.log(1.25) / math.hypot(0.1, 0.2)))


def derived_pair(ratio: float, relative_sd: float = 0.15) -> tuple[Plan, Plan]:
    """g5 at `ratio` times the latency of g4dn, from which it was derived, at their prices of 2026."""
    g5 = Row("g5", 100 * ratio, 0.2, Basis.DERIVED, "g4dn", relative_sd)
    return planned(g5, offer("g5", 1.006)), planned(Row("g4dn", 100, 0.1), offer("g4dn", 0.526))


def test_beside_what_it_was_derived_from_the_ratio_s_own_interval_counts():
    g5, g4dn = derived_pair(0.45)
    found = compare(g5, g4dn)
    assert found.cheaper == pytest.approx(NormalDist().cdf(math.log(0.526 / 1.006 / 0.45) / 0.15))
    assert compare(g4dn, g5).cheaper == pytest.approx(1 - found.cheaper)
    assert (found.latency_ratio_low, found.latency_ratio_high) == pytest.approx(
        (0.45 * math.exp(-Z90 * 0.15), 0.45 * math.exp(Z90 * 0.15))
    )
    spot = planned(Row("g4dn", 100, 0.1), offer("g4dn", 0.45, market="spot"))
    assert compare(g5, spot).cheaper == pytest.approx(NormalDist().cdf(math.log(0.45 / 1.006 / 0.45) / 0.15))
    other = planned(Row("p3", 40, 0.1), offer("p3", 3.06))
    assert compare(g5, other).faster == pytest.approx(NormalDist().cdf(math.log(40 / 45) / math.hypot(0.2, 0.1)))


#: Why that chance makes no claim.
OVER_95 = "; with a GPU that nobody profiled a claim takes over 95 %"


@pytest.mark.parametrize(
    ("of_break_even", "line"),
    [
        (0.999 * math.exp(-Z90 * 0.15), "g5 is cheaper than g4dn with 95 % certainty (1.28 times by the estimate)."),
        (
            1.001 * math.exp(-Z90 * 0.15),
            "Too close to call which is cheaper: g5 with 95 % certainty (1.28 times by the estimate)" + OVER_95 + ".",
        ),
        (
            0.87,
            "Too close to call which is cheaper: g5 with 82 % certainty (1.15 times by the estimate)" + OVER_95 + ".",
        ),
        (
            0.999 * math.exp(Z90 * 0.15),
            "Too close to call which is cheaper: g4dn with 95 % certainty (1.28 times by the estimate)" + OVER_95 + ".",
        ),
        (
            1.001 * math.exp(Z90 * 0.15),
            "g4dn is cheaper than g5 with 95 % certainty (1.28 times by the estimate).",
        ),
    ],
)
def test_an_estimate_is_cheaper_only_where_its_interval_excludes_break_even(of_break_even, line):
    g5, g4dn = derived_pair(of_break_even * 0.526 / 1.006)
    found = compare(g5, g4dn)
    assert comparison_sentences(found)[0] == line
    excluded = not found.latency_ratio_low <= found.break_even_ratio <= found.latency_ratio_high
    assert line.startswith("Too close") != excluded


def test_between_profiled_gpus_a_claim_needs_80_percent():
    rows = [Row("a", 100), Row("b", 112)]
    a, b = (planned(row, offer(row.instance, 1)) for row in rows)
    assert 0.80 < compare(a, b).cheaper < 0.95
    assert comparison_sentences(compare(a, b))[0].startswith("a is cheaper than b with 85 % certainty")


def test_a_rival_that_is_too_close_comes_before_a_surer_claim():
    """a beats b at 85 %, which is enough between profiled GPUs, and c at 90 %, too little for an estimate."""
    offers = tuple(offer(name, 1) for name in "abc")
    rows = (Row("a", 100), Row("b", 112), Row("c", 135, 0.21, Basis.TRANSFERRED))
    pick = advise(rows, offers, HOUR_AT_100_MS).cheapest
    assert (pick.plan.label, pick.rival.label, pick.too_close) == ("a", "c", True)
    assert pick.certainty == pytest.approx(NormalDist().cdf(math.log(1.35) / math.hypot(0.1, 0.21)))


def test_beside_a_given_latency_only_the_other_s_error_counts():
    a = planned(Row("a", 100, None, Basis.GIVEN), offer("a", 1.0))
    b = planned(Row("b", 100, 0.2), offer("b", 1.1))
    assert compare(a, b).cheaper == pytest.approx(NormalDist().cdf(math.log(1.1) / 0.2))


def test_an_estimate_is_never_as_sure_as_a_prediction():
    limits = Limits(deadline_h=1000)
    a, b = (planned(Row("a", 10, 0.1, basis), offer("a", 1.0), limits) for basis in (Basis.MEASURED, Basis.TRANSFERRED))
    assert (a.in_time, b.in_time) == (0.999, 0.99)
    slow = planned(Row("slow", 1000, 0.1), offer("slow", 1.0))
    assert (compare(a, slow).faster, compare(b, slow).faster) == (0.999, 0.99)


def test_one_gpu_in_two_instances_has_one_error():
    same = {"gpu": "H100", "gpu_count": 1}
    node, single = offer("node", 8.0, **{**same, "gpu_count": 8}), offer("single", 2.0, **same)
    found = compare(planned(Row("single", 100), single), planned(Row("node", 100), node))
    assert (found.faster, found.cheaper, found.beats) == (0.5, 1, 1)


def test_break_even_is_where_both_cost_the_same():
    a, b = planned(Row("g5", 55), offer("g5", 1.006)), planned(Row("g4dn", 100), offer("g4dn", 0.526))
    found = compare(a, b)
    assert found.break_even_ratio == pytest.approx(0.523, abs=5e-4)
    assert found.latency_ratio == pytest.approx(0.55)
    assert found.break_even_usd_per_hour == pytest.approx(0.526 / 0.55)
    moved = compare(replace(a, offer=replace(a.offer, usd_per_hour=0.526 / 0.55), total_usd=b.total_usd), b)
    assert moved.cheaper == pytest.approx(0.5)
    assert found.break_even_low * found.latency_ratio_high == pytest.approx(0.526)
    half = Z90 * deviation_of_ratio(0.1, 0.1, ERROR_CORRELATION)
    assert found.latency_ratio_high == pytest.approx(0.55 * math.exp(half))


def test_without_an_interval_nobody_can_say_how_sure():
    a, b = planned(Row("a", 80, None), offer("a", 1.0)), planned(Row("b", 100), offer("b", 1.0))
    found = compare(a, b)
    assert (found.faster, found.cheaper, found.latency_ratio_low) == (None, None, None)
    assert found.latency_ratio == 0.8
    spot = replace(a, offer=replace(a.offer, market="spot", usd_per_hour=0.4), total_usd=0.4 * a.total_usd)
    assert compare(spot, a).cheaper == 1, "one GPU's error is the same on every offer of it"


# --- advice ---------------------------------------------------------------------------------------------------------


def test_fastest_cheapest_and_the_trade_off():
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS)
    assert names(advice.plans) == ["slow", "middle", "fast", "beaten"]
    assert [plan.total_usd for plan in advice.plans] == pytest.approx([1, 1.5, 2.4, 3])
    assert (advice.fastest.plan.label, advice.cheapest.plan.label) == ("fast", "slow")
    assert names(advice.frontier) == ["fast", "middle", "slow"]
    assert advice.answer == advice.cheapest.plan and advice.within is None
    assert (advice.cheapest.rival.label, advice.fastest.rival.label) == ("middle", "middle")


def test_a_pick_is_as_sure_as_against_its_closest_rival():
    rows = (Row("slow", 200, 0.3), *ROWS[1:])
    advice = advise(rows, OFFERS, HOUR_AT_100_MS)
    chances = [compare(advice.cheapest.plan, other).cheaper for other in advice.plans[1:]]
    assert advice.cheapest.certainty == min(chances) == chances[0]
    spread = deviation_of_ratio(0.3, 0.1, ERROR_CORRELATION)
    assert advice.cheapest.certainty == pytest.approx(NormalDist().cdf(math.log(1.5) / spread))
    assert pick_line(advice.cheapest) == "cheaper than middle with 93 % certainty"


def test_what_one_more_dollar_buys():
    first, second = advise(ROWS, OFFERS, HOUR_AT_100_MS).upgrades
    assert (first.cheaper.label, first.faster.label) == ("slow", "middle")
    assert (first.saves_h, first.extra_usd, first.hours_per_usd) == pytest.approx((1, 0.5, 2))
    assert (second.saves_h, second.extra_usd, second.hours_per_usd) == pytest.approx((0.5, 0.9, 0.5 / 0.9))
    assert upgrade_line(first) == "middle instead of slow: 1 h 0 min sooner for $0.500 more, 2 h 0 min a dollar"


def test_who_beats_the_beaten():
    (found,) = advise(ROWS, OFFERS, HOUR_AT_100_MS).beaten
    spread = deviation_of_ratio(0.1, 0.2, ERROR_CORRELATION)
    assert (found.plan.label, found.by.label) == ("beaten", "middle")
    assert found.certainty == pytest.approx(NormalDist().cdf(math.log(1.5) / spread))
    assert beaten_line(found) == "beaten by middle (99 % sure)"


def test_the_cheapest_in_time_with_the_certainty_asked_for():
    limits = Limits(deadline_h=2.1)
    certain = advise(ROWS, OFFERS, HOUR_AT_100_MS, limits)
    assert (certain.within.sure.label, certain.within.expected.label) == ("middle", "slow")
    assert certain.answer.label == "middle"
    assert certain.plans[0].in_time == pytest.approx(NormalDist().cdf(math.log(1.05) / 0.1))
    bold = advise(ROWS, OFFERS, HOUR_AT_100_MS, limits, certainty=0.6)
    assert bold.answer.label == "slow"
    lines = answer_sentences(certain)
    assert lines[0] == (
        "Rent middle at $1.50 an hour (1 h 0 min, $1.50): the cheapest done within 2 h 6 min with at least 90 % "
        "certainty (over 99 % sure)."
    )
    assert lines[1] == (
        "slow at $0.50 an hour (2 h 0 min, $1.00) is expected to keep to it too, but that is only 69 % sure."
    )


def test_a_bolder_plan_without_an_interval_is_named_without_a_chance():
    rows = (Row("slow", 200, sd=None), Row("fast", 50, sd=None, basis=Basis.GIVEN))
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
    assert answer_sentences(both)[0].endswith("6 min 0 s too late and $0.300 over the budget.")


def test_a_close_call_is_called_one():
    rows = (Row("a", 100), Row("b", 103))
    advice = advise(rows, (offer("a", 1), offer("b", 1)), HOUR_AT_100_MS)
    assert advice.cheapest.too_close and advice.fastest.too_close
    lines = answer_sentences(advice)
    assert lines[0] == (
        "Rent a at $1.00 an hour (1 h 0 min, $1.00) or b at $1.00 an hour (1 h 1 min, $1.03): too close to call which "
        "is cheaper (61 % for a)."
    )
    assert lines[1] == "Which of the two is faster is too close to call as well."
    assert pick_line(advice.fastest) == "too close to call against b (61 %)"
    found = comparison_sentences(compare(*reversed(advice.plans)))
    assert found[0] == "Too close to call which is cheaper: a with 61 % certainty (1.03 times by the estimate)."


def test_retired_instances_are_left_out_unless_asked_for():
    offers = (replace(OFFERS[0], status="retired"), *OFFERS[1:])
    advice = advise(ROWS, offers, HOUR_AT_100_MS)
    assert advice.cheapest.plan.label == "middle"
    assert [(one.instance, one.reason) for one in advice.left_out] == [("slow", "retired, no longer rented out")]
    assert advise(ROWS, offers, HOUR_AT_100_MS, include_retired=True).cheapest.plan.label == "slow"


def test_what_does_not_fit_is_left_out_and_a_doubt_is_noted():
    fits = {
        "slow": FitAnswer(Verdict.DOES_NOT_FIT, 0.01, None, "needs 20 GiB"),
        "middle": FitAnswer(Verdict.CANT_TELL, None, None, "no memory in the profile"),
        "fast": FitAnswer(Verdict.FITS, 0.99, 512, "needs 4 GiB"),
    }
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS, fits=fits)
    assert [(one.instance, one.reason) for one in advice.left_out] == [("slow", "does not fit in memory: needs 20 GiB")]
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
    assert advice.fastest.plan.label == "fast spot" and advice.fastest.rival.label == "middle"
    assert SPOT_CAVEAT in answer_sentences(advice)
    on_demand = next(one for one in advice.beaten if one.plan.label == "fast")
    assert (on_demand.by.label, on_demand.certainty) == ("fast spot", 1)


def test_rows_without_an_interval_are_advised_on_without_certainty():
    rows = [replace(row, sd=None) for row in ROWS]
    advice = advise(rows, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=1.2))
    assert (advice.cheapest.certainty, advice.within.sure, advice.within.surest) == (None, None, None)
    assert advice.answer.label == "middle"
    assert answer_sentences(advice)[0].endswith("done within 1 h 12 min (no interval is known).")
    assert answer_sentences(advise(rows, OFFERS, HOUR_AT_100_MS))[:2] == (
        "Rent slow at $0.50 an hour (2 h 0 min, $1.00): the cheapest by the estimate; without intervals nobody can "
        "say how sure that is.",
        "The fastest is fast at $4.80 an hour (30 min 0 s, $2.40) by the estimate.",
    )


def test_of_one_gpu_the_cheapest_offer_is_the_cheapest_without_doubt():
    both = (offer("node", 0.5), offer("node", 0.2, market="spot"))
    lines = answer_sentences(advise([Row("node", 100, None)], both, HOUR_AT_100_MS))
    assert lines[0] == "Rent node spot at $0.20 an hour (1 h 0 min, $0.200): the cheapest."


def test_what_is_carried_to_another_batch_size_stays_what_it_was():
    rows = (Row("a", 100, None, Basis.GIVEN), Row("b", 90), Row("c", 50, 0.2, Basis.TRANSFERRED))
    carried = carried_steps({"a": 200, "b": 180, "c": 100, "d": 1}, rows)
    assert [(row.instance, row.latency_ms, row.basis, row.interval) for row in carried] == [
        ("a", 200, "carried", None),
        ("b", 180, "carried", None),
        ("c", 100, "transferred", None),
        ("d", 1, "carried", None),
    ]
    plan = planned(carried[0], offer("a", 1.0), Limits(deadline_h=1))
    assert (plan.deviation, plan.in_time, plan.rests_on) == (None, None, "carried to another batch size")


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
    near = answer_sentences(advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=2.1), certainty=0.6))
    assert any("6 % to 9 % longer than their steps" in line for line in near)
    far = answer_sentences(advise(ROWS, OFFERS, HOUR_AT_100_MS, Limits(deadline_h=3)))
    assert not any("near thing" in line for line in far)


def test_nothing_to_choose_from_is_one_line():
    rows = (Row("slow", None), Row("middle", 100), Row("other", 100))
    offers = (OFFERS[0], replace(OFFERS[1], status="retired"))
    with pytest.raises(InputError) as error:
        advise(rows, offers, HOUR_AT_100_MS)
    assert str(error.value) == (
        "There is nothing to choose from (slow: its latency is not given; middle: retired, no longer rented out; "
        "other: no price in this market)."
    )
    with pytest.raises(InputError, match=r"certainty must be a share from 0\.5"):
        advise(ROWS, OFFERS, HOUR_AT_100_MS, certainty=90)


def test_the_frontier_is_what_none_beats():
    advice = advise(ROWS, OFFERS, HOUR_AT_100_MS)
    assert names(frontier(reversed(advice.plans))) == ["fast", "middle", "slow"]
    assert frontier([]) == []


# --- offers ---------------------------------------------------------------------------------------------------------


def test_one_offer_of_each_market_and_one_s_own_hardware_in_all():
    def at(market: str, region: str, usd_per_hour: float, name: str = "a") -> Instance:
        return offer(name, usd_per_hour, market=market, region=region)

    catalog = Catalog(
        [
            at("on-demand", "us-east-1", 1.0),
            at("on-demand", "elsewhere", 0.8),
            at("spot", "elsewhere", 0.3),
            at("spot", "cheap", 0.2),
            at("own", "home", 0.1, "b"),
        ]
    )

    def prices(market: str, **others: object) -> list[float]:
        return [row.usd_per_hour for row in offers_in_market(catalog, market, **others)]

    assert prices("on-demand") == [1.0, 0.1]
    assert prices("spot") == [0.2, 0.1]
    assert sorted(prices("any")) == [0.1, 0.2, 1.0]
    assert sorted(prices("any", region="elsewhere")) == [0.1, 0.3, 0.8]
    assert prices("spot", spot_discount=0.5) == [0.2, 0.1], "a known spot price needs no guess"
    assert prices("spot", own_usd_per_hour={"a": 0.5}) == [0.5, 0.1]


def test_no_offer_at_all_is_one_line():
    catalog = Catalog([offer("a", 1.0, region="us-east-1")])
    with pytest.raises(InputError, match=r"has no spot prices: give prices of your own, or a spot discount\."):
        offers_in_market(catalog, "spot")
    with pytest.raises(InputError, match="no on-demand prices in mars"):
        offers_in_market(catalog, region="mars")


def test_offers_of_a_market(catalog):
    on_demand = {row.name: row for row in offers_in_market(catalog)}
    assert on_demand["g5.xlarge"].usd_per_hour == 1.006
    assert {row.market for row in on_demand.values()} == {"on-demand"}
    with pytest.raises(InputError, match="Unknown market 'black'"):
        offers_in_market(catalog, "black")


def test_a_discount_makes_spot_offers_and_says_that_they_are_a_guess(catalog):
    spot = {
        row.name: row for row in offers_in_market(catalog, "spot", spot_discount=0.6) if row.source[:7] == "guessed"
    }
    assert spot and all(row.market == "spot" for row in spot.values())
    name, row = next(iter(spot.items()))
    assert row.usd_per_hour == pytest.approx(0.4 * catalog[name].usd_per_hour)
    assert row.source == "guessed: 60% below on-demand"
    assert is_guess(row) and not is_guess(catalog[name])
    rows = [Row(one.name, 100) for one in spot.values()]
    guess = "What spot costs is your guess, not a price that anybody offers."
    assert guess in answer_sentences(advise(rows, spot.values(), HOUR_AT_100_MS))
    both = offers_in_market(catalog, "any", spot_discount=0.6)
    assert {row.market for row in both if row.name == name} == {"on-demand", "spot"}
    for discount, line in ((1.0, "between 0 and 1"), (0, "number above 0")):
        with pytest.raises(InputError, match=line):
            offers_in_market(catalog, spot_discount=discount)


def test_an_own_price_stands_in_every_market(catalog):
    for market in ("on-demand", "spot", "any"):
        rows = offers_in_market(catalog, market, own_usd_per_hour={"g5.xlarge": 0.3})
        assert [(row.usd_per_hour, row.market) for row in rows if row.name == "g5.xlarge"] == [(0.3, "own price")]
    with pytest.raises(InputError, match="Unknown instance"):
        offers_in_market(catalog, own_usd_per_hour={"g9.huge": 1})
