"""What is known of a GPU's speed: which source counts, and the numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from profet_core.catalog.gpus import Gpu, load_gpus
from profet_core.messages import words_of
from profet_core.transfer.model import BenchmarkPoint, TransferModel, load_transfer
from profet_core.transfer.speed import (
    half_and_half,
    kernel_log_speed,
    known_speed,
    log_bandwidth,
    mix_log_sd,
    target_of,
)
from profet_core.transfer.targets import host_named


@pytest.fixture(scope="module")
def shipped(repository) -> TransferModel:
    return load_transfer(repository / "models")


@pytest.fixture(scope="module")
def v100(shipped) -> Gpu:
    return shipped.gpus["Tesla V100-SXM2-16GB"]


def unlike_any(v100: Gpu, **changed) -> Gpu:
    """A V100 under a name, capability and size that no source has."""
    return replace(v100, **{"name": "Made", "compute_capability": 7.2, "sm_count": 77, **changed})


def test_an_own_point_is_the_published_ratio_less_tails(shipped):
    point = shipped.points["H100-SXM5-80GB"]
    # 1893 images a second against 369 on the V100.
    assert point.log_throughput == pytest.approx(math.log(1893 / 369))
    # Tails of 132 multiprocessors are part of the published step: its work alone gains more.
    assert point.log_throughput < point.log_speed < point.log_throughput + 0.5
    speed = known_speed(shipped, shipped.gpus["H100-SXM5-80GB"], True)
    assert (speed.log_speed, speed.log_sd) == (point.log_speed, point.log_sd)
    assert words_of(speed.notes).startswith("TF32, published ResNet-50 training speed of H100-SXM5-80GB")
    # The interval combines the model's spread and the speed's own.
    spread = shipped.spread
    own = math.sqrt(spread.between**2 + spread.within**2 + speed.log_sd**2)
    assert speed.step_log_sd == pytest.approx(own)
    # Tables of one GPU are averaged and agree by their number.
    a100 = shipped.points["A100-SXM4-40GB"]
    assert (a100.tables, point.tables) == (3, 1) and a100.log_sd == pytest.approx(point.log_sd / math.sqrt(3))
    assert shipped.points["A100-PCIE-40GB"].log_speed == a100.log_speed


def test_l4_goes_by_its_kernels(shipped):
    l4 = shipped.gpus["L4"]
    assert math.exp(log_bandwidth(shipped, l4)) == pytest.approx(0.288, abs=5e-4)
    speed = known_speed(shipped, l4, True)
    assert "its kernels' speeds" in words_of(speed.notes)
    # 61.5 % of the benchmark are convolutions, at the product's 0.677 of V100 times the root of TF32's peak
    # over FP32's (60 and 30.3 TFLOP/s); the rest 0.288.
    assert math.exp(speed.log_speed) == pytest.approx(
        1 / (0.6155 / (0.6775 * math.sqrt(60 / 30.3)) + 0.3845 / 0.2883), rel=1e-3
    )
    fp32 = known_speed(shipped, l4, False)
    assert math.exp(fp32.log_speed) == pytest.approx(1 / (0.6155 / 0.6775 + 0.3845 / 0.2883), rel=1e-3)
    assert speed.log_sd == shipped.kernel_log_sd == 0.2
    # Kernels speak for convolutions where they were measured.
    a100 = math.exp(kernel_log_speed(shipped, shipped.gpus["A100-SXM4-80GB"], False))
    assert a100 == pytest.approx(1 / (0.6155 / 1.1423 + 0.3845 / 2.0314), rel=1e-3)
    # Without a kernel, the bandwidth is the specified one.
    assert math.exp(log_bandwidth(shipped, shipped.gpus["H100-SXM5-80GB"])) == pytest.approx(3350 / 900, rel=0.01)


def test_a_gpu_that_no_source_names_goes_by_its_data_sheet_alone(shipped, v100):
    twice = unlike_any(v100, fp32_tflops=2 * v100.fp32_tflops, bandwidth_gb_per_s=8 * v100.bandwidth_gb_per_s)
    speed = known_speed(shipped, twice, True)
    assert math.exp(speed.log_speed) == pytest.approx(4.0), "half of each"
    assert speed.log_sd == shipped.sheet_log_sd
    assert words_of(speed.notes).startswith("FP32, no published benchmark: specs only")
    assert half_and_half(4.0, 9.0) == pytest.approx(math.log(6))
    # FP32 alone tells nothing, TF32's peak 4: half of that in the logarithm.
    tensor = unlike_any(v100, tf32_tensor_dense_tflops=16 * v100.fp32_tflops)
    assert [math.exp(known_speed(shipped, tensor, tf32).log_speed) for tf32 in (True, False)] == pytest.approx([2, 1])


def test_the_same_chip_is_surer_than_a_relative_and_that_than_a_data_sheet(shipped, v100):
    gpus = shipped.gpus
    card = gpus["Tesla V100-PCIE-16GB"]
    chip = known_speed(shipped, card, True)
    assert chip.log_speed == pytest.approx(
        (math.log(card.fp32_tflops / v100.fp32_tflops) + math.log(card.bandwidth_gb_per_s / v100.bandwidth_gb_per_s))
        / 2
    )
    assert chip.log_sd == pytest.approx(shipped.same_chip_log_sd)
    assert "Tesla V100-SXM2-16GB has the same chip" in words_of(chip.notes)
    relative = known_speed(shipped, unlike_any(v100, compute_capability=8.6, tf32_tensor_dense_tflops=30.0), True)
    assert "scaled by specs" in words_of(relative.notes)
    assert chip.log_sd < relative.log_sd < shipped.sheet_log_sd + 0.2


def test_fp32_is_never_faster_than_the_published_tf32(shipped):
    for name, point in shipped.points.items():
        assert known_speed(shipped, shipped.gpus[name], False).log_speed <= point.log_speed, name
    slow = BenchmarkPoint(log_speed=-3.0, log_sd=0.1, measured_on="A100-SXM4-40GB", tables=1, log_throughput=-3.0)
    held = replace(shipped, points={**shipped.points, "H100-SXM5-80GB": slow})
    assert known_speed(held, shipped.gpus["H100-SXM5-80GB"], False).log_speed == -3.0
    # FP32 points count where there are some; a GPU without TF32 has one speed.
    speed = known_speed(shipped, shipped.gpus["A100-SXM4-40GB"], False)
    assert speed.log_speed == shipped.fp32_points["A100-SXM4-40GB"].log_speed
    assert words_of(speed.notes).startswith("FP32, published")
    p100 = shipped.gpus["Tesla P100-PCIE-16GB"]
    assert known_speed(shipped, p100, True) == known_speed(shipped, p100, False)


def test_a_mix_counts_by_how_much_more_arithmetic_grew_than_bandwidth(v100):
    grown = replace(v100, fp32_tflops=2 * v100.fp32_tflops, bandwidth_gb_per_s=8 * v100.bandwidth_gb_per_s)
    assert mix_log_sd(grown, v100, tf32=True) == pytest.approx(math.log(4) / 4)
    assert mix_log_sd(v100, v100, tf32=True) == 0.0
    tensor = replace(v100, tf32_tensor_dense_tflops=4 * v100.fp32_tflops)
    assert mix_log_sd(tensor, v100, tf32=True) == pytest.approx(math.log(4) / 4)
    assert mix_log_sd(tensor, v100, tf32=False) == 0.0


@pytest.mark.parametrize("tf32", [True, False])
def test_every_gpu_with_a_data_sheet_has_a_speed_a_width_and_a_source(shipped, tf32):
    for gpu in load_gpus().values():
        target, speed = target_of(shipped, gpu, host_named("rome"), tf32)
        assert -4 < target.log_speed < 4 and 0 < target.log_sd < 1.3, gpu.name
        assert (target.log_speed, target.log_sd) == (speed.log_speed, speed.step_log_sd)
        assert (target.multiprocessors, target.host.name) == (gpu.sm_count, "rome")
        assert "90% if errors are log-normal" in words_of(speed.notes)


def test_another_model_is_asked_anew(shipped):
    """What is kept of one model's targets is no other's."""
    gpu, host = shipped.gpus["H100-SXM5-80GB"], host_named("rome")
    before, _ = target_of(shipped, gpu, host, True)
    other = replace(shipped, points={**shipped.points, gpu.name: replace(shipped.points[gpu.name], log_speed=1.0)})
    assert target_of(other, gpu, host, True)[0].log_speed == 1.0
    assert target_of(shipped, gpu, host, True)[0] == before
    own = replace(gpu, name="My GPU", sm_count=7)
    assert target_of(shipped, own, host, True)[0].multiprocessors == 7
    assert own not in {key[0] for key in shipped.targets}, "somebody's own is let go"
