"""Latencies on GPUs nobody profiled: the equations by hand, and what must hold of intervals whatever the numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from profet_core.catalog import load_gpus
from profet_core.latency import NORMAL_90, Basis
from profet_core.networks.batch import ProfileBatch
from profet_core.operations.classes import load_operation_classes
from profet_core.profiles import Profile
from profet_core.transfer.derived import DerivedLaw, derive, relative_half_width
from profet_core.transfer.estimate import HOST_LOG_SD, KernelWeights, estimate_gpus, transfer
from profet_core.transfer.known import AnchorSteps, KnownSteps, Latencies, known_steps
from profet_core.transfer.model import Spread, TransferModel, load_transfer
from profet_core.transfer.speed import half_and_half, known_speed, mix_log_sd
from profet_core.transfer.step import InstanceStep, StepLaw, StepParts, gpu_time_ms, step_parts

FAST = InstanceStep("Fast", 2.0, 0.0, 5.0, 1.0, 0.1, 100.0, 0.6)
SLOW = replace(FAST, gpu="Slow", benchmark_gpu_ms=400.0)
LAW = StepLaw(start_ms=2.0, copy_factor=1.5, profiling_slowdown=2.0, instances={"fast": FAST, "slow": SLOW})

#: 80 ms of convolution, 20 ms of batch norm, 4 ms of copy, 3 ms of gaps.
PROFILE = Profile(
    operations={
        "Device_Conv2D": 80_000.0,
        "Device_FusedBatchNormV3": 20_000.0,
        "Device__Recv": 4_000.0,
        "Device_IDLE": 3_000.0,
        "Device_MatMul": 0.0,
        "Device_Softmax": 1.0,
        "Host_IDLE": 165_000.0,
    }
)


def parts(busy_ms=100.0, copy_ms=4.0, idle_ms=3.0, compute_share=0.6) -> StepParts:
    return StepParts(*(np.array([value]) for value in (busy_ms, copy_ms, idle_ms, compute_share)))


def parts_of(profile: Profile, latency_ms: float | None = None) -> StepParts:
    batch = ProfileBatch([profile], "fast", None if latency_ms is None else np.array([latency_ms]))
    return step_parts(load_operation_classes(), batch.inputs)


def test_a_profile_splits_into_busy_copy_and_gaps():
    found = parts_of(PROFILE)
    assert found.busy_ms[0] == pytest.approx(100.001)
    assert found.copy_ms[0] == pytest.approx(4.0)
    assert found.idle_ms[0] == pytest.approx(3.0)
    assert found.compute_share[0] == pytest.approx(80 / 100.001)


def test_the_gpu_takes_what_copy_and_start_leave():
    assert LAW.fixed_ms(parts())[0] == 1.5 * 4 + 2
    assert gpu_time_ms(np.array([108.0]), np.array([8.0]))[0] == 100.0
    assert gpu_time_ms(np.array([8.0]), np.array([8.0]))[0] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("busy_ms", "idle_ms", "latency_ms", "floor_ms"),
    [
        (100.0, 3.0, 108.0, 2 + 5 * (3 - 2)),  # gaps tell the launches that the GPU hides
        (5.0, 25.0, 40.0, (5 + 25) / 2),  # the profiled step over the slowdown
        (5.0, 25.0, 9.0, 9.0),  # never above the latency itself
        (100.0, 1.0, 108.0, 2.0),  # fewer gaps than the fewest: the start alone
    ],
)
def test_the_floor_is_the_least_of_its_bounds(busy_ms, idle_ms, latency_ms, floor_ms):
    found = LAW.floor_ms(parts(busy_ms, idle_ms=idle_ms), "fast", np.array([latency_ms]))
    assert found[0] == pytest.approx(floor_ms)


def test_gaps_in_which_the_batch_is_copied_are_no_launches():
    waiting = replace(LAW, instances={"fast": replace(FAST, idle_per_copy=0.25)})
    floors = [waiting.floor_ms(parts(copy_ms=copy, idle_ms=7.0), "fast", None)[0] for copy in (4.0, 8.0, 80.0)]
    assert floors == pytest.approx([2 + 5 * (7 - 2 - 1), 2 + 5 * (7 - 2 - 2), 2.0])


def test_no_floor_is_above_a_latency_that_is_known():
    found = known_steps(
        LAW,
        AnchorSteps("fast", parts(busy_ms=100.0, idle_ms=12.0), np.array([108.0])),
        {"slow": Latencies.measured(np.array([20.0]))},
    )
    assert found.floor_ms[0] == 20.0, "gaps alone would give 52 ms"


def known(others=None, half=None, anchor_ms=108.0, **given) -> KnownSteps:
    others, half = others or {}, half or {}
    recorded = AnchorSteps("fast", parts(**given), None if anchor_ms is None else np.array([anchor_ms]))
    rows = {name: Latencies(np.array([value]), np.array([half.get(name, 0.0)])) for name, value in others.items()}
    return known_steps(LAW, recorded, rows)


def transferred_ms(steps: KnownSteps, log_speed: dict[str, float], **others) -> float:
    return transfer(steps, log_speed, 0.0, 0.0, **others).latency_ms[0]


def test_only_the_gpu_time_scales():
    # 108 ms are 100 of the GPU and 8 of copy and start; twice as fast a GPU leaves 50 + 8.
    assert transferred_ms(known(), {"fast": math.log(2)}) == pytest.approx(58.0)


def test_a_step_bound_by_launches_stays_as_long_on_any_gpu():
    bound = known(busy_ms=5.0, copy_ms=0.0, idle_ms=25.0, anchor_ms=15.0)
    assert transferred_ms(bound, {"fast": math.log(10)}) == pytest.approx(15.0)


def test_known_latencies_agree_in_the_geometric_mean_of_gpu_times():
    # Both are twice as fast or as slow, so both count by nearness alike; floors hide 7/108 and 7/408 of them.
    both = known({"slow": 408.0})
    speeds = {"fast": -math.log(2), "slow": math.log(2)}
    weights = np.array([1 - 7 / 108, 1 - 7 / 408])
    logs = np.array([math.log(100) + math.log(2), math.log(400) - math.log(2)])
    expected = math.exp((weights * logs).sum() / weights.sum()) + 8
    assert transferred_ms(both, speeds) == pytest.approx(expected)


def test_a_nearer_gpu_counts_for_more():
    both = known({"slow": 808.0})
    near_fast = transferred_ms(both, {"fast": 0.0, "slow": math.log(4)})
    near_slow = transferred_ms(both, {"fast": -math.log(4), "slow": 0.0})
    # The fast one gives 100 and the slow one 200 ms of GPU time; then 400 and 800.
    assert 100 < near_fast - 8 < math.sqrt(100 * 200)
    assert math.sqrt(400 * 800) < near_slow - 8 < 800


def test_the_interval_adds_up_by_hand():
    both = known({"slow": 408.0}, {"slow": 0.3})
    found = transfer(both, {"fast": -math.log(2), "slow": math.log(2)}, 0.2, 0.1)
    weights = np.array([1 - 7 / 108, 1 - 7 / 408])
    known_half = 0.3 * weights[1] / weights.sum()
    share = 8 / found.latency_ms[0]
    assumed = math.hypot(HOST_LOG_SD * share, 0.1 * (1 - share))
    expected = math.sqrt(0.2**2 + known_half**2 + (NORMAL_90 * assumed) ** 2)
    assert found.log_half_width[0] == pytest.approx(expected)


def test_a_latency_that_nobody_measured_is_told_by_the_profile():
    found = known(anchor_ms=None).latencies["fast"]
    assert found.latency_ms[0] == pytest.approx(108.0)
    assert found.log_half_width[0] == 0.1


def test_a_measured_anchor_counts_as_it_was_measured_and_last():
    found = known({"slow": 408.0}, {"slow": 0.3}).latencies
    assert list(found) == ["slow", "fast"]
    assert (found["fast"].latency_ms[0], found["fast"].log_half_width[0]) == (108.0, 0.0)


def test_weights_without_power_and_kernel_are_equal():
    both, speeds = known({"slow": 808.0}), {"fast": 0.0, "slow": math.log(4)}
    equal = transferred_ms(both, speeds, weights=KernelWeights(free_share_power=0.0, nearness=0.0))
    assert equal - 8 == pytest.approx(math.sqrt(100 * 200))
    assert transferred_ms(both, speeds, weights=KernelWeights(nearness=50.0)) - 8 == pytest.approx(100)


def latencies(latency_ms: float, log_half_width: float = 0.0) -> Latencies:
    return Latencies(np.array([latency_ms]), np.array([log_half_width]))


def test_a_derived_latency_by_hand():
    law = DerivedLaw("t4", "v100", -0.1, 0.5, -0.05, 0.03, 0.04, 9, 99, True, 0.15)
    steps = {"t4": latencies(100.0, 0.1), "v100": latencies(36.0, 0.2)}
    found = derive(law, steps)
    assert found.latency_ms[0] == pytest.approx(100 * math.exp(-0.1) * math.sqrt(0.36) * 100**-0.05)
    assert found.log_half_width[0] == pytest.approx(math.hypot(0.45 * 0.1 + 0.5 * 0.2, NORMAL_90 * 0.05))
    relative = relative_half_width(law, steps)
    assert relative[0] == pytest.approx(math.hypot(0.55 * 0.1 + 0.5 * 0.2, NORMAL_90 * 0.05))


def test_a_spread_weighs_gpus_by_students_t_and_networks_by_the_normal():
    assert Spread(0.03, 0.1, 4, 2.35).log_half_width(0.04) == pytest.approx(math.hypot(2.35 * 0.05, 1.645 * 0.1))


@pytest.fixture(scope="module")
def shipped(repository) -> TransferModel:
    return load_transfer(repository / "models")


@pytest.fixture(scope="module")
def modern():
    gpus = load_gpus()
    return [gpus[name] for name in ("A10G", "L4", "L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB")]


KNOWN = {
    "g3s.xlarge": latencies(180.0, 0.11),
    "g4dn.xlarge": latencies(105.0, 0.12),
    "p2.xlarge": latencies(310.0, 0.13),
    "p3.2xlarge": latencies(36.0, 0.11),
}


def estimates(shipped, gpus, *, anchor="g4dn.xlarge", latency_ms: float | None = 105.0, known=KNOWN, tf32=True):
    """Estimates of `PROFILE` by the GPU's name."""
    measured = None if latency_ms is None else np.array([latency_ms])
    recorded = AnchorSteps(anchor, parts_of(PROFILE, latency_ms), measured)
    others = {name: row for name, row in known.items() if name != anchor}
    return estimate_gpus(shipped, recorded, others, gpus, tf32=tf32)


def latency(estimate) -> float:
    return estimate.latencies.latency_ms[0]


def width(estimate) -> float:
    return estimate.latencies.log_half_width[0]


@pytest.mark.parametrize("anchor", list(KNOWN))
@pytest.mark.parametrize("latency_known", [True, False])
def test_every_anchor_transfers_to_every_gpu_with_and_without_its_latency(shipped, modern, anchor, latency_known):
    latency_ms = float(KNOWN[anchor].latency_ms[0]) if latency_known else None
    found = estimates(shipped, modern, anchor=anchor, latency_ms=latency_ms)
    assert list(found) == [gpu.name for gpu in modern]
    assert [row.basis for row in found.values()] == [Basis.DERIVED] + [Basis.TRANSFERRED] * 5
    assert all(0 < latency(row) < math.inf and 0 < width(row) < math.inf for row in found.values())
    assert all("90 % if" in row.note for row in found.values())
    assert {row.relative_to for row in found.values()} == {shipped.derived["A10G"].base, anchor}


def test_a_gpu_without_a_benchmark_point_is_much_less_sure(shipped, modern):
    found = estimates(shipped, modern)
    assert width(found["L4"]) > 1.5 * width(found["A100-SXM4-40GB"])
    assert "no published benchmark" in found["L4"].note
    assert "published ResNet-50" in found["H100-SXM5-80GB"].note


def test_faster_gpus_by_their_points_are_faster_here(shipped, modern):
    found = estimates(shipped, modern)
    order = ["L4", "L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB"]
    expected = sorted((latency(found[name]) for name in order), reverse=True)
    assert [latency(found[name]) for name in order] == expected


def test_fp32_is_slower_and_less_sure_where_tf32_was_published(shipped, modern):
    tf32 = estimates(shipped, modern)
    fp32 = estimates(shipped, modern, tf32=False)
    for name in ("A100-SXM4-40GB", "H100-SXM5-80GB", "L40S"):
        assert latency(fp32[name]) >= latency(tf32[name])
        assert width(fp32[name]) > width(tf32[name])
        assert fp32[name].note.startswith("FP32")
    assert latency(fp32["A10G"]) == latency(tf32["A10G"])
    assert width(fp32["A10G"]) > width(tf32["A10G"])


def test_less_sure_latencies_give_a_wider_interval_around_the_same_estimate(shipped, modern):
    unsure = {name: Latencies(row.latency_ms, row.log_half_width + math.log(1.5)) for name, row in KNOWN.items()}
    sure = estimates(shipped, modern)
    for name, other in estimates(shipped, modern, known=unsure).items():
        assert latency(other) == latency(sure[name])
        assert width(other) > width(sure[name])


def test_a_mix_far_from_the_benchmark_is_less_sure(shipped):
    h100 = load_gpus()["H100-SXM5-80GB"]
    away = mix_log_sd(shipped, h100, True, np.array([0.0, 0.1, -0.2]))
    assert away[0] == 0
    assert 0 < away[1] < away[2]


def test_without_v100_a_derived_gpu_is_transferred(shipped, modern):
    few = {name: KNOWN[name] for name in ("g3s.xlarge", "p2.xlarge")}
    assert estimates(shipped, modern, known=few)["A10G"].basis is Basis.TRANSFERRED


def test_a_gpu_that_no_source_names_goes_by_its_data_sheet_alone(shipped):
    v100 = shipped.gpus["Tesla V100-SXM2-16GB"]
    twice = replace(v100, name="Twice", compute_capability=7.2, fp32_tflops=2 * v100.fp32_tflops)
    speed = known_speed(shipped, twice, True)
    assert speed.log_speed == pytest.approx(math.log(2))
    assert speed.log_half_width == pytest.approx(shipped.sheet_spread.log_half_width())
    assert half_and_half(4.0, 9.0) == pytest.approx(math.log(6))


def test_the_own_published_speed_is_that_of_the_source(shipped):
    # 1893 images a second against 369 on the V100.
    speed = known_speed(shipped, load_gpus()["H100-SXM5-80GB"], True)
    assert speed.log_speed == pytest.approx(math.log(1893 / 369))


def test_many_steps_at_once_are_each_as_alone(shipped, modern):
    profiles = [PROFILE, replace(PROFILE, operations={name: 2 * us for name, us in PROFILE.operations.items()})]
    latency_ms = np.array([105.0, 210.0])
    both = step_parts(load_operation_classes(), ProfileBatch(profiles, "g4dn.xlarge", latency_ms).inputs)
    others = {name: Latencies(np.full(2, row.latency_ms), np.full(2, 0.1)) for name, row in KNOWN.items()}
    recorded = AnchorSteps("g4dn.xlarge", both, latency_ms)
    together = estimate_gpus(shipped, recorded, others, modern, tf32=True)
    alone = estimates(shipped, modern, known={name: latencies(row.latency_ms[0], 0.1) for name, row in KNOWN.items()})
    for name, row in together.items():
        assert row.latencies.latency_ms[0] == pytest.approx(latency(alone[name]))
        assert row.latencies.log_half_width[0] == pytest.approx(width(alone[name]))
