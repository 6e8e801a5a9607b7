"""Training on several GPUs: every formula by hand, what must hold of any step, and real offers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core import InputError
from profet_core.answers.scaleout import batch_per_gpu, stops_paying, usual_counts
from profet_core.catalog.interconnects import Interconnect, Link, load_interconnects
from profet_core.files import shipped_folder
from profet_core.latency import quantile
from profet_core.multi_gpu.law import (
    ScaleoutModel,
    Strategy,
    Width,
    all_reduce_ms,
    input_copy_ms,
    load_scaleout,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)
from profet_core.multi_gpu.step import GpuStep, nodes_of, scaled_step


@pytest.fixture
def law() -> ScaleoutModel:
    """Half of every bandwidth, a millisecond a message, half of sharing hidden, a hundredth lost a doubling."""
    return ScaleoutModel(
        link_efficiency=dict.fromkeys(Link, 0.5),
        host_efficiency=0.5,
        network_efficiency=0.5,
        message_ms=1.0,
        overlap=0.5,
        straggling=0.01,
        network_straggling=0.02,
        copy_efficiency=0.5,
        tensor_ms=0.1,
        tensor_gpu_ms=0.2,
        widths=dict.fromkeys(Link, Width(0.05, 0.5, 0.01)),
        one_process_widths=dict.fromkeys(Link, Width(0.1, 0.25, 0.01)),
    )


@pytest.fixture
def node() -> Interconnect:
    """Four GPUs at 20 GB/s, PCIe 3, two a root port, 8 Gb/s between nodes."""
    return Interconnect(4, Link.NVLINK, 20.0, 3, 2, 8.0, "made up")


# --- by hand ---------------------------------------------------------------------------------------------------------


#: 100 million bytes: 10 ms over a 20 GB/s link of which half is had.
GRADIENTS = 100e6


def test_sharing_within_a_node(law, node):
    # PCIe 3 at half of 15.75 GB/s: 12.698 ms once; two GPUs a root port at a time.
    pcie_ms = 12.698413
    by_hand = {
        Strategy.RING: {1: 0.0, 2: 2 * 1 / 2 * 10 + 2 * 1, 4: 2 * 3 / 4 * 10 + 2 * 3},
        Strategy.TREE: {2: 2 * 1 * (10 + 1), 3: 2 * 2 * (10 + 1), 4: 2 * 2 * (10 + 1)},
        Strategy.PS_CPU: {1: 0.0, 2: 2 * 2 * pcie_ms + 2, 4: 2 * 2 * pcie_ms + 4},
        Strategy.PS_GPU: {4: 2 * 3 / 4 * 10 + 2 * 3},
    }
    for strategy, rows in by_hand.items():
        for gpus, ms in rows.items():
            assert float(node_sharing_ms(law, strategy, gpus, node, GRADIENTS)) == pytest.approx(ms)
    # Arrays give what numbers give.
    gpus = np.array([1.0, 2.0, 3.0, 4.0])
    for strategy in Strategy:
        together = np.asarray(node_sharing_ms(law, strategy, gpus, node, GRADIENTS))
        assert together.tolist() == [float(node_sharing_ms(law, strategy, each, node, GRADIENTS)) for each in gpus]
    assert np.asarray(all_reduce_ms(Strategy.TREE, gpus, 10.0, 1.0)).tolist() == [0, 22, 44, 44]


def test_sharing_between_nodes_is_the_network_s(law, node):
    # 8 Gb/s are 1 GB/s, half of it: 200 ms once.
    assert float(network_sharing_ms(law, Strategy.RING, 1, node, GRADIENTS)) == 0
    assert float(network_sharing_ms(law, Strategy.RING, 4, node, GRADIENTS)) == pytest.approx(1.5 * 200 + 6)
    assert float(network_sharing_ms(law, Strategy.TREE, 4, node, GRADIENTS)) == pytest.approx(4 * 201)
    assert float(network_sharing_ms(law, Strategy.PS_CPU, 4, node, GRADIENTS)) == pytest.approx(1.5 * 200 + 6)


def test_half_of_sharing_hides_behind_the_backward_pass(law):
    # 90 ms: 60 of them backward. 40 ms of sharing: 20 hidden, 20 on top; 4 GPUs and 2 nodes lose 2 x 1 % and 2 %.
    assert float(several_ms(law, 90.0, 4, 2, 40.0)) == pytest.approx(90 + 20 + 0.04 * 90)
    # 200 ms: of the 100 that could hide, 60 do.
    assert float(several_ms(law, 90.0, 4, 2, 200.0)) == pytest.approx(30 + 100 + 100 + 0.04 * 90)
    assert float(several_ms(law, 90.0, 1, 1, 0.0)) == 90


def test_one_process_copies_once_and_launches_for_each_gpu(law, node):
    assert float(one_process_ms(law, 90.0, 1, node, GRADIENTS, 161)) == 90
    # Out and back at half of 20 GB/s: 2 x 10 ms; 100 tensors: 10 ms, and 20 more for each further GPU.
    assert float(one_process_ms(law, 90.0, 2, node, GRADIENTS, 100)) == pytest.approx(90 + 20 + 10 + 20)
    assert float(one_process_ms(law, 90.0, 4, node, GRADIENTS, 100)) == pytest.approx(90 + 20 + 10 + 60)


def test_the_input_of_gpus_behind_one_root_port_is_copied_by_turns(law, node):
    # 64 images of 224 pixels: 38.5 MB; half of 15.75 GB/s.
    one_ms = 64 * 224**2 * 12 / 7.875e6
    assert float(input_copy_ms(law, 1, node, 64 * 224**2 * 12)) == pytest.approx(one_ms)
    assert float(input_copy_ms(law, 4, node, 64 * 224**2 * 12)) == pytest.approx(2 * one_ms)
    # A copy that takes longer than the step is waited for.
    step = scaled_step(law, GpuStep(1.0, 64, 1e3, pixels=224), node, 4, Strategy.RING)
    assert step.latency_ms == pytest.approx(2 * one_ms)


# --- any step --------------------------------------------------------------------------------------------------------


SHIPPED = load_scaleout(shipped_folder("models"))
NODES = st.builds(
    Interconnect,
    gpus=st.just(8),
    link=st.sampled_from(Link),
    link_gb_per_s=st.floats(1, 900),
    pcie_generation=st.sampled_from([3, 4, 5]),
    gpus_per_root=st.sampled_from([1, 2, 4, 8]),
    network_gbit_per_s=st.floats(1, 3200),
    source=st.just("made up"),
)
STEPS = st.builds(
    GpuStep,
    latency_ms=st.floats(0.1, 1e5),
    batch_size=st.integers(1, 1024),
    parameters=st.floats(1e3, 1e9),
    gradients=st.sampled_from(["fp32", "fp16"]),
    pixels=st.none() | st.integers(16, 512),
    tensors=st.integers(1, 1000),
)
COUNTS = st.sampled_from([2, 4, 8, 16, 32, 64])
IN_A_NODE = st.sampled_from([2, 3, 4, 8])
BETWEEN = [each for each in Strategy if each is not Strategy.ONE_PROCESS]


@given(STEPS, NODES, st.sampled_from(Strategy))
def test_one_gpu_is_the_single_step_exactly(step, node, strategy):
    step = replace(step, log_sd=0.1)
    one = scaled_step(SHIPPED, step, node, 1, strategy)
    assert (one.latency_ms, one.interval, one.speed_up) == (step.latency_ms, one.estimate.interval_at(), 1.0)
    assert (one.estimate.log_sd, one.estimate.least_ms) == (0.1, 0.0)


@given(STEPS, NODES, COUNTS, st.sampled_from(BETWEEN))
def test_no_speed_up_beyond_the_number_of_gpus(step, node, gpus, strategy):
    found = scaled_step(SHIPPED, step, node, gpus, strategy)
    assert 0 < found.speed_up <= gpus
    assert found.speed_up_range[0] <= found.speed_up <= found.speed_up_range[1] <= gpus
    assert step.latency_ms <= found.interval.low_ms <= found.latency_ms <= found.interval.high_ms


@given(STEPS, NODES, COUNTS, st.sampled_from(BETWEEN), st.floats(1, 10))
def test_more_bandwidth_or_a_smaller_batch_is_never_slower(step, node, gpus, strategy, factor):
    links = {"link_gb_per_s": node.link_gb_per_s * factor, "network_gbit_per_s": node.network_gbit_per_s * factor}
    larger = replace(step, batch_size=math.ceil(step.batch_size * factor), latency_ms=step.latency_ms * factor**0.1)
    usual_ms = scaled_step(SHIPPED, step, node, gpus, strategy).latency_ms
    assert scaled_step(SHIPPED, step, replace(node, **links), gpus, strategy).latency_ms <= usual_ms
    assert scaled_step(SHIPPED, larger, node, gpus, strategy).latency_ms >= usual_ms


@given(STEPS, NODES, IN_A_NODE, IN_A_NODE, st.sampled_from(Strategy))
def test_efficiency_falls_with_the_number_of_gpus_in_a_node(step, node, one, other, strategy):
    fewer, more = sorted((one, other))
    efficiency = [scaled_step(SHIPPED, step, node, gpus, strategy).efficiency for gpus in (fewer, more)]
    assert efficiency[1] <= efficiency[0]


def test_a_step_by_hand(law, node):
    # 25 million FP32 parameters are 100 MB. Eight GPUs are two nodes of four: a ring of 21 ms in each, and
    # 200 + 2 ms between; half of 223 ms hides behind 60 of the 90 ms; 2 x 1 % and 2 % are waited.
    step = scaled_step(law, GpuStep(90, 32, 25e6), node, 8, Strategy.RING)
    assert step.sharing_ms == pytest.approx((21, 202))
    assert step.latency_ms == pytest.approx(30 + 111.5 + 111.5 + 0.04 * 90)
    assert (step.nodes, step.batch_size) == (2, 256)
    assert step.images_per_s == pytest.approx(256 / 0.2566)
    assert step.speed_up == pytest.approx(8 * 90 / 256.6)
    # Sent in half precision it is half as much.
    half = scaled_step(law, GpuStep(90, 32, 25e6, "fp16"), node, 8, Strategy.RING)
    assert half.sharing_ms == pytest.approx((7.5 + 6, 100 + 2))
    assert scaled_step(law, GpuStep(90, 32, 25e6, "bf16"), node, 8, Strategy.RING).sharing_ms == half.sharing_ms


def test_one_gpu_s_error_comes_on_top_of_scaling_s(law, node):
    exact, unsure = (
        scaled_step(law, GpuStep(90, 32, 25e6, log_sd=log_sd), node, 4, Strategy.RING) for log_sd in (0.0, 0.25)
    )
    assert unsure.interval.low_ms < 90 < exact.interval.low_ms and exact.interval.high_ms < unsure.interval.high_ms
    assert exact.speed_up_range == unsure.speed_up_range


def test_the_width_grows_with_the_doublings_and_with_an_unmeasured_network(law, node):
    def half_width(gpus, strategy=Strategy.RING, gbit=8.0):
        links = replace(node, network_gbit_per_s=gbit)
        return scaled_step(law, GpuStep(90, 32, 25e6, tensors=100), links, gpus, strategy)

    four = half_width(4)
    assert quantile() * four.log_sd == pytest.approx(0.05 + 0.5 * (1 - 90 / four.latency_ms) + 0.01)
    alone = half_width(4, Strategy.ONE_PROCESS)
    assert quantile() * alone.log_sd == pytest.approx(0.1 + 0.25 * (1 - 90 / alone.latency_ms) + 0.01)
    # Two nodes at the measured 10 Gb/s, and at a hundred times that: as much again for each factor of ten.
    measured, faster = half_width(8, gbit=10.0), half_width(8, gbit=1000.0)
    assert quantile() * measured.log_sd == pytest.approx(0.05 + 0.5 * (1 - 90 / measured.latency_ms) + 2 * 0.01)
    assert quantile() * faster.log_sd == pytest.approx(3 * (0.05 + 0.5 * (1 - 90 / faster.latency_ms) + 2 * 0.01))


@pytest.mark.parametrize("strategy", Strategy)
def test_bridges_join_pairs_and_more_gpus_share_over_pcie(law, strategy):
    pcie = {Link.PCIE: Width(0.3, 0.1, 0.0)}
    law = replace(law, widths={**law.widths, **pcie}, one_process_widths={**law.one_process_widths, **pcie})
    bridged = Interconnect(8, Link.BRIDGE, 300.0, 4, 2, 8.0, "made up")
    plain = replace(bridged, link=Link.PCIE, link_gb_per_s=31.5)
    step = GpuStep(90, 32, 25e6, tensors=100)
    for gpus in (4, 8):
        assert scaled_step(law, step, bridged, gpus, strategy) == scaled_step(law, step, plain, gpus, strategy)
    two = [scaled_step(law, step, each, 2, strategy) for each in (bridged, plain)]
    assert two[0].log_sd != two[1].log_sd and two[0].latency_ms <= two[1].latency_ms


# --- real offers -----------------------------------------------------------------------------------------------------


ONE_GPU = GpuStep(200, 64, 25.6e6)


@pytest.fixture(scope="module")
def p3(catalog):
    return replace(catalog["p3.16xlarge"], usd_per_hour=24.0)


def test_nodes_share_one_step(law, p3):
    step = scaled_step(law, ONE_GPU, load_interconnects().of(p3), 16, Strategy.RING)
    assert (step.gpus, step.nodes, step.batch_size) == (16, 2, 1024)
    # Between them 25 Gb/s, of which the scale-out model has half: 102.4 MB take 65.5 ms once, and two messages 2.
    assert step.sharing_ms[1] == pytest.approx(2 / 2 * 102.4e6 / (25 / 8 * 0.5 * 1e6) + 2)


def test_what_can_t_be_is_refused(law, node, p3):
    step = GpuStep(90, 32, 25e6)
    refused = {
        "does not divide evenly over 6 GPUs": lambda: batch_per_gpu(256, 6),
        "at least 1, not 0": lambda: nodes_of(0, 4),
        "6 GPUs don't fill whole machines of 4": lambda: nodes_of(6, 4),
        "at most 64, not 65": lambda: nodes_of(65, 4),
        "not 2.5": lambda: nodes_of(2.5, 4),
        "4 GPUs of one machine": lambda: scaled_step(law, replace(step, tensors=161), node, 8, Strategy.ONE_PROCESS),
        "weight tensors": lambda: scaled_step(law, step, node, 4, Strategy.ONE_PROCESS),
        "number of parameters": lambda: replace(step, parameters=0),
        r"at most 1e\+12": lambda: replace(step, parameters=1e13),
        "fp32, fp16, bf16": lambda: replace(step, gradients="fp8"),
        "batch size of one GPU": lambda: replace(step, batch_size=0),
        "step latency on one GPU": lambda: replace(step, latency_ms=math.nan),
        "number of pixels": lambda: replace(step, pixels=0),
    }
    for said, ask in refused.items():
        with pytest.raises(InputError, match=said):
            ask()
    assert batch_per_gpu(256, 8) == 32


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
