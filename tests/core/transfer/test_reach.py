"""Reaching GPUs nobody profiled: the equations by hand, and what must hold of intervals whatever the numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from profet_core.catalog import load_gpus
from profet_core.errors import InputError
from profet_core.latency import Interval
from profet_core.profiles import Profile
from profet_core.transfer.derived import DerivedLaw, derive, relative_half_width
from profet_core.transfer.model import Spread, TransferModel, load_transfer
from profet_core.transfer.reach import HOST_LOG_SD, NORMAL_90, KnownLatency, gather, reach, transfer
from profet_core.transfer.speed import half_and_half, known_speed, mix_log_sd
from profet_core.transfer.step import InstanceStep, StepLaw, StepParts, parts_of_profiles

FAST = InstanceStep("Fast", 2.0, 5.0, 1.0, 0.1, 100.0, 0.6)
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


def test_a_profile_splits_into_busy_copy_and_gaps():
    found = parts_of_profiles([PROFILE], None)
    assert found.busy_ms[0] == pytest.approx(100.001)
    assert found.copy_ms[0] == pytest.approx(4.0)
    assert found.idle_ms[0] == pytest.approx(3.0)
    assert found.compute_share[0] == pytest.approx(80 / 100.001)


def test_the_gpu_takes_what_copy_and_start_leave():
    assert LAW.fixed_ms(parts())[0] == 1.5 * 4 + 2
    assert LAW.gpu_ms(np.array([108.0]), np.array([8.0]))[0] == 100.0
    assert LAW.gpu_ms(np.array([8.0]), np.array([8.0]))[0] == pytest.approx(0.8)


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


def voices(others=None, half=None, anchor_ms=108.0, **given):
    others, half = others or {}, half or {}
    anchor = None if anchor_ms is None else np.array([anchor_ms])
    arrays = {name: np.array([value]) for name, value in others.items()}
    halves = {name: np.array([half.get(name, 0.0)]) for name in others}
    return gather(LAW, "fast", parts(**given), arrays, halves, anchor)


def test_only_the_gpu_time_scales():
    # 108 ms are 100 of the GPU and 8 of copy and start; twice as fast a GPU leaves 50 + 8.
    latency_ms, _ = transfer(LAW, voices(), {"fast": math.log(2)}, 0.0, 0.0)
    assert latency_ms[0] == pytest.approx(58.0)


def test_a_step_bound_by_launches_stays_as_long_on_any_gpu():
    bound = voices(busy_ms=5.0, copy_ms=0.0, idle_ms=25.0, anchor_ms=15.0)
    assert transfer(LAW, bound, {"fast": math.log(10)}, 0.0, 0.0)[0][0] == pytest.approx(15.0)


def test_known_latencies_agree_in_the_geometric_mean_of_gpu_times():
    # Both are told 4 times faster or slower, so both count by nearness alike; floors hide 7/108 and 7/408 of them.
    both = voices({"slow": 408.0})
    speeds = {"fast": -math.log(2), "slow": math.log(2)}
    weights = np.array([1 - 7 / 108, 1 - 7 / 408])
    logs = np.array([math.log(100) + math.log(2), math.log(400) - math.log(2)])
    expected = math.exp((weights * logs).sum() / weights.sum()) + 8
    assert transfer(LAW, both, speeds, 0.0, 0.0)[0][0] == pytest.approx(expected)


def test_a_nearer_gpu_counts_for_more():
    both = voices({"slow": 808.0})
    near_fast = transfer(LAW, both, {"fast": 0.0, "slow": math.log(4)}, 0.0, 0.0)[0][0]
    near_slow = transfer(LAW, both, {"fast": -math.log(4), "slow": 0.0}, 0.0, 0.0)[0][0]
    # The fast one says 100 and the slow one 200 ms of GPU time; then 400 and 800.
    assert 100 < near_fast - 8 < math.sqrt(100 * 200)
    assert math.sqrt(400 * 800) < near_slow - 8 < 800


def test_the_interval_adds_up_by_hand():
    found = voices({"slow": 408.0}, {"slow": 0.3})
    latency_ms, half = transfer(LAW, found, {"fast": -math.log(2), "slow": math.log(2)}, 0.2, 0.1)
    weights = np.array([1 - 7 / 108, 1 - 7 / 408])
    known = 0.3 * weights[1] / weights.sum()
    share = 8 / latency_ms[0]
    assumed = math.hypot(HOST_LOG_SD * share, 0.1 * (1 - share))
    assert half[0] == pytest.approx(math.sqrt(0.2**2 + known**2 + (NORMAL_90 * assumed) ** 2))


def test_a_latency_that_nobody_measured_is_told_by_the_profile():
    found = voices(anchor_ms=None)
    assert found.latency_ms["fast"][0] == pytest.approx(108.0)
    assert found.log_half_width["fast"][0] == 0.1


def test_a_derived_latency_by_hand():
    law = DerivedLaw("t4", "v100", -0.1, 0.5, -0.05, 0.03, 0.04, 9, 99, True, 0.15)
    known = {"t4": np.array([100.0]), "v100": np.array([36.0])}
    latency_ms, half = derive(law, known, {"t4": np.array([0.1]), "v100": np.array([0.2])})
    assert latency_ms[0] == pytest.approx(100 * math.exp(-0.1) * math.sqrt(0.36) * 100**-0.05)
    assert half[0] == pytest.approx(math.hypot(0.45 * 0.1 + 0.5 * 0.2, NORMAL_90 * 0.05))
    relative = relative_half_width(law, {"t4": np.array([0.1]), "v100": np.array([0.2])})
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
    "g3s.xlarge": KnownLatency(180.0, Interval(160.0, 200.0)),
    "g4dn.xlarge": KnownLatency(105.0, Interval(95.0, 120.0)),
    "p2.xlarge": KnownLatency(310.0, Interval(270.0, 350.0)),
    "p3.2xlarge": KnownLatency(36.0, Interval(32.0, 40.0)),
}


@pytest.mark.parametrize("anchor", list(KNOWN))
@pytest.mark.parametrize("latency_known", [True, False])
def test_every_anchor_reaches_every_gpu_with_and_without_its_latency(shipped, modern, anchor, latency_known):
    latency_ms = KNOWN[anchor].latency_ms if latency_known else None
    found = reach(shipped, PROFILE, anchor, KNOWN, modern, latency_ms=latency_ms)
    assert [row.gpu for row in found] == [gpu.name for gpu in modern]
    assert [row.basis for row in found] == ["derived"] + ["transferred"] * 5
    assert all(0 < row.interval.low_ms < row.latency_ms < row.interval.high_ms < math.inf for row in found)
    assert all("90 % if" in row.note for row in found)


def by_gpu(rows):
    return {row.gpu: row for row in rows}


def width(row) -> float:
    return 2 * row.interval.log_half_width


def test_a_gpu_without_a_benchmark_point_is_much_less_sure(shipped, modern):
    found = by_gpu(reach(shipped, PROFILE, "g4dn.xlarge", KNOWN, modern, latency_ms=105.0))
    assert width(found["L4"]) > 1.5 * width(found["A100-SXM4-40GB"])
    assert "no published benchmark" in found["L4"].note
    assert "published ResNet-50" in found["H100-SXM5-80GB"].note


def test_faster_gpus_by_their_points_are_faster_here(shipped, modern):
    found = by_gpu(reach(shipped, PROFILE, "g4dn.xlarge", KNOWN, modern, latency_ms=105.0))
    order = ["L4", "L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB"]
    latencies = [found[name].latency_ms for name in order]
    assert latencies == sorted(latencies, reverse=True)


def test_fp32_is_slower_and_less_sure_where_tf32_was_published(shipped, modern):
    tf32 = by_gpu(reach(shipped, PROFILE, "g4dn.xlarge", KNOWN, modern, latency_ms=105.0))
    fp32 = by_gpu(reach(shipped, PROFILE, "g4dn.xlarge", KNOWN, modern, latency_ms=105.0, tf32=False))
    for name in ("A100-SXM4-40GB", "H100-SXM5-80GB", "L40S"):
        assert fp32[name].latency_ms >= tf32[name].latency_ms
        assert width(fp32[name]) > width(tf32[name])
        assert fp32[name].note.startswith("FP32")
    assert fp32["A10G"].latency_ms == tf32["A10G"].latency_ms
    assert width(fp32["A10G"]) > width(tf32["A10G"])


def test_less_sure_latencies_give_a_wider_interval_around_the_same_answer(shipped, modern):
    unsure = {name: KnownLatency(row.latency_ms, row.interval.widened(math.log(1.5))) for name, row in KNOWN.items()}
    sure = reach(shipped, PROFILE, "g4dn.xlarge", KNOWN, modern, latency_ms=105.0)
    for one, other in zip(sure, reach(shipped, PROFILE, "g4dn.xlarge", unsure, modern, latency_ms=105.0), strict=True):
        assert other.latency_ms == one.latency_ms
        assert width(other) > width(one)


def test_a_mix_far_from_the_benchmark_is_less_sure(shipped):
    h100 = load_gpus()["H100-SXM5-80GB"]
    away = mix_log_sd(shipped, h100, True, np.array([0.0, 0.1, -0.2]))
    assert away[0] == 0
    assert 0 < away[1] < away[2]


def test_without_v100_a_derived_gpu_is_transferred(shipped, modern):
    known = {name: KNOWN[name] for name in ("g3s.xlarge", "p2.xlarge")}
    found = reach(shipped, PROFILE, "g4dn.xlarge", known, modern, latency_ms=105.0)
    assert found[0].basis == "transferred"


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


@pytest.mark.parametrize(
    ("anchor", "known", "latency_ms", "gpu", "says"),
    [
        ("p9", KNOWN, None, "L4", "Unknown anchor 'p9': choose one of"),
        ("g4dn.xlarge", KNOWN, None, "Tesla V100-SXM2-16GB", "was profiled: ask for p3.2xlarge itself"),
        ("g4dn.xlarge", KNOWN, -1.0, "L4", "The anchor's latency"),
        ("g4dn.xlarge", {"p3.2xlarge": KnownLatency(0.0)}, None, "L4", "The latency on p3.2xlarge"),
    ],
)
def test_bad_input_is_one_line(shipped, anchor, known, latency_ms, gpu, says):
    with pytest.raises(InputError, match=says) as error:
        reach(shipped, PROFILE, anchor, known, [load_gpus()[gpu]], latency_ms=latency_ms)
    assert "\n" not in str(error.value)
