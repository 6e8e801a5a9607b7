"""Real offers: nodes are paid for whole, several nodes several times; and where more stop paying."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core import InputError, load_catalog
from profet_core.scaleout.curve import batch_per_gpu, usual_counts
from profet_core.scaleout.offers import node_plan, node_step, stops_paying
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


def test_a_batch_is_shared_evenly_or_not_at_all():
    assert batch_per_gpu(256, 8) == 32
    with pytest.raises(InputError, match="256 can't be shared evenly by 6 GPUs"):
        batch_per_gpu(256, 6)


def test_an_unknown_strategy_is_refused(law, p3):
    with pytest.raises(InputError, match="Unknown strategy 'gossip'"):
        node_step(law, STEP, p3, strategy="gossip")


def test_more_gpus_pay_until_an_epoch_gets_dearer_by_more_than_faster():
    assert stops_paying([100, 50, 25], [1, 1, 1]) is None
    # Twice the price for 1.5 times the speed: dearer by 1.33, still less than faster.
    assert stops_paying([150, 100], [3, 4]) is None
    # Twice the price for 1.25 times the speed: dearer by 1.6.
    assert stops_paying([100, 60, 48], [1, 1.2, 1.92]) == 1
    assert stops_paying([100], [1]) is None


def test_without_a_word_parts_of_a_node_and_whole_ones_are_looked_at():
    assert usual_counts(1) == usual_counts(8) == (1, 2, 4, 8, 16, 32, 64)
    assert usual_counts(3) == (1, 2, 3, 6, 12, 24, 48)
    assert usual_counts(6) == (1, 2, 4, 6, 12, 24, 48) and usual_counts(72) == (1, 2, 4, 8, 16, 32, 64)
    # Larger than what was measured: parts of it only.
    assert usual_counts(128) == (1, 2, 4, 8, 16, 32, 64)
