"""Rates of a GPU and their basis: which source counts, the rates from specs by hand, and the order of GPUs."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from msgspec.structs import replace

from profet_core.catalog.gpus import Gpu, load_gpus, supported_precisions
from profet_core.errors import line_of
from profet_core.latency import combined_sd
from profet_core.transfer.model import (
    TransferModel,
    benchmark_log_speed,
    known_rates,
    known_speed,
    load_transfer,
    target_of,
)
from profet_core.transfer.rates import NO_FACTORS, SpecRates, no_less, shares_within
from profet_core.transfer.targets import Source, host_named

FROM_SPECS = SpecRates(
    peak=0.5,
    tf32=0.25,
    power=0.2,
    bandwidth=0.9,
    efficiency=-0.1,
    amp_compute=0.8,
    amp_peak=0.3,
    amp_bandwidth=0.4,
    generations={8.0: (0.4, 0.05, -0.1)},
    generation_log_sd=0.3,
    gpu_log_sd=0.12,
    tf32_log_sd=0.1,
    amp_log_sd=0.15,
)
SHARES = [0.0, 0.1, 0.3, 0.5, 0.64, 0.8, 0.95, 1.0]


@pytest.fixture(scope="module")
def shipped(repository) -> TransferModel:
    return load_transfer(repository / "models")


@pytest.fixture(scope="module")
def v100(shipped) -> Gpu:
    return shipped.gpus[shipped.reference_gpu]


def speed(model: TransferModel, gpu: Gpu, tf32: bool = True) -> float:
    """Images per second of ResNet-50 over the V100's."""
    rates = known_rates(model, gpu)
    return math.exp(benchmark_log_speed(model, rates.compute_in(tf32), rates.bandwidth))


def shares(compute: float) -> tuple[float, ...]:
    """Of classes in a ResNet with this share of convolutions."""
    return shares_within(compute, 0.002, 0.38, 0.0)


def test_rates_from_specs_by_hand(v100):
    gpu = replace(
        v100, name="Made", compute_capability=8.0, fp32_tflops=2 * v100.fp32_tflops, tdp_w=4 * v100.tdp_w,
        bandwidth_gb_per_s=3 * v100.bandwidth_gb_per_s, tf32_tensor_dense_tflops=16 * v100.fp32_tflops,
        fp16_tensor_dense_tflops=32 * v100.fp32_tflops,
    )  # fmt: skip
    found = FROM_SPECS.rates(gpu, v100)
    # Twice the peak, twice the watts per peak, TF32 at eight times FP32.
    assert found.fp32_compute == pytest.approx(0.4 + 0.7 * math.log(2) - 0.1)
    assert found.compute == pytest.approx(0.4 + 0.7 * math.log(2) + 0.25 * math.log(8))
    assert found.bandwidth == pytest.approx(0.9 * math.log(3) - 0.1)
    # Half precision at twice TF32, where four times is usual.
    assert found.amp_compute == pytest.approx(0.8 - 0.3 * math.log(2))
    assert found.log_sd == pytest.approx(0.13) and found.tables == 0
    assert found.fp32_log_sd == pytest.approx(math.hypot(0.13, 0.1))
    unknown = FROM_SPECS.rates(replace(gpu, compute_capability=12.0), v100)
    assert unknown.compute == pytest.approx(found.compute - 0.4)
    assert unknown.log_sd == pytest.approx(math.hypot(0.3, 0.12))


def test_published_gpus_follow_their_points_and_others_are_less_sure(shipped):
    published = {"H100-SXM5-80GB": 1893, "H200-SXM-141GB": 2260, "B200": 2967, "A10": 349, "GeForce RTX 4090": 721}
    for name, images_per_s in published.items():
        assert speed(shipped, shipped.gpus[name]) == pytest.approx(images_per_s / 369, rel=0.05), name
    found = known_speed(shipped, shipped.gpus["H100-SXM5-80GB"], True)
    assert line_of(found.notes).startswith("from the specs and published training speeds of H100-SXM5-80GB, in TF32")
    spread = shipped.spread
    wide = shipped.rates.published_width * combined_sd(spread.between, spread.within, found.log_sd)
    assert found.step_log_sd == pytest.approx(wide) and shipped.rates.published_width > 1
    a100, laptop, amd = (shipped.gpus[name] for name in ("A100-SXM4-80GB", "GeForce RTX 4080 Laptop GPU", "B300"))
    widths = [known_speed(shipped, gpu, True).log_sd for gpu in (a100, laptop, amd)]
    assert widths == sorted(widths) and widths[2] > 2 * widths[1]
    assert known_speed(shipped, laptop, True).step_log_sd >= shipped.rates.published_width * shipped.spread.log_sd()
    assert known_speed(shipped, laptop, True).evidence.source is Source.GENERATION
    assert known_speed(shipped, shipped.gpus["AMD Instinct MI300X"], True).evidence.source is Source.SPECS
    assert known_speed(shipped, a100, True).evidence.tables > 2


def test_fp32_is_never_faster_than_tf32_and_no_surer(shipped):
    for gpu in shipped.gpus.values():
        rates = known_rates(shipped, gpu)
        assert rates.fp32_compute <= rates.compute + 1e-9, gpu.name
        assert known_speed(shipped, gpu, False).log_sd >= rates.log_sd - 1e-9 or gpu.tf32_tensor_dense_tflops
    fp32 = known_speed(shipped, shipped.gpus["A100-SXM4-40GB"], False)
    assert line_of(fp32.notes).partition(";")[0].endswith("in FP32")
    # Published: 1.39 times the V100 without TF32.
    assert speed(shipped, shipped.gpus["A100-SXM4-40GB"], False) == pytest.approx(1.39, rel=0.1)


def test_no_gpu_of_a_generation_is_slower_than_one_with_no_more_of_anything(shipped):
    pairs = 0
    for better, other in permutations(load_gpus().values(), 2):
        if no_less(better, other):
            one, two = (known_rates(shipped, gpu) for gpu in (better, other))
            for name in ("compute", "fp32_compute", "bandwidth"):
                assert getattr(one, name) >= getattr(two, name) - 1e-3, (better.name, other.name, name)
            for part in ("compute", "bandwidth"):
                amp = [getattr(row, part) + getattr(row, f"amp_{part}") for row in (one, two)]
                assert amp[0] >= amp[1] - 1e-3, (better.name, other.name, part)
            pairs += 1
    assert pairs > 150
    assert no_less(load_gpus()["A100-SXM4-80GB"], load_gpus()["A100-PCIE-40GB"])
    assert not no_less(load_gpus()["H100-NVL-94GB"], load_gpus()["H100-SXM5-80GB"])


@pytest.mark.parametrize("tf32", [True, False])
def test_every_gpu_with_specs_has_a_target_a_width_and_a_source(shipped, tf32):
    for gpu in load_gpus().values():
        target, found = target_of(shipped, gpu, host_named("rome"), tf32)
        assert -4 < target.compute < 4 and 0 < target.log_sd < 1.3, gpu.name
        assert target.runs_ahead and target.log_sd == found.step_log_sd and target.host.name == "rome"
        assert "held-out GPUs" in line_of(found.notes)


def test_another_model_is_computed_anew(shipped):
    """What is kept of one model's targets is no other's."""
    gpu, host = shipped.gpus["H100-SXM5-80GB"], host_named("rome")
    before, _ = target_of(shipped, gpu, host, True)
    rates = {**shipped.rates.gpus, gpu.name: replace(shipped.rates.gpus[gpu.name], compute=1.0)}
    other = replace(shipped, rates=replace(shipped.rates, gpus=rates))
    assert target_of(other, gpu, host, True)[0].compute == 1.0
    assert target_of(shipped, gpu, host, True)[0] == before
    own = replace(gpu, name="My GPU", tdp_w=100)
    assert target_of(shipped, own, host, True)[0].compute < before.compute
    assert own not in {key[0] for key in shipped.targets}, "custom GPUs are not kept"


@pytest.mark.parametrize("gpu", load_gpus().values(), ids=lambda gpu: gpu.name)
def test_a_speedup_stays_within_what_the_hardware_allows(shipped, v100, gpu):
    rates, in_tf32 = shipped.rates, shipped.rates.tf32(gpu, v100)
    for tuned in (False, True):
        found = rates.amp(gpu, v100, "amp", tuned=tuned)
        for share in SHARES:
            for launches in (0.0, 0.3, 0.9, 1.0):
                speedup = math.exp(found.log_speedup(shares(share), launches))
                assert speedup >= 1 / 1.1 - 1e-9
                if gpu.fp16_tensor_dense_tflops is None:
                    assert speedup == 1
                else:
                    peak = gpu.fp16_tensor_dense_tflops / gpu.fp32_tflops
                    assert speedup <= 1 / (share / peak + (1 - share) / (3 if tuned else 2)) + 1e-9
    assert all(in_tf32.log_speedup(shares(share)) >= 0 for share in SHARES)
    supported = supported_precisions(gpu)
    for precision in ("amp", "bf16"):
        assert (rates.amp(gpu, v100, precision).by_class != NO_FACTORS) is (precision in supported)


def test_tuned_code_gains_more_and_launches_nothing(shipped, v100):
    for name in ("A100-SXM4-80GB", "H100-SXM5-80GB", "Tesla T4"):
        plain, tuned = (shipped.rates.amp(shipped.gpus[name], v100, "amp", tuned=one) for one in (False, True))
        gains = [math.exp(one.log_speedup(shares(0.64))) for one in (plain, tuned)]
        assert 1.1 * gains[0] < gains[1] < 2 * gains[0], name
    found = shipped.rates.amp(shipped.gpus["Tesla T4"], v100, "amp")
    speedups = [found.log_speedup(shares(0.6), launches) for launches in (0.0, 0.2, 0.4, 0.7, 1.0)]
    assert speedups == sorted(speedups, reverse=True) and speedups[-1] <= 0
