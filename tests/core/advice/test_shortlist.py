"""The few of many plans that are worth a row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.advice.plans import Limits, Request, Workload, plan_of
from profet_core.advice.recommend import others_of_gpus, plan_a_gpu, shortlist
from profet_core.latency import Basis, StepTime

#: Name -> its GPU, milliseconds a step and US dollars an hour.
OFFERS = {
    "slow": ("Tesla T4", 400.0, 0.9),
    "cheap": ("Tesla T4", 400.0, 0.1),
    "middle": ("A10G", 200.0, 0.3),
    "beaten": ("L4", 300.0, 1.2),
    "fast": ("H100-SXM5-80GB", 50.0, 2.0),
    "as fast": ("H100-SXM5-80GB", 50.0, 3.0),
    "dearest": ("A40", 390.0, 9.0),
}


@pytest.fixture
def plans(catalog):
    """Name -> its plan."""
    request = Request(Workload(50_000, 64), Limits())
    return {
        name: plan_of(
            request,
            StepTime(instance=name, latency_ms=latency_ms, basis=Basis.GIVEN),
            replace(catalog["g5.xlarge"], name=name, gpu=gpu, usd_per_hour=usd),
        )
        for name, (gpu, latency_ms, usd) in OFFERS.items()
    }


def names(plans) -> list[str]:
    return [plan.instance for plan in plans]


def test_each_gpu_has_its_cheapest_offer_the_cheapest_first(plans):
    assert names(plan_a_gpu(plans.values())) == ["cheap", "middle", "fast", "beaten", "dearest"]
    # Numbers of GPUs are kept apart.
    node = replace(plans["fast"], offer=replace(plans["fast"].offer, name="node", gpu_count=8), total_usd=9.0)
    assert names(plan_a_gpu([*plans.values(), node]))[-1] == "node"


def test_what_comes_nearest_to_the_frontier_is_listed(plans):
    assert names(shortlist(plans.values(), most=3)) == ["cheap", "middle", "fast"]
    assert names(shortlist(plans.values(), most=4)) == ["cheap", "middle", "fast", "beaten"]
    assert len(shortlist(plans.values(), most=len(OFFERS))) == len(OFFERS)


def test_what_must_be_in_sight_is_listed_whatever_it_costs(plans):
    assert names(shortlist(plans.values(), [plans["dearest"]], most=3)) == ["cheap", "middle", "fast", "dearest"]
    own = replace(plans["slow"], offer=replace(plans["slow"].offer, own=True))
    others = [plan for name, plan in plans.items() if name != "slow"]
    assert "slow" in names(shortlist([own, *others], most=3)) and "slow" in names(plan_a_gpu([own, *others]))


def test_a_worse_offer_in_sight_hides_no_better_one_of_its_gpu(plans):
    expected = {"cheap", "slow", "middle", "fast"}
    assert set(names(shortlist(plans.values(), [plans["slow"]], most=3))) == expected
    assert expected <= set(names(plan_a_gpu(plans.values(), [plans["slow"]])))
    beaten = plans["beaten"]
    worse = replace(beaten, offer=replace(beaten.offer, name="worse"), total_usd=2 * beaten.total_usd)
    assert names(shortlist([*plans.values(), worse], [worse], most=5)) == ["cheap", "middle", "fast", "beaten", "worse"]


def test_others_of_a_gpu_are_named_the_cheapest_first(plans):
    assert names(others_of_gpus(plans.values(), plans["slow"])) == ["cheap"]
    assert names(others_of_gpus(plans.values(), plans["middle"])) == []
