"""What a training takes and costs on an offer, its chance to keep to a limit, and the answer in one sentence."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from profet_core import cost_table
from profet_core.advice.advise import advise, lowest_to_rent
from profet_core.advice.plans import Limits, Workload
from profet_core.advice.words import answer_sentences
from profet_core.errors import InputError
from profet_core.latency import Basis, Estimate
from profet_core.prediction.records import InstancePrediction
from tests.made.step_times import HOUR_AT_100_MS, OFFERS, ROWS, Z90, offer, planned, row


def test_a_plan_s_time_and_money_are_those_of_the_cost_table(catalog):
    workload = Workload(images=50_000, batch_size=64, epochs=7, validation_images=9_999)
    plan = planned(row("g4dn.xlarge", 123.4), catalog["g4dn.xlarge"], workload=workload)
    table = cost_table(
        {"g4dn.xlarge": 123.4}, catalog, images=50_000, batch_size=64, epochs=7, validation_images=9_999
    ).rows[0]
    assert (plan.total_s, plan.total_usd) == pytest.approx((table.total_s, table.total_usd), rel=1e-12)


def test_the_interval_is_carried_into_time_and_money():
    plan = planned(row("middle", 100, deviation=math.log(1.5) / Z90), offer("middle", 2))
    assert (plan.interval.low_s, plan.total_s, plan.interval.high_s) == pytest.approx((2400, 3600, 5400))
    assert (plan.interval.low_usd, plan.total_usd, plan.interval.high_usd) == pytest.approx((4 / 3, 2, 3))


def test_the_chance_to_keep_to_a_limit():
    plan = planned(row("middle", 100, deviation=0.2), offer("middle", 2), Limits(math.exp(0.2), 2 * math.exp(-0.4)))
    assert plan.in_time == pytest.approx(NormalDist().cdf(1))
    assert plan.in_budget == pytest.approx(NormalDist().cdf(-2))


def test_a_given_latency_has_no_error_and_a_missing_interval_no_chance():
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


def test_hardware_of_ones_own_is_not_rented():
    own = advise(ROWS[:2], (offer("slow", 0.5, market="own"), OFFERS[1]), HOUR_AT_100_MS)
    assert answer_sentences(own)[0].startswith("Use slow own")


def test_the_lowest_is_one_that_can_be_rented_and_no_node_for_the_speed_of_one():
    rows = [
        InstancePrediction(name, Estimate(latency_ms=latency_ms), offer(name, usd, status=status))
        for name, latency_ms, usd, status in (
            ("retired", 1, 1.0, "retired"),
            ("anchor", None, 1.0, "available"),
            ("node", 5, 8.0, "available"),
            ("single", 5, 4.0, "available"),
            ("slow", 50, 0.2, "available"),
        )
    ]
    assert lowest_to_rent(rows, lambda row: row.latency_ms).instance == "single"
    assert lowest_to_rent(rows, lambda row: row.cost_per_1000_steps_usd).instance == "slow"
    assert lowest_to_rent(rows[:2], lambda row: row.latency_ms) is None
