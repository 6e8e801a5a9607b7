"""What must hold of any step on several GPUs, whatever the machine and the network."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core import InputError
from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.files import shipped_folder
from profet_core.latency import Interval
from profet_core.scaleout.law import Strategy
from profet_core.scaleout.model import Width, load_scaleout
from profet_core.scaleout.step import best_step, scaled_step
from profet_core.scaleout.strategies import Layout
from profet_core.scaleout.work import GpuStep

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
    precision=st.sampled_from(["fp32", "fp16"]),
    pixels=st.none() | st.integers(16, 512),
    tensors=st.integers(1, 1000),
)
COUNTS = st.sampled_from([2, 4, 8, 16, 32, 64])
IN_A_NODE = st.sampled_from([2, 3, 4, 8])
BETWEEN = [each for each in Strategy if each is not Strategy.ONE_PROCESS]


@given(STEPS, NODES, st.sampled_from(Strategy))
def test_one_gpu_is_the_single_step_exactly(step, node, strategy):
    step = replace(step, interval=Interval(0.9 * step.latency_ms, 1.2 * step.latency_ms))
    one = scaled_step(SHIPPED, step, node, 1, strategy)
    assert (one.latency_ms, one.interval, one.speed_up) == (step.latency_ms, step.interval, 1.0)


@given(STEPS, NODES, COUNTS, st.sampled_from(BETWEEN))
def test_no_speed_up_beyond_the_number_of_gpus(step, node, gpus, strategy):
    found = scaled_step(SHIPPED, step, node, gpus, strategy)
    assert 0 < found.speed_up <= gpus
    assert found.speed_up_range[0] <= found.speed_up <= found.speed_up_range[1] <= gpus
    assert step.latency_ms <= found.interval.low_ms <= found.latency_ms <= found.interval.high_ms
    # No slower than one GPU after the other, once what is shared came on top.
    assert found.latency_ms <= 2 * step.latency_ms + sum(found.sharing_ms) + _copy_ms(step, node)


def _copy_ms(step, node):
    return 8 * step.input_bytes / (node.pcie_gb_per_s * SHIPPED.host_efficiency * 1e6)


@given(STEPS, NODES, COUNTS, st.sampled_from(BETWEEN), st.floats(1, 10))
def test_more_bandwidth_is_never_slower(step, node, gpus, strategy, factor):
    wider = replace(
        node, link_gb_per_s=node.link_gb_per_s * factor, network_gbit_per_s=node.network_gbit_per_s * factor
    )
    slow, fast = (scaled_step(SHIPPED, step, each, gpus, strategy).latency_ms for each in (node, wider))
    assert fast <= slow


@given(STEPS, NODES, IN_A_NODE, IN_A_NODE, st.sampled_from(Strategy))
def test_efficiency_falls_with_the_number_of_gpus_in_a_node(step, node, one, other, strategy):
    fewer, more = sorted((one, other))
    efficiency = [scaled_step(SHIPPED, step, node, gpus, strategy).efficiency for gpus in (fewer, more)]
    assert efficiency[1] <= efficiency[0]


@given(STEPS, NODES, COUNTS, st.sampled_from(BETWEEN), st.floats(1, 4))
def test_a_larger_batch_a_gpu_is_never_faster(step, node, gpus, strategy, factor):
    larger = replace(step, batch_size=math.ceil(step.batch_size * factor), latency_ms=step.latency_ms * factor**0.1)
    small, large = (scaled_step(SHIPPED, each, node, gpus, strategy).latency_ms for each in (step, larger))
    assert large >= small


@given(STEPS, NODES, COUNTS)
def test_the_best_is_no_worse_than_a_ring(step, node, gpus):
    ring = scaled_step(SHIPPED, step, node, gpus, Strategy.RING)
    assert best_step(SHIPPED, step, node, gpus).latency_ms <= ring.latency_ms


def test_a_step_by_hand(law, node):
    # 25 million FP32 parameters are 100 MB. Eight GPUs are two nodes of four: a ring of 21 ms in each, and
    # 200 + 2 ms between; half of 223 ms hides behind 60 of the 90 ms; 2 x 1 % and 2 % are waited.
    step = scaled_step(law, GpuStep(90, 32, 25e6), node, 8, Strategy.RING)
    assert step.sharing_ms == pytest.approx((21, 202))
    assert step.latency_ms == pytest.approx(30 + 111.5 + 111.5 + 0.04 * 90)
    assert (step.nodes, step.batch_size) == (2, 256)
    assert step.images_per_s == pytest.approx(256 / 0.2566)
    assert step.speed_up == pytest.approx(8 * 90 / 256.6)
    # Sent in half precision it is half as much; mixed precision keeps FP32 gradients.
    half = scaled_step(law, GpuStep(90, 32, 25e6, "fp16"), node, 8, Strategy.RING)
    assert half.sharing_ms == pytest.approx((7.5 + 6, 100 + 2))
    assert scaled_step(law, GpuStep(90, 32, 25e6, "amp"), node, 8, Strategy.RING).sharing_ms == step.sharing_ms


def test_a_copy_that_takes_longer_than_the_step_is_waited_for(law, node):
    step = GpuStep(1.0, 64, 1e3, pixels=224)
    assert scaled_step(law, step, node, 4, Strategy.RING).latency_ms == pytest.approx(2 * 64 * 224**2 * 12 / 7.875e6)


def test_one_gpu_s_error_comes_on_top_of_scaling_s(law, node):
    exact = scaled_step(law, GpuStep(90, 32, 25e6), node, 4, Strategy.RING)
    unsure = scaled_step(law, GpuStep(90, 32, 25e6, interval=Interval(60, 135)), node, 4, Strategy.RING)
    assert exact.interval.high_ms < unsure.interval.high_ms
    assert unsure.interval.low_ms < 90 < exact.interval.low_ms
    assert exact.speed_up_range == unsure.speed_up_range


@pytest.mark.parametrize(
    ("gpus", "line"),
    [(0, "at least 1, not 0"), (6, "6 GPUs are no whole nodes of 4"), (65, "at most 64, not 65"), (2.5, "not 2.5")],
)
def test_other_numbers_of_gpus_are_refused(gpus, line):
    with pytest.raises(InputError, match=line):
        Layout.of(gpus, 4)


def test_one_process_reaches_one_node_and_needs_the_tensors(law, node):
    with pytest.raises(InputError, match="one node, 4"):
        scaled_step(law, GpuStep(90, 32, 25e6, tensors=161), node, 8, Strategy.ONE_PROCESS)
    with pytest.raises(InputError, match="how many weight tensors"):
        scaled_step(law, GpuStep(90, 32, 25e6), node, 4, Strategy.ONE_PROCESS)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"parameters": 0}, "The number of parameters"),
        ({"parameters": 1e13}, "at most 1e\\+12"),
        ({"precision": "fp8"}, "fp32, tf32, fp16, amp"),
        ({"batch_size": 0}, "batch size of one GPU"),
        ({"latency_ms": math.nan}, "step latency on one GPU"),
        ({"pixels": 0}, "number of pixels"),
    ],
)
def test_no_step_of_one_gpu(change, line):
    with pytest.raises(InputError, match=line):
        GpuStep(**{"latency_ms": 90, "batch_size": 32, "parameters": 25e6, **change})


def test_the_width_grows_with_the_doublings_and_with_an_unmeasured_network(law, node):
    def half_width(gpus, strategy=Strategy.RING, gbit=8.0):
        links = replace(node, network_gbit_per_s=gbit)
        return scaled_step(law, GpuStep(90, 32, 25e6, tensors=100), links, gpus, strategy)

    four = half_width(4)
    assert four.log_half_width == pytest.approx(0.05 + 0.5 * (1 - 90 / four.latency_ms) + 0.01)
    alone = half_width(4, Strategy.ONE_PROCESS)
    assert alone.log_half_width == pytest.approx(0.1 + 0.25 * (1 - 90 / alone.latency_ms) + 0.01)
    # Two nodes at the measured 10 Gb/s, and at a hundred times that: as much again for each factor of ten.
    measured, faster = half_width(8, gbit=10.0), half_width(8, gbit=1000.0)
    assert measured.log_half_width == pytest.approx(0.05 + 0.5 * (1 - 90 / measured.latency_ms) + 2 * 0.01)
    assert faster.log_half_width == pytest.approx(3 * (0.05 + 0.5 * (1 - 90 / faster.latency_ms) + 2 * 0.01))


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
    assert two[0].log_half_width != two[1].log_half_width and two[0].latency_ms <= two[1].latency_ms
