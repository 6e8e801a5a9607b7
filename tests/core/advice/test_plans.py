"""What a training takes and costs on an offer, and the chance that it keeps to a limit, by hand."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from profet_core import cost_table
from profet_core.advice.request import Limits, Workload
from profet_core.errors import InputError
from profet_core.latency import Basis, carried_steps
from tests.made.step_times import Z90, offer, planned, row


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
        with pytest.raises(InputError, match=r"certainty must be a share from 0\.5"):
            Limits(certainty=certainty)
    with pytest.raises(InputError, match="number of epochs"):
        planned(row("middle", 100), offer("middle", 2), workload=Workload(100, 10, epochs=0))


def test_what_is_carried_to_another_batch_size_stays_what_it_was():
    rows = (row("a", 100, None, Basis.GIVEN), row("b", 90), row("c", 50, 0.2, Basis.TRANSFERRED))
    carried = carried_steps({"a": 200, "b": 180, "c": 100, "d": 1}, rows)
    assert [(row.instance, row.latency_ms, row.basis, row.interval) for row in carried] == [
        ("a", 200, "carried", None),
        ("b", 180, "carried", None),
        ("c", 100, "transferred", None),
        ("d", 1, "carried", None),
    ]
    plan = planned(carried[0], offer("a", 1.0), Limits(deadline_h=1))
    assert (plan.deviation, plan.in_time, plan.latency_note) == (None, None, "carried to another size")
