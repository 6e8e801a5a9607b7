"""Real offers: nodes are paid for whole, several nodes several times; and where more stop paying."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core import InputError, load_catalog
from profet_core.catalog.interconnects import load_interconnects
from profet_core.scaleout.curve import batch_per_gpu, strong_scaling, weak_scaling
from profet_core.scaleout.offers import node_counts, node_plan, node_plans, node_step, stops_paying
from profet_core.scaleout.work import GpuStep

STEP = GpuStep(200, 64, 25.6e6)


@pytest.fixture(scope="module")
def p3():
    return replace(load_catalog()["p3.16xlarge"], usd_per_hour=24.0)


def test_a_node_s_price_buys_all_its_gpus(law, p3):
    step = node_step(law, STEP, p3)
    plan = node_plan(law, STEP, p3, images=512 * 100)
    assert (step.gpus, step.batch_size, plan.usd_per_hour) == (8, 512, 24)
    assert plan.epoch_s == pytest.approx(100 * step.latency_ms / 1000)
    assert plan.epoch_usd == pytest.approx(24 * plan.epoch_s / 3600)


def test_several_nodes_cost_several_times_a_node(law, p3):
    plan = node_plan(law, STEP, p3, images=1024 * 100, nodes=2)
    assert (plan.nodes, plan.step.gpus, plan.usd_per_hour) == (2, 16, 48)
    # Between them 25 Gb/s, of which the law has half: 102.4 MB take 65.5 ms once, and two messages 2.
    assert plan.step.sharing_ms[1] == pytest.approx(2 / 2 * 102.4e6 / (25 / 8 * 0.5 * 1e6) + 2)


def test_offers_as_one_node_and_more(law, p3):
    asked = []

    def step_at(offer, batch):
        asked.append((offer.name, batch))
        return replace(STEP, batch_size=batch)

    assert node_counts(p3) == (1, 2, 4, 8)
    plans = node_plans(law, step_at, [p3], images=1000, global_batch=96, most_gpus=32)
    # 96 images can't be shared evenly by 64 GPUs, nor were they asked for.
    assert asked == [("p3.16xlarge", 12), ("p3.16xlarge", 6), ("p3.16xlarge", 3)]
    assert [plan.step.batch_size for plan in plans] == [96, 96, 96]
    assert node_plans(law, lambda *_: None, [p3], images=1000, batch_size=64) == ()


def test_strong_scaling_shares_the_batch(law, p3):
    links = load_interconnects().of(p3)
    found = strong_scaling(law, lambda batch: GpuStep(3.0 * batch, batch, 25.6e6), 256, links, [1, 4, 8])
    assert [(row.batch_per_gpu, row.one_gpu_ms, row.batch_size) for row in found] == [
        (256, 768, 256),
        (64, 192, 256),
        (32, 96, 256),
    ]
    weak = weak_scaling(law, STEP, links, [1, 2, 8, 16])
    assert [(row.batch_size, row.nodes) for row in weak] == [(64, 1), (128, 1), (512, 1), (1024, 2)]
    with pytest.raises(InputError, match="256 can't be shared evenly by 6 GPUs"):
        batch_per_gpu(256, 6)
    with pytest.raises(InputError, match="Unknown strategy 'gossip'"):
        weak_scaling(law, STEP, links, [2], "gossip")


def test_more_gpus_pay_until_an_epoch_gets_dearer_by_more_than_faster():
    assert stops_paying([100, 50, 25], [1, 1, 1]) is None
    # Twice the price for 1.5 times the speed: dearer by 1.33, still less than faster.
    assert stops_paying([150, 100], [3, 4]) is None
    # Twice the price for 1.25 times the speed: dearer by 1.6.
    assert stops_paying([100, 60, 48], [1, 1.2, 1.92]) == 1
    assert stops_paying([100], [1]) is None
