"""What is known of a GPU's speed: which source counts, and the numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from profet_core.catalog.gpus import Gpu, Gpus, load_gpus
from profet_core.messages import line_of
from profet_core.transfer.law import relative_tails
from profet_core.transfer.model import TransferModel, load_transfer
from profet_core.transfer.specs import TF32_POWER, SpecsLaw, log_tf32_gain
from profet_core.transfer.speed import known_speed, mix_log_sd, target_of
from profet_core.transfer.targets import Source, host_named

#: Twice the FP32 peak makes 2 ** 0.5 as fast, twice the bandwidth 2 ** 0.25; generation 8.0 is e ** 0.4 times as fast.
LAW = SpecsLaw(
    coefficients=np.array([0.1, 0.5, 0.25, 0.4]),
    covariance=np.diag([0.01, 0.04, 0.09, 0.0025]),
    generations=(8.0,),
    generation_log_sd=0.3,
    own_log_sd=0.05,
    gpus=3,
)


@pytest.fixture(scope="module")
def shipped(repository) -> TransferModel:
    return load_transfer(repository / "models")


@pytest.fixture(scope="module")
def v100(shipped) -> Gpu:
    return shipped.gpus["Tesla V100-SXM2-16GB"]


def larger(v100: Gpu, **changed) -> Gpu:
    """A card with twice V100's FP32 peak and four times its bandwidth."""
    specs = {"fp32_tflops": 2 * v100.fp32_tflops, "bandwidth_gb_per_s": 4 * v100.bandwidth_gb_per_s}
    return replace(v100, **{"name": "Made", "compute_capability": 7.2, **specs, **changed})


def test_the_specs_law_by_hand(v100):
    unknown = larger(v100)
    assert LAW.log_speed(unknown, v100) == pytest.approx(0.1 + 0.5 * math.log(2) + 0.25 * math.log(4))
    variance = 0.01 + 0.04 * math.log(2) ** 2 + 0.09 * math.log(4) ** 2 + 0.05**2
    assert LAW.log_sd(unknown, v100) == pytest.approx(math.sqrt(variance + 0.3**2))
    known = larger(v100, compute_capability=8.0)
    assert LAW.log_speed(known, v100) == pytest.approx(LAW.log_speed(unknown, v100) + 0.4)
    assert LAW.log_sd(known, v100) == pytest.approx(math.sqrt(variance + 0.0025))
    assert (LAW.knows(known), LAW.knows(unknown), LAW.knows(larger(v100, compute_capability=None))) == (1, 0, 0)


def test_tf32_gains_by_the_generation_s_ratio_of_peaks(v100):
    cards = [
        larger(v100, name=f"Card {ratio}", tf32_tensor_dense_tflops=ratio * 2 * v100.fp32_tflops)
        for ratio in (1, 8, 16)
    ]
    gains = {log_tf32_gain(Gpus([v100, *cards]), card) for card in cards}
    assert gains == {TF32_POWER * math.log(8)}
    assert log_tf32_gain(Gpus([v100, *cards]), v100) == 0


def test_a_card_far_from_all_others_is_less_certain(shipped, v100):
    near, far = (larger(v100, fp32_tflops=value, bandwidth_gb_per_s=60 * value) for value in (15.0, 0.15))
    assert shipped.specs.log_sd(far, v100) > 1.2 * shipped.specs.log_sd(near, v100)


def test_a_published_gpu_follows_its_point(shipped):
    point = shipped.points["H100-SXM5-80GB"]
    # 1893 images a second against 369 on the V100.
    assert point.published == pytest.approx(math.log(1893 / 369))
    assert abs(point.log_speed - point.published) < 0.03
    speed = known_speed(shipped, shipped.gpus["H100-SXM5-80GB"], True)
    assert (speed.log_speed, speed.log_sd) == (point.log_speed, point.log_sd)
    assert line_of(speed.notes).startswith(
        "from the specs and the published ResNet-50 speed of H100-SXM5-80GB, in TF32"
    )
    # The interval combines the model's spread and the speed's own.
    spread = shipped.spread
    own = math.sqrt(spread.between**2 + spread.within**2 + speed.log_sd**2)
    assert speed.step_log_sd == pytest.approx(own)


def test_rented_gpus_follow_their_points_and_the_law_agrees_without_them(shipped):
    rented = ("A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB", "GH200-96GB", "B200", "GeForce RTX 4090")
    points = [shipped.points[name] for name in rented]
    assert max(abs(one.log_speed - one.published) for one in points) < 0.03
    assert max(abs(one.held_out - one.published) for one in points) < 0.08


def test_other_gpus_go_by_their_specs(shipped, v100):
    l40s = known_speed(shipped, shipped.gpus["L40S"], True)
    assert l40s.log_speed == shipped.specs.log_speed(shipped.gpus["L40S"], v100)
    assert l40s.evidence.source is Source.GENERATION
    amd = known_speed(shipped, shipped.gpus["AMD Instinct MI300X"], True)
    assert amd.evidence.source is Source.SPECS and amd.log_sd > 3 * l40s.log_sd


def test_fp32_is_never_faster_than_tf32(shipped):
    for name, point in shipped.points.items():
        assert known_speed(shipped, shipped.gpus[name], False).log_speed <= point.log_speed, name
    slow = replace(shipped.points["H100-SXM5-80GB"], log_speed=-3.0)
    held = replace(shipped, points={**shipped.points, "H100-SXM5-80GB": slow})
    assert known_speed(held, shipped.gpus["H100-SXM5-80GB"], False).log_speed == -3.0
    # FP32 points count where there are some; a GPU without TF32 has one speed.
    speed = known_speed(shipped, shipped.gpus["A100-SXM4-40GB"], False)
    assert speed.log_speed == shipped.fp32_points["A100-SXM4-40GB"].log_speed
    assert line_of(speed.notes).partition(";")[0].endswith("in FP32")
    p100 = shipped.gpus["Tesla P100-PCIE-16GB"]
    assert known_speed(shipped, p100, True) == known_speed(shipped, p100, False)


@pytest.mark.parametrize("tf32", [True, False])
def test_more_of_everything_in_one_generation_is_not_slower(shipped, tf32):
    """A twentieth more multiprocessors, peak and bandwidth, and at least as much power."""
    columns = ("sm_count", "fp32_tflops", "bandwidth_gb_per_s")
    pairs = 0
    for gpu, other in permutations(load_gpus().values(), 2):
        if gpu.compute_capability is None or gpu.compute_capability != other.compute_capability:
            continue
        if gpu.tdp_w >= other.tdp_w and all(getattr(gpu, name) > 1.05 * getattr(other, name) for name in columns):
            speeds = [known_speed(shipped, one, tf32).log_speed for one in (gpu, other)]
            assert speeds[0] > speeds[1], (gpu.name, other.name)
            pairs += 1
    assert pairs > 50


def test_a_mix_counts_by_how_much_more_arithmetic_grew_than_bandwidth(v100):
    grown = replace(v100, fp32_tflops=2 * v100.fp32_tflops, bandwidth_gb_per_s=8 * v100.bandwidth_gb_per_s)
    assert mix_log_sd(grown, v100, tf32=True) == pytest.approx(math.log(4) / 4)
    assert mix_log_sd(v100, v100, tf32=True) == 0.0
    tensor = replace(v100, tf32_tensor_dense_tflops=4 * v100.fp32_tflops)
    assert mix_log_sd(tensor, v100, tf32=True) == pytest.approx(math.log(4) / 4)
    assert mix_log_sd(tensor, v100, tf32=False) == 0.0


@pytest.mark.parametrize("tf32", [True, False])
def test_every_gpu_with_specs_has_a_speed_a_width_and_a_source(shipped, tf32):
    for gpu in load_gpus().values():
        target, speed = target_of(shipped, gpu, host_named("rome"), tf32)
        assert -4 < target.log_speed < 4 and 0 < target.log_sd < 1.3, gpu.name
        assert (target.log_speed, target.log_sd) == (speed.log_speed, speed.step_log_sd)
        busy_ms = sum(shipped.step.instances[shipped.reference].benchmark_kinds_ms) * math.exp(-target.log_speed)
        assert target.tails == pytest.approx(relative_tails(gpu.sm_count, busy_ms)) and target.host.name == "rome"
        assert "spread of" in line_of(speed.notes)


def test_another_model_is_asked_anew(shipped):
    """What is kept of one model's targets is no other's."""
    gpu, host = shipped.gpus["H100-SXM5-80GB"], host_named("rome")
    before, _ = target_of(shipped, gpu, host, True)
    other = replace(shipped, points={**shipped.points, gpu.name: replace(shipped.points[gpu.name], log_speed=1.0)})
    assert target_of(other, gpu, host, True)[0].log_speed == 1.0
    assert target_of(shipped, gpu, host, True)[0] == before
    own = replace(gpu, name="My GPU", sm_count=7)
    assert target_of(shipped, own, host, True)[0].tails < before.tails
    assert own not in {key[0] for key in shipped.targets}, "custom GPUs are not kept"
