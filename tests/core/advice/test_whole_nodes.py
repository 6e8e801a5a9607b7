"""A node's price is for all its GPUs: what they make of one GPU's step, in plans, comparisons and picks, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from profet_core.advice.advise import advise
from profet_core.advice.certainty import compare
from profet_core.advice.plans import Limits, NodeTime, Request, plan_confidence, plan_of
from profet_core.advice.whole_nodes import Gradients, whole_nodes
from profet_core.catalog.interconnects import Link
from profet_core.latency import Basis, Estimate
from profet_core.messages import Code, Note
from profet_core.multi_gpu.law import ScaleoutModel, Width
from tests.made.step_times import HOUR_AT_100_MS, Z90, offer, row

#: Gradients go at the specified speed and none of it hides; scaling is 10 % sure of itself.
PLAIN = ScaleoutModel(
    link_efficiency=dict.fromkeys(Link, 1.0),
    host_efficiency=1.0,
    network_efficiency=1.0,
    message_ms=0.0,
    overlap=0.0,
    straggling=0.0,
    network_straggling=0.0,
    copy_efficiency=1.0,
    tensor_ms=0.0,
    tensor_gpu_ms=0.0,
    widths=dict.fromkeys(Link, Width(math.log(1.1), 0.0, 0.0)),
    one_process_widths=dict.fromkeys(Link, Width(math.log(1.1), 0.0, 0.0)),
)
#: Four GPUs over PCIe 3: 15.75 GB/s.
NODE = offer("g4dn.12xlarge", 6.0, gpu="Tesla T4", gpu_count=4, provider="aws")
ONE = offer("g4dn.xlarge", 1.5, gpu="Tesla T4", provider="aws")
#: 2 x 3/4 of 4 x 26.25 million bytes at 15.75 GB/s: 10 ms, in a ring of four.
GRADIENTS = Gradients(26.25e6)


def scaled(*rows, offers=(NODE, ONE)):
    return whole_nodes(PLAIN, rows, offers, GRADIENTS, batch_size=64)


def plans(*rows, offers=(NODE, ONE)):
    """Of the hour's work."""
    advice = advise(scaled(*rows, offers=offers), offers, HOUR_AT_100_MS)
    return {plan.instance: plan for plan in advice.plans}


def test_a_node_s_step_is_one_gpu_s_and_the_exchange_of_gradients():
    node, one = scaled(row("g4dn.12xlarge", 100, None, Basis.GIVEN), row("g4dn.xlarge", 100, None, Basis.GIVEN))
    assert node.latency_ms == pytest.approx(110)
    assert (node.interval.low_ms, node.interval.high_ms) == pytest.approx((100, 121))
    assert (node.basis, node.note) == (
        Basis.SCALED_OUT,
        "4 GPUs by ring all-reduce over PCIe (assumed: GPUs behind a root port)",
    )
    assert one == row("g4dn.xlarge", 100, None, Basis.GIVEN)
    noted = row("g4dn.12xlarge", 100).changed(notes=(Note(Code.GENERATION), Note(Code.NODE_PRICE, gpus=4)))
    assert scaled(noted)[0].note == f"{node.note}; {Note(Code.GENERATION)}", "no more that it is one GPU's"
    assert (node.gpus, node.scaling_log_sd) == (4, pytest.approx(math.log(1.1) / Z90))


def test_its_training_has_as_many_times_fewer_steps_and_costs_the_whole_node():
    found = plans(row("g4dn.12xlarge", 100), row("g4dn.xlarge", 100))
    node, one = found["g4dn.12xlarge"], found["g4dn.xlarge"]
    # 36 epochs of 64,000 images: 250 steps of 256 instead of 1,000 of 64.
    assert (node.gpus, node.batch_size, one.gpus, one.batch_size) == (4, 256, 1, 64)
    assert (node.total_s, one.total_s) == pytest.approx((36 * 250 * 0.110, 3600))
    assert (node.total_usd, one.total_usd) == pytest.approx((6.0 * 990 / 3600, 1.5))
    assert node.note == "all 4 GPUs train: 256 images per step"
    assert node.gpu_words == "4 × T4, AWS"


def test_its_doubt_is_that_of_the_step_and_that_of_scaling():
    found = plans(row("g4dn.12xlarge", 100, 0.1), row("g4dn.xlarge", 100, 0.1))
    node, one = found["g4dn.12xlarge"], found["g4dn.xlarge"]
    scaling = math.log(1.1) / Z90
    # A step 1.1 times as long is exchanged in as many milliseconds: its error counts for 100 of 110.
    low, high = (100 * math.exp(sign * 0.1 * Z90) + 10 for sign in (-1, 1))
    assert node.deviation == pytest.approx(math.hypot(math.log(high / low) / 2 / Z90, scaling), rel=1e-6)
    assert node.one_gpu_deviation == pytest.approx(math.log(high / low) / 2 / Z90, rel=1e-6)
    assert (one.deviation, one.scaling_deviation) == pytest.approx((0.1, 0.0))
    # As narrow as it is, nobody measured it.
    assert (plan_confidence(node).word, plan_confidence(one).word) == ("fair", "good")


def test_against_one_gpu_of_its_kind_its_own_doubt_remains():
    found = plans(row("g4dn.12xlarge", 100, 0.1), row("g4dn.xlarge", 100, 0.1))
    node, one = found["g4dn.12xlarge"], found["g4dn.xlarge"]
    against = compare(node, one)
    assert against.latency_ratio == pytest.approx(990 / 3600)
    assert against.break_even_usd_per_hour == pytest.approx(1.5 * 3600 / 990)
    # $1.65 against $1.50: the step's error is common to both, the scaling's is not.
    spread = math.hypot(math.log(1.1) / Z90, node.one_gpu_deviation - 0.1)
    assert -math.log(against.latency_ratio_low / against.latency_ratio) == pytest.approx(Z90 * spread)
    assert 0 < against.cheaper < 0.5
    elsewhere = replace(node, offer=replace(node.offer, name="other"), total_usd=2.0)
    assert compare(node, elsewhere).cheaper == 1 and compare(node, elsewhere).latency_ratio == 1


def test_without_nodes_it_is_one_gpu_s_speed_at_the_node_s_price_as_before():
    (plan,) = advise([row("g4dn.12xlarge", 100)], [NODE], HOUR_AT_100_MS).plans
    assert (plan.gpus, plan.total_s, plan.total_usd) == pytest.approx((1, 3600, 6.0))
    assert plan.note == "price of the whole machine with 4 GPUs, speed of one GPU"


def test_what_nobody_knows_of_one_gpu_nobody_knows_of_eight():
    rows = scaled(row("g4dn.12xlarge", None), row("g4dn.xlarge", 100))
    assert rows[0] == row("g4dn.12xlarge", None)
    (plain,) = scaled(row("g4dn.12xlarge", 100, None))
    assert plain.latency_ms == pytest.approx(110) and plain.interval is None
    # More GPUs than were ever measured stay one.
    assert scaled(row("g4dn.12xlarge", 100), offers=[replace(NODE, gpu_count=128)]) == [row("g4dn.12xlarge", 100)]
    (rough,) = scaled(row("g4dn.12xlarge", 100, 0.1, Basis.TRANSFERRED))
    assert rough.basis is Basis.TRANSFERRED and rough.interval.log_half_width > 0.1 * Z90 * 0.9


def test_a_limit_s_chance_is_of_the_node():
    log_sd = math.log(1.1) / Z90
    estimate = Estimate(latency_ms=110, log_sd=log_sd, basis=Basis.SCALED_OUT, least_ms=105.0)
    step = NodeTime("g4dn.12xlarge", estimate, gpus=4, scaling_log_sd=log_sd)
    plan = plan_of(Request(HOUR_AT_100_MS, Limits(deadline_h=0.275)), step, NODE)
    assert plan.in_time == pytest.approx(0.5) and plan.deviation == pytest.approx(math.log(1.1) / Z90)
