"""Training on several GPUs: formulas and whole nodes by hand, what must hold of any step, and real offers."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from profet_core import InputError
from profet_core.answers.advise import answer_advise
from profet_core.answers.scaleout import answer_scaleout, batch_per_gpu
from profet_core.catalog.interconnects import Interconnect, Link, load_interconnects
from profet_core.errors import Code, Note
from profet_core.files import shipped_folder
from profet_core.latency import Basis, quantile
from profet_core.questions import AdviseQuestion, ScaleoutQuestion, ask
from profet_core.training.advise import advise
from profet_core.training.plans import Limits, costed, plan_confidence
from profet_core.training.recommend import compare
from profet_core.training.scaling_model import (
    IntervalWidth,
    ScaleoutModel,
    Strategy,
    all_reduce_ms,
    input_copy_ms,
    load_scaleout,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)
from profet_core.training.several_gpus import OneGpuStep, nodes_of, scaled_step, whole_nodes
from tests.codes import codes
from tests.made.step_times import HOUR_AT_100_MS, Z90, offer, row, steps_of

#: Half of every bandwidth, half of sharing hidden, a hundredth lost a doubling; no limit by host memory.
MODEL = ScaleoutModel(
    link_efficiency=dict.fromkeys(Link, 0.5),
    host_efficiency=0.5,
    network_efficiency=0.5,
    staged_gb_per_s=1e9,
    overlap=0.5,
    network_overlap=0.5,
    backward_left=1.0,
    straggling=0.01,
    switched_straggling=0.005,
    network_straggling=0.02,
    copy_efficiency=0.5,
    tensor_ms=0.1,
    tensor_gpu_ms=0.2,
    widths={
        False: dict.fromkeys(Link, IntervalWidth(0.05, 0.5, 0.01)),
        True: dict.fromkeys(Link, IntervalWidth(0.1, 0.25, 0.01)),
    },
    network_width=IntervalWidth(0.06, 0.5, 0.02),
)


@pytest.fixture
def model() -> ScaleoutModel:
    return MODEL


@pytest.fixture
def node() -> Interconnect:
    """Four GPUs at 20 GB/s, PCIe 3, two a root port, 8 Gb/s between nodes."""
    return Interconnect(4, Link.NVLINK, 20.0, 3, 2, 8.0, "made up")


#: 100 million bytes: 10 ms over a 20 GB/s link of which half is had.
GRADIENTS = 100e6


def test_sharing_hiding_and_copying_by_hand(model, node):
    # PCIe 3 at half of 15.75 GB/s: 12.698 ms once; two GPUs a root port at a time.
    pcie_ms = 12.698413
    # Four buckets of 25 MB: a message takes 0.04 ms.
    by_hand = {
        Strategy.RING: {1: 0.0, 2: 2 * 1 / 2 * 10 + 2 * 0.04, 4: 2 * 3 / 4 * 10 + 2 * 3 * 0.04},
        Strategy.TREE: {2: 2 * 1 * 10.04, 3: 2 * 2 * 10.04, 4: 2 * 2 * 10.04},
        Strategy.PS_CPU: {1: 0.0, 2: 2 * 2 * pcie_ms + 2 * 0.01, 4: 2 * 2 * pcie_ms + 4 * 0.01},
        Strategy.PS_GPU: {4: 2 * 3 / 4 * 10 + 2 * 3 * 0.04},
    }
    for strategy, rows in by_hand.items():
        for gpus, ms in rows.items():
            assert float(node_sharing_ms(model, strategy, gpus, node, GRADIENTS)) == pytest.approx(ms)
    # Arrays give what numbers give.
    gpus = np.array([1.0, 2.0, 3.0, 4.0])
    for strategy in Strategy:
        together = np.asarray(node_sharing_ms(model, strategy, gpus, node, GRADIENTS))
        assert together.tolist() == [float(node_sharing_ms(model, strategy, gpu, node, GRADIENTS)) for gpu in gpus]
    assert np.asarray(all_reduce_ms(Strategy.TREE, gpus, gpus, 10.0, 1.0)).tolist() == [0, 22, 44, 44]

    def between(strategy, nodes, gbit_per_s, model=model):
        return float(network_sharing_ms(model, strategy, 4 * nodes, nodes, gbit_per_s / 8, GRADIENTS))

    # 8 Gb/s are 1 GB/s, half of it: 200 ms once; the ring is of all 16 GPUs, and a message takes 4 x 0.05 ms.
    assert between(Strategy.RING, 1, 8) == 0
    assert between(Strategy.RING, 4, 8) == pytest.approx(2 * 15 / 16 * 200 + 6 * 0.2)
    assert between(Strategy.TREE, 4, 8) == pytest.approx(4 * 200.2)
    assert between(Strategy.PS_CPU, 4, 8) == between(Strategy.RING, 4, 8)
    # Host memory of 0.5 GB/s halves it; from 200 Gb/s on RDMA has 80 %, whatever host memory has.
    staged = replace(model, staged_gb_per_s=0.5)
    assert between(Strategy.RING, 4, 8, staged) == pytest.approx(2 * 15 / 16 * 400 + 6 * 0.2)
    assert between(Strategy.RING, 4, 200, staged) == pytest.approx(2 * 15 / 16 * 100 / 20 + 6 * 0.2)
    assert between(Strategy.RING, 4, 199, staged) > 30 * between(Strategy.RING, 4, 200, staged)
    several = partial(several_ms, model, Strategy.RING)
    # 90 ms: 60 of them backward. 40 ms of sharing: 20 hidden, 20 on top; 4 GPUs and 2 nodes lose 2 x 1 % and 2 %.
    assert float(several(Link.NVLINK, 90.0, 4, 2, 10.0, 30.0)) == pytest.approx(90 + 20 + 0.04 * 90)
    # With NVSwitch 2 x 0.5 % and 2 %.
    assert float(several(Link.NVSWITCH, 90.0, 4, 2, 10.0, 30.0)) == pytest.approx(90 + 20 + 0.03 * 90)
    # 200 ms: of the 100 that could hide, 60 do; half of those if the first bucket is ready halfway.
    assert float(several(Link.NVLINK, 90.0, 4, 2, 100.0, 100.0)) == pytest.approx(30 + 100 + 100 + 0.04 * 90)
    late = replace(model, backward_left=0.5)
    assert float(several_ms(late, Strategy.RING, Link.NVLINK, 90.0, 4, 2, 0.0, 200.0)) == pytest.approx(260 + 0.04 * 90)
    assert float(several(Link.NVLINK, 90.0, 1, 1, 0.0, 0.0)) == 90
    # A server on the CPU hides like a network.
    all_hides = replace(model, network_overlap=1.0)
    assert float(several_ms(all_hides, Strategy.PS_CPU, Link.PCIE, 90.0, 1, 1, 60.0, 0.0)) == pytest.approx(90)
    assert float(one_process_ms(model, 90.0, 1, node, GRADIENTS, 161)) == 90
    # Out and back at half of 20 GB/s: 2 x 10 ms; 100 tensors: 10 ms, and 20 more for each further GPU.
    assert float(one_process_ms(model, 90.0, 2, node, GRADIENTS, 100)) == pytest.approx(90 + 20 + 10 + 20)
    assert float(one_process_ms(model, 90.0, 4, node, GRADIENTS, 100)) == pytest.approx(90 + 20 + 10 + 60)
    # 64 images of 224 pixels: 38.5 MB; half of 15.75 GB/s.
    one_ms = 64 * 224**2 * 12 / 7.875e6
    assert float(input_copy_ms(model, 1, node, 64 * 224**2 * 12)) == pytest.approx(one_ms)
    assert float(input_copy_ms(model, 4, node, 64 * 224**2 * 12)) == pytest.approx(2 * one_ms)
    # A copy that takes longer than the step is waited for.
    step = scaled_step(model, OneGpuStep(1.0, 64, 1e3, pixels=224), node, 4, Strategy.RING)
    assert step.latency_ms == pytest.approx(2 * one_ms)


SHIPPED = load_scaleout(shipped_folder("models"))
NODES = st.builds(
    Interconnect,
    gpus=st.just(8),
    link=st.sampled_from(Link),
    link_gb_per_s=st.floats(1, 900),
    pcie_generation=st.sampled_from([3, 4, 5]),
    gpus_per_root=st.sampled_from([1, 2, 4, 8]),
    network_gbit_per_s=st.none() | st.floats(1, 3200),
    source=st.just("made up"),
)
STEPS = st.builds(
    OneGpuStep,
    latency_ms=st.floats(0.1, 1e5),
    batch_size=st.integers(1, 1024),
    parameters=st.floats(1e3, 1e9),
    gradients=st.sampled_from(["fp32", "fp16"]),
    pixels=st.none() | st.integers(16, 512),
    tensors=st.integers(1, 1000),
)
COUNTS = st.sampled_from([2, 4, 8, 16, 32, 64])
IN_A_NODE = st.sampled_from([2, 3, 4, 8])
BETWEEN = [strategy for strategy in Strategy if strategy is not Strategy.ONE_PROCESS]


@given(STEPS, NODES, st.sampled_from(Strategy))
def test_one_gpu_is_the_single_step_exactly(step, node, strategy):
    step = replace(step, log_sd=0.1)
    one = scaled_step(SHIPPED, step, node, 1, strategy)
    assert (one.latency_ms, one.log_sd, one.least_ms, one.speed_up) == (step.latency_ms, 0.1, 0.0, 1.0)
    assert one.interval.log_half_width == pytest.approx(quantile() * 0.1)


@given(STEPS, NODES, COUNTS, st.sampled_from(BETWEEN))
def test_no_speed_up_beyond_the_number_of_gpus(step, node, gpus, strategy):
    scaled = scaled_step(SHIPPED, step, node, gpus, strategy)
    assert 0 < scaled.speed_up <= gpus
    assert scaled.speed_up_range[0] <= scaled.speed_up <= scaled.speed_up_range[1] <= gpus
    assert step.latency_ms <= scaled.interval.low_ms <= scaled.latency_ms <= scaled.interval.high_ms


@given(STEPS, NODES, COUNTS, st.sampled_from(BETWEEN), st.floats(1, 10))
def test_more_bandwidth_or_a_smaller_batch_is_never_slower(step, node, gpus, strategy, factor):
    gbit = node.network_gbit_per_s
    links = {"link_gb_per_s": node.link_gb_per_s * factor, "network_gbit_per_s": gbit and gbit * factor}
    larger = replace(step, batch_size=math.ceil(step.batch_size * factor), latency_ms=step.latency_ms * factor**0.1)
    usual_ms = scaled_step(SHIPPED, step, node, gpus, strategy).latency_ms
    assert scaled_step(SHIPPED, step, replace(node, **links), gpus, strategy).latency_ms <= usual_ms
    assert scaled_step(SHIPPED, larger, node, gpus, strategy).latency_ms >= usual_ms


@given(STEPS, NODES, IN_A_NODE, IN_A_NODE, st.sampled_from(Strategy))
def test_efficiency_falls_with_the_number_of_gpus_in_a_node(step, node, one, other, strategy):
    # A bridge is faster than the PCIe that it saves.
    assume(node.link is not Link.BRIDGE or node.link_gb_per_s >= 300)
    fewer, more = sorted((one, other))
    efficiency = [scaled_step(SHIPPED, step, node, gpus, strategy).efficiency for gpus in (fewer, more)]
    assert efficiency[1] <= efficiency[0]


def test_a_step_and_its_errors_by_hand(model, node):
    # 25 million FP32 parameters are 100 MB in four buckets. Eight GPUs are two nodes of four: a ring of 15.24 ms in
    # each, and 2 x 7/8 x 200 + 2 x 0.2 ms between; half of it could hide, 60 of 90 ms do; 2 x 1 % and 2 % are waited.
    step = scaled_step(model, OneGpuStep(90, 32, 25e6), node, 8, Strategy.RING)
    assert step.latency_ms == pytest.approx(30 + 365.64 + 0.04 * 90)
    assert (step.nodes, step.batch_size) == (2, 256)
    assert step.images_per_s == pytest.approx(256 / 0.39924)
    assert step.speed_up == pytest.approx(8 * 90 / 399.24)
    # Sent in half precision it is half as much.
    half = scaled_step(model, OneGpuStep(90, 32, 25e6, "fp16"), node, 8, Strategy.RING)
    assert half.latency_ms == pytest.approx(30 + 7.62 + 175.2 + 0.04 * 90)
    assert scaled_step(model, OneGpuStep(90, 32, 25e6, "bf16"), node, 8, Strategy.RING) == half
    exact, unsure = (
        scaled_step(model, OneGpuStep(90, 32, 25e6, log_sd=log_sd), node, 4, Strategy.RING) for log_sd in (0.0, 0.25)
    )
    assert unsure.interval.low_ms < 90 <= exact.interval.low_ms and exact.interval.high_ms < unsure.interval.high_ms
    assert exact.speed_up_range == unsure.speed_up_range


def test_the_width_grows_with_the_doublings_and_with_an_unknown_network(model, node):
    def step(gpus, strategy=Strategy.RING, gbit=8.0):
        links = replace(node, network_gbit_per_s=gbit)
        return scaled_step(model, OneGpuStep(90, 32, 25e6, tensors=100), links, gpus, strategy)

    for of, least, exposed, doublings in (
        (step(4), 0.05, 0.5, 0.01),
        (step(4, Strategy.ONE_PROCESS), 0.1, 0.25, 0.01),
        (step(8), 0.06, 0.5, 2 * 0.02),
    ):
        expected = least + exposed * (1 - 90 / of.latency_ms) + doublings
        assert quantile() * of.scaling_log_sd == pytest.approx(expected)
    # One whose network is unknown lies between the slowest and the fastest, and its interval holds both.
    slow, fast, unknown = (step(8, gbit=gbit) for gbit in (10.0, 100.0, None))
    assert unknown.latency_ms == pytest.approx(math.sqrt(slow.latency_ms * fast.latency_ms))
    assert unknown.interval.low_ms < fast.latency_ms < slow.latency_ms < unknown.interval.high_ms
    assert step(4, gbit=None) == step(4), "a single machine needs no network"


@pytest.mark.parametrize("strategy", Strategy)
def test_bridges_join_pairs_and_more_gpus_share_over_pcie(model, strategy):
    pcie = {Link.PCIE: IntervalWidth(0.3, 0.1, 0.0)}
    model = replace(model, widths={alone: {**widths, **pcie} for alone, widths in model.widths.items()})
    bridged = Interconnect(8, Link.BRIDGE, 300.0, 4, 2, 8.0, "made up")
    plain = replace(bridged, link=Link.PCIE, link_gb_per_s=31.5)
    step = OneGpuStep(90, 32, 25e6, tensors=100)
    for gpus in (4, 8):
        assert scaled_step(model, step, bridged, gpus, strategy) == scaled_step(model, step, plain, gpus, strategy)
    two = [scaled_step(model, step, links, 2, strategy) for links in (bridged, plain)]
    assert two[0].scaling_log_sd != two[1].scaling_log_sd and two[0].latency_ms <= two[1].latency_ms


ONE_GPU = OneGpuStep(200, 64, 25.6e6)


@pytest.fixture(scope="module")
def p3(catalog):
    return replace(catalog["p3.16xlarge"], usd_per_hour=24.0)


def test_nodes_share_one_step(model, p3):
    links = load_interconnects().of(p3)
    step, at_50_gbit = (
        scaled_step(model, ONE_GPU, replace(links, network_gbit_per_s=gbit), 16, Strategy.RING) for gbit in (25.0, 50.0)
    )
    assert (step.gpus, step.nodes, step.batch_size) == (16, 2, 1024)
    assert step == scaled_step(model, ONE_GPU, links, 16, Strategy.RING)
    # Of 25 Gb/s the scale-out model has half: 102.4 MB take 65.5 ms once, twice as long as at 50; half of it is hidden.
    assert step.latency_ms - at_50_gbit.latency_ms == pytest.approx(2 * 15 / 16 * 65.536 / 2 / 2)


def test_what_can_t_be_is_refused(model, node, p3):
    step = OneGpuStep(90, 32, 25e6)
    refused = {
        "does not divide evenly over 6 GPUs": lambda: batch_per_gpu(256, 6),
        "at least 1, not 0": lambda: nodes_of(0, 4),
        "6 GPUs don't fill whole machines of 4": lambda: nodes_of(6, 4),
        "at most 64, not 65": lambda: nodes_of(65, 4),
        "not 2.5": lambda: nodes_of(2.5, 4),
        "4 GPUs of one machine": lambda: scaled_step(model, replace(step, tensors=161), node, 8, Strategy.ONE_PROCESS),
        "weight tensors": lambda: scaled_step(model, step, node, 4, Strategy.ONE_PROCESS),
        "number of parameters": lambda: replace(step, parameters=0),
        r"at most 1e\+12": lambda: replace(step, parameters=1e13),
        "fp32, fp16, bf16": lambda: replace(step, gradients="fp8"),
        "batch size of one GPU": lambda: replace(step, batch_size=0),
        "step latency on one GPU": lambda: replace(step, latency_ms=math.nan),
        "number of pixels": lambda: replace(step, pixels=0),
    }
    for message, make in refused.items():
        with pytest.raises(InputError, match=message):
            make()
    assert batch_per_gpu(256, 8) == 32


#: Gradients go at the specified speed and none of it hides; scaling is 10 % sure of itself.
PLAIN = replace(
    MODEL,
    link_efficiency=dict.fromkeys(Link, 1.0),
    overlap=0.0,
    straggling=0.0,
    widths={**MODEL.widths, False: dict.fromkeys(Link, IntervalWidth(math.log(1.1), 0.0, 0.0))},
)
#: Four GPUs over PCIe 3: 15.75 GB/s.
NODE = offer("g4dn.12xlarge", 6.0, gpu="Tesla T4", gpu_count=4, provider="aws")
ONE = offer("g4dn.xlarge", 1.5, gpu="Tesla T4", provider="aws")
#: 2 x 3/4 of 4 x 24.99 million bytes at 15.75 GB/s, and six messages of four buckets, 0.02 ms each: 10 ms.
NODE_STEP = partial(OneGpuStep.from_row, batch_size=64, parameters=(10 - 0.48) * 15.75e6 / 6)


def scaled(*rows, offers=(NODE, ONE), notes=()):
    steps = steps_of(rows, [next(offer for offer in offers if offer.name == row.instance) for row in rows])
    return whole_nodes(PLAIN, replace(steps, notes=(notes,) * len(rows)), offers, NODE_STEP)


def plans(*rows, offers=(NODE, ONE)):
    """Of the hour's work."""
    advice = advise(scaled(*rows, offers=offers), offers, HOUR_AT_100_MS)
    return {plan.label: plan for plan in advice.plans}


def is_unscaled(step, latency_ms: float | None) -> bool:
    return (step.latency_ms, step.basis, step.table.gpus[step.number]) == (latency_ms, Basis.MEASURED, 1)


def test_a_node_s_step_is_one_gpu_s_and_the_exchange_of_gradients():
    node, one = scaled(row("g4dn.12xlarge", 100, None, Basis.GIVEN), row("g4dn.xlarge", 100, None, Basis.GIVEN))
    assert node.latency_ms == pytest.approx(110)
    assert (node.interval.low_ms, node.interval.high_ms) == pytest.approx((100, 121))
    assert (node.basis, node.note) == (
        Basis.SCALED_OUT,
        "4 GPUs by ring all-reduce over PCIe (assumed: GPUs behind a root port)",
    )
    assert (one.latency_ms, one.basis, one.interval) == (100, Basis.GIVEN, None)
    noted = scaled(row("g4dn.12xlarge", 100), notes=(Note(Code.GENERATION),))[0]
    assert noted.note == f"{node.note}; {Note(Code.GENERATION)}", "no more that it is one GPU's"
    columns = node.table.gpus, node.table.scaling_log_sd
    assert [column[0] for column in columns] == [4, pytest.approx(math.log(1.1) / Z90)]
    rows = scaled(row("g4dn.12xlarge", None), row("g4dn.xlarge", 100))
    assert is_unscaled(rows[0], None)
    (plain,) = scaled(row("g4dn.12xlarge", 100, None))
    assert plain.latency_ms == pytest.approx(110) and plain.interval is None
    # More GPUs than were ever measured stay one.
    assert is_unscaled(scaled(row("g4dn.12xlarge", 100), offers=[replace(NODE, gpu_count=128)])[0], 100)
    (rough,) = scaled(row("g4dn.12xlarge", 100, 0.1, Basis.TRANSFERRED))
    assert rough.basis is Basis.TRANSFERRED and rough.interval.log_half_width > 0.1 * Z90 * 0.9


def test_a_node_s_training_and_its_doubt_by_hand():
    by_name = plans(row("g4dn.12xlarge", 100), row("g4dn.xlarge", 100))
    node, one = by_name["g4dn.12xlarge"], by_name["g4dn.xlarge"]
    # 36 epochs of 64,000 images: 250 steps of 256 instead of 1,000 of 64.
    assert (node.gpus, node.batch_size, one.gpus, one.batch_size) == (4, 256, 1, 64)
    assert (node.total_s, one.total_s) == pytest.approx((36 * 250 * 0.110, 3600))
    assert (node.total_usd, one.total_usd) == pytest.approx((6.0 * 990 / 3600, 1.5))
    assert node.note == "all 4 GPUs train: 256 images per step"
    assert node.name == "4 × T4 · AWS"
    by_name = plans(row("g4dn.12xlarge", 100, 0.1), row("g4dn.xlarge", 100, 0.1))
    node, one = by_name["g4dn.12xlarge"], by_name["g4dn.xlarge"]
    scaling = math.log(1.1) / Z90
    # A step 1.1 times as long is exchanged in as many milliseconds: its error counts for 100 of 110.
    low, high = (100 * math.exp(sign * 0.1 * Z90) + 10 for sign in (-1, 1))
    assert node.deviation == pytest.approx(math.hypot(math.log(high / low) / 2 / Z90, scaling), rel=1e-6)
    assert node.table.one_gpu_deviation[node.number] == pytest.approx(math.log(high / low) / 2 / Z90, rel=1e-6)
    assert (one.deviation, one.table.one_gpu_deviation[one.number]) == pytest.approx((0.1, 0.1))
    # As narrow as it is, nobody measured it.
    assert (plan_confidence(node).word, plan_confidence(one).word) == ("fair", "good")
    (plan,) = advise(steps_of([row("g4dn.12xlarge", 100)]), [NODE], HOUR_AT_100_MS).plans
    assert (plan.gpus, plan.total_s, plan.total_usd) == pytest.approx((1, 3600, 6.0))
    assert plan.note == "price of the whole machine with 4 GPUs, speed of one GPU"
    log_sd = math.log(1.1) / Z90
    step = steps_of([row("g4dn.12xlarge", 110, log_sd, Basis.SCALED_OUT)], [NODE])
    step = replace(step, least_ms=np.array([105.0]), gpus=np.array([4]), scaling_log_sd=np.array([log_sd]))
    (plan,) = costed(HOUR_AT_100_MS, step, Limits(deadline_h=0.275))
    assert plan.in_time == pytest.approx(0.5) and plan.deviation == pytest.approx(math.log(1.1) / Z90)


def test_against_one_gpu_of_its_kind_its_own_doubt_remains():
    other = replace(NODE, name="other", usd_per_hour=8.0)
    made = row("g4dn.12xlarge", 100, 0.1), row("g4dn.xlarge", 100, 0.1), row("other", 100, 0.1)
    by_name = plans(*made, offers=(NODE, ONE, other))
    node, one, elsewhere = by_name["g4dn.12xlarge"], by_name["g4dn.xlarge"], by_name["other"]
    against = compare(node, one)
    assert against.latency_ratio == pytest.approx(990 / 3600)
    assert against.break_even_usd_per_hour == pytest.approx(1.5 * 3600 / 990)
    # $1.65 against $1.50: the step's error is common to both, the scaling's is not.
    spread = math.hypot(math.log(1.1) / Z90, node.table.one_gpu_deviation[node.number] - 0.1)
    assert -math.log(against.latency_ratio_low / against.latency_ratio) == pytest.approx(Z90 * spread)
    assert 0 < against.cheaper < 0.5
    assert compare(node, elsewhere).cheaper == 1 and compare(node, elsewhere).latency_ratio == 1


RESNET = "resnet50-128px-b64-g4dn"


@pytest.fixture(scope="module")
def answered(context):
    """`answered(profile=..., ...)`: what is answered, offers aside."""

    def answer(**given):
        return answer_scaleout(context, ask(ScaleoutQuestion, {"gpu_count": 8, **given}))

    return answer


def recorded_on(samples, gpu: str | None, step_latency_ms: float | None):
    profile = samples[RESNET].profile
    return profile.with_meta(gpu=gpu, step_latency_ms=step_latency_ms)


@pytest.mark.parametrize(
    ("anchor", "gpu"), [("T4", "Tesla T4"), ("H200", "H200-SXM-141GB"), ("RTX 2080 Ti", "GeForce RTX 2080 Ti")]
)
def test_an_anchor_may_be_a_gpu(answered, samples, anchor, gpu):
    answer = answered(profile=recorded_on(samples, None, 300.0), anchor=anchor, gpus=[1, 8])
    assert (answer.gpu, answer.curve[0].step.latency_ms, answer.one_gpu.basis) == (gpu, 300.0, Basis.GIVEN)
    assert answer.curve[0].step.interval is None and answer.curve[1].step.latency_ms > 300


def test_a_profile_may_be_of_a_gpu_that_nobody_profiled_and_of_another_batch(answered, samples):
    answer = answered(profile=recorded_on(samples, "NVIDIA L4", 123.0), gpus=[1, 2])
    assert (answer.gpu, answer.curve[0].step.latency_ms) == ("L4", 123.0)
    # Without a latency it has its offer's step.
    answer = answered(profile=recorded_on(samples, "NVIDIA L4", None), gpus=[1, 2])
    alone = answered(profile=recorded_on(samples, "NVIDIA L4", None), instance="g6.xlarge", gpus=[1])
    assert answer.one_gpu.latency_ms == pytest.approx(alone.one_gpu.latency_ms)
    assert answer.one_gpu.interval is not None
    profile = recorded_on(samples, "NVIDIA L4", 123.0)
    answer = answered(profile=profile, batch=128, gpus=[1, 2])
    assert answer.curve[0].step.batch_per_gpu == 128
    # So slow a step of an L4 may wait for its host.
    assert 1.1 * 123 < answer.curve[0].step.latency_ms < 2.5 * 123
    with pytest.raises(InputError, match="GeForce RTX 2080 Ti at batch"):
        answered(profile=recorded_on(samples, "NVIDIA GeForce RTX 2080 Ti", None))


MEASURED = {"step_ms": 200.0, "batch": 64, "network": "ResNet50", "gpu_count": None}


def test_cards_without_peer_access_and_unmeasured_networks_are_noted(answered):
    geforce = answered(**MEASURED, gpu=["RTX 3090"], gpus=[1, 2, 8])
    assert codes(geforce) == [Code.NO_PEER_ACCESS]
    two, eight = (row.step for row in geforce.curve[1:])
    assert eight.scaling_log_sd > two.scaling_log_sd + 0.09
    assert answered(**MEASURED, gpu=["RTX 3090"], gpus=[1, 2]).warnings == ()
    assert answered(**MEASURED, gpu=["V100"], gpus=[1, 8]).warnings == ()
    several = {**MEASURED, "gpu": ["A100-SXM4-40GB"], "gpus": [8, 16]}
    unmeasured = (Note(Code.UNMEASURED_LINK, gbit_per_s=400),)
    assert answered(**several, instance="p4d.24xlarge").warnings == unmeasured
    assert codes(answered(**several)) == [Code.UNKNOWN_NETWORK]
    assert answered(**several, network_gbit_per_s=100.0).warnings == ()
    assert answered(**{**several, "gpus": [8]}, instance="p4d.24xlarge").warnings == ()


def test_no_number_of_gpus_is_more_times_as_fast_as_one(answered, samples):
    answer = answered(profile=samples[RESNET].profile, anchor="g4dn.xlarge", global_batch=1000)
    assert {row.step.gpus for row in answer.curve} >= {2, 4, 8}
    for scaled_row in answer.curve:
        assert scaled_row.over_one is not None and scaled_row.over_one <= scaled_row.step.gpus
        assert scaled_row.over_one <= scaled_row.step.speed_up * (1 + 1e-9)


def test_a_measured_step_shares_the_batch_where_it_is_known(answered):
    answer = answered(**MEASURED, gpu=["V100"], global_batch=512, gpus=[8])
    (row,) = answer.curve
    assert (row.step.batch_per_gpu, row.step.one_gpu_ms, row.over_one) == (64, 200.0, None)
    assert {plan.offer.gpu_count for plan in answer.plans} == {8}
    # Unasked, the one number of GPUs that it tells.
    assert [row.step.gpus for row in answered(**MEASURED, gpu=["V100"], global_batch=512).curve] == [8]
    with pytest.raises(InputError, match="The measured step is for batch 64 per GPU, not 128"):
        answered(**MEASURED, gpu=["V100"], global_batch=512, gpus=[4])


def test_whole_nodes_cost_what_advice_says(context, samples):
    sample = samples[RESNET]
    asked = AdviseQuestion(profile=sample.profile, latency_ms=sample.latency_ms, images=50_000, whole_nodes=True)
    advice = answer_advise(context, structs.replace(asked, anchor=sample.anchor))
    question = ScaleoutQuestion(
        sample.profile, sample.anchor, latency_ms=sample.latency_ms, images=50_000, market="on-demand"
    )
    answer = answer_scaleout(context, question)
    plans = {plan.label: plan for plan in advice.advice.plans if plan.gpus > 1}
    shared = [plan for plan in answer.plans if plan.label in plans]
    assert len(shared) > 30
    for plan in shared:
        other = plans[plan.label]
        assert (plan.epoch_s, plan.epoch_usd, plan.plan.interval) == (other.total_s, other.total_usd, other.interval)


def test_nodes_together_are_paid_together(context):
    gpu = context.catalog["lambda/gpu_8x_v100_n"].gpu
    given = {"step_ms": 100.0, "batch": 64, "parameters": 25.6e6, "gpu": [gpu]}
    one = answer_scaleout(context, ask(ScaleoutQuestion, given))
    two = answer_scaleout(context, ask(ScaleoutQuestion, {**given, "total_gpus": 16}))
    single = {plan.label: plan for plan in one.plans}
    pairs = [plan for plan in two.plans if plan.label in single and plan.offer.gpu_count == 8]
    assert pairs and all(plan.step.gpus == 16 for plan in two.plans)
    for plan in pairs:
        assert plan.usd_per_hour == 2 * single[plan.label].usd_per_hour
    for scaled_row in two.curve:
        assert scaled_row.others[scaled_row.step.strategy].epoch_s == scaled_row.epoch_s
    with pytest.raises(InputError, match="at most 64"):
        answer_scaleout(context, ask(ScaleoutQuestion, {**given, "total_gpus": 65}))
