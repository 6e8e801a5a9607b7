"""The few of many plans that are worth a row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.advice.plans import Limits, Request, Workload, plan_of
from profet_core.advice.recommend import others_of_gpus, shortlist
from profet_core.latency import Basis, Estimate, StepTime

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
            StepTime(name, Estimate(latency_ms=latency_ms, basis=Basis.GIVEN)),
            replace(catalog["g5.xlarge"], name=name, gpu=gpu, usd_per_hour=usd),
        )
        for name, (gpu, latency_ms, usd) in OFFERS.items()
    }


def names(plans) -> list[str]:
    return [plan.instance for plan in plans]


def test_each_gpu_has_its_cheapest_offer_and_what_must_be_there_is(plans):
    every = plans.values()
    assert names(shortlist(every, [], 9)) == ["cheap", "middle", "fast", "beaten", "dearest"]
    assert names(shortlist(every, [plans["as fast"]], 3)) == ["cheap", "middle", "as fast"]
    own = replace(plans["slow"], offer=replace(plans["slow"].offer, own=True))
    assert names(shortlist([own, plans["cheap"], plans["fast"]], [], 2)) == ["cheap", "slow"]
    # Numbers of GPUs are kept apart.
    node = replace(plans["fast"], offer=replace(plans["fast"].offer, name="node", gpu_count=8), total_usd=9.0)
    assert names(shortlist([*every, node], [], 9))[-1] == "node"


def test_others_of_a_gpu_are_named_the_cheapest_first(plans):
    assert names(others_of_gpus(plans.values(), plans["slow"])) == ["cheap"]
    assert names(others_of_gpus(plans.values(), plans["middle"])) == []
