"""Work scaled to other GPUs and back: the equations by hand, and what must hold whatever the numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from profet_core.transfer.step_model import StepParts
from profet_core.transfer.steps import (
    AnchorSteps,
    KernelWeights,
    MappedSteps,
    StepsThere,
    UnprofiledSteps,
    known_steps,
    log_factors,
    map_to_profiled,
    transfer_steps,
)

from profet_core.latency import Estimate, smooth_max
from profet_core.transfer.model import TransferModel, load_transfer, target_of
from profet_core.transfer.targets import Host, host_named
from tests.made.step_model import FAST, SLOW, STEP_MODEL, made_parts, made_target, no_groups

#: Kinds differ: bandwidth-bound work is only twice as slow on the slow one, a product eight times.
KINDS_DIFFER = replace(
    STEP_MODEL,
    tail_share=0.15,
    instances={
        "fast": replace(FAST, kind_log_speeds=(0.7, 1.0, 0.2, 0.4), benchmark_kinds_ms=(50.0, 9.0, 1.0, 40.0)),
        "slow": replace(SLOW, kind_log_speeds=(-0.7, -1.0, -0.2, -0.3), benchmark_kinds_ms=(200.0, 70.0, 1.5, 80.0)),
    },
)


def carried(*targets, latency_ms=108.0, others=None, step_model=STEP_MODEL, weights=None, **parts) -> StepsThere:
    """One step recorded on the fast instance, on each target."""
    pairs = (others or {}).items()
    rows = {name: Estimate(latency_ms=np.array([value]), log_sd=np.array([log_sd])) for name, (value, log_sd) in pairs}
    known = known_steps(step_model, AnchorSteps("fast", made_parts(**parts), np.array([latency_ms])), rows)
    return transfer_steps(known, "fast", targets, **({} if weights is None else {"weights": weights}))


def latency_ms(*args, **given) -> float:
    return carried(*args, **given).latency_ms[0, 0]


def test_only_the_work_scales_with_the_gpu_each_kind_by_its_rate():
    # 108 ms are 100 of work and 8 of copy and start; twice as fast a GPU leaves 50 + 8.
    assert latency_ms(made_target(math.log(2))) == pytest.approx(58.0, abs=1e-3)
    # Gaps give 6.162 ms of launches, a tenth of it tails: 99.384 of work, then 49.692, tails and 8.
    step_model = replace(STEP_MODEL, tail_share=0.1)
    found = carried(made_target(math.log(2)), step_model=step_model, idle=3.0).free_ms[0, 0]
    assert found == pytest.approx(58.308, abs=1e-3)
    # Twice as fast in convolutions and eight times in the rest.
    target = made_target(compute=math.log(2), bandwidth=math.log(8))
    assert latency_ms(target, convolution=0.0, bandwidth=100.0) == pytest.approx(100 / 8 + 8, abs=1e-2)
    assert latency_ms(target, convolution=100.0, bandwidth=0.0) == pytest.approx(100 / 2 + 8, abs=1e-2)
    # Four times as much over the slow one; a depthwise gradient gains little, by the benchmark: 60 / 2 + 40 / 8 ms.
    speeds = np.exp(log_factors(STEP_MODEL, ["fast", "slow"], "fast", [target])[0])
    assert speeds[0] == pytest.approx([2.0, 2.0, (100 / 35) ** 0.3, 8.0])
    assert speeds[1] == pytest.approx([8.0, 8.0, (4 * 100 / 35) ** 0.3, 32.0])


def test_a_host_that_runs_ahead_hides_copies_and_launches():
    # No copy and no start beside 50 of work; launches of 2 ms and a copy of 6 leave a trace of them.
    ahead = made_target(math.log(2), runs_ahead=True)
    assert latency_ms(ahead) == pytest.approx(50.0, abs=0.1)
    # A step of 8 ms of work and launches of 15: the launches, the copy, and a third of what is left of the work.
    bound = {"latency_ms": 24.0, "convolution": 16.0, "bandwidth": 0.0, "idle": 14.0}
    launches = carried(made_target(math.log(2)), **bound).launch_ms[0, 0]
    assert launches + 6 < latency_ms(ahead, **bound) < launches + 6 + 8
    # A larger copy takes longer where the host is the limit.
    copies = [latency_ms(ahead, **{**bound, "copy": copy}) for copy in (0.0, 4.0, 8.0)]
    assert copies == sorted(copies) and copies[2] > copies[0] + 2
    # Work scales what the GPU takes alone; the rest is what the host bounds the step to.
    slower, faster = (carried(made_target(speed, runs_ahead=True), **bound) for speed in (math.log(2), math.log(4)))
    assert slower.free_ms[0, 0] / faster.free_ms[0, 0] == pytest.approx(2.0, rel=0.1)
    assert faster.launch_ms[0, 0] > launches


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4))
def test_no_step_is_shorter_than_its_work_or_its_launches_nor_longer_than_both_in_turn(free, launch):
    assert smooth_max(np.array([3.0]), np.array([4.0]))[0] == pytest.approx(337**0.25)
    joined = smooth_max(np.array([free]), np.array([launch]))[0]
    assert max(free, launch) * (1 - 1e-12) <= joined <= free + launch


def test_known_latencies_agree_in_a_mean_of_work_in_which_nearer_gpus_count_for_more():
    # Both are twice as fast or as slow, so both count by nearness alike; floors of 2 ms hide 2/108 and 2/408 of them.
    both = {"others": {"slow": (408.0, 0.0)}}
    speeds = made_target(-math.log(2))
    weights = np.array([1 - 2 / 408, 1 - 2 / 108])
    logs = np.array([math.log(400) - math.log(2), math.log(100) + math.log(2)])
    expected = math.exp((weights * logs).sum() / weights.sum()) + 8
    assert latency_ms(speeds, **both) == pytest.approx(expected, abs=1e-2)
    # The fast one says 100, the slow one 200 ms of work on the fast GPU; on the slow one 400 and 800.
    both = {"others": {"slow": (808.0, 0.0)}}
    assert 100 < latency_ms(made_target(0.0), **both) - 8 < math.sqrt(100 * 200)
    assert math.sqrt(400 * 800) < latency_ms(made_target(-math.log(4)), **both) - 8 < 800
    equal = latency_ms(made_target(), weights=KernelWeights(free_share_power=0.0, nearness=0.0), **both)
    nearest = latency_ms(made_target(), weights=KernelWeights(nearness=50.0), **both)
    assert (equal - 8, nearest - 8) == pytest.approx((math.sqrt(100 * 200), 100), rel=1e-4)


def test_the_interval_adds_up_by_hand():
    target = made_target(-math.log(2), log_sd=0.2)
    found = carried(target, others={"slow": (408.0, 0.3)}, convolution=80.0, bandwidth=20.0)
    work = found.free_ms[0, 0] - 8
    floor_ms = 1 / (1 / 2 + 1 / 51)
    weights = np.array([1 - floor_ms / 408, 1 - floor_ms / 108])
    known_sd = 0.3 * weights[0] / weights.sum()
    assumed = 0.13 * 8 / (work + 8)
    assert found.log_sd[0, 0] == pytest.approx(math.sqrt(0.2**2 + known_sd**2 + assumed**2))


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0, 2), st.floats(0, 2), st.floats(0, 200), st.floats(0, 200))
def test_of_two_gpus_of_a_generation_the_better_one_is_no_slower(compute, bandwidth, more, wider, convolution, rest):
    parts = {"convolution": convolution + 1, "bandwidth": rest, "idle": 4.0}
    for runs_ahead in (True, False):
        one, better = (
            made_target(compute=compute + faster, bandwidth=bandwidth + less, nearness=compute, runs_ahead=runs_ahead)
            for faster, less in ((0.0, 0.0), (more, wider))
        )
        found = carried(one, better, latency_ms=convolution + rest + 9, step_model=KINDS_DIFFER, **parts).latency_ms[
            :, 0
        ]
        assert found[1] <= found[0] * (1 + 1e-9)


def test_a_step_bound_by_launches_stays_as_long_on_any_faster_gpu():
    bound = {"latency_ms": 13.0, "convolution": 5.0, "bandwidth": 0.0, "copy": 0.0, "idle": 25.0}
    found = carried(made_target(math.log(10)), made_target(math.log(1000)), **bound)
    assert found.latency_ms[:, 0] == pytest.approx([13.0, 13.0], rel=2e-3)
    # Launches take as long on every GPU of one host.
    gpus = [made_target(speed) for speed in (-2.0, 0.0, 3.0)]
    found = carried(*gpus, idle=6.0)
    assert len(set(found.launch_ms[:, 0])) == 1 and found.launch_ms[0, 0] == pytest.approx(1 / (1 / 22 + 1 / 53))
    assert np.all(np.diff(found.free_ms[:, 0]) < 0)


@pytest.mark.parametrize("idle", [2.0, 30.0])
def test_a_faster_host_shortens_every_step(idle):
    hosts = [host_named("broadwell"), host_named("cascade-lake"), Host("quick", 0.3, 0.3, 0.26)]
    found = carried(*(made_target(0.5, host=host) for host in hosts), idle=idle)
    assert np.all(np.diff(found.latency_ms[:, 0]) < 0)
    assert found.launch_ms[:, 0] / found.launch_ms[0, 0] == pytest.approx([1.0, 0.7918, 0.3], rel=1e-4)


def test_more_work_takes_longer_in_proportion_where_the_gpu_bounds_it():
    def at(factor: float) -> float:
        times = {"convolution": 60 * factor, "bandwidth": 40 * factor, "copy": 4 * factor}
        return latency_ms(made_target(math.log(3)), latency_ms=106 * factor + 2, idle=3.0, **times)

    for batch in (2.0, 8.0):
        assert 1.9 < at(2 * batch) / at(batch) <= 2.0
    bound = {"bandwidth": 0.0, "idle": 6.0}
    found = [
        latency_ms(made_target(math.log(30)), latency_ms=max(work + 8, 22.0), convolution=work, **bound)
        for work in (1.0, 5.0, 10.0, 14.0, 20.0, 50.0, 100.0, 300.0)
    ]
    assert found == sorted(found)


def test_targets_and_many_steps_together_are_each_as_alone():
    targets = [made_target(0.3, bandwidth=0.7), made_target(-1.0, host=host_named("rome"), runs_ahead=True)]
    given = {"step_model": KINDS_DIFFER, "others": {"slow": (400.0, 0.2)}, "product": 10.0, "idle": 4.0}
    together = carried(*targets, **given)
    for place, target in enumerate(targets):
        alone = carried(target, **given)
        for name in ("free_ms", "launch_ms", "log_sd", "weights"):
            assert getattr(together, name)[place] == pytest.approx(getattr(alone, name)[0])
    target = made_target(0.7, host=host_named("rome"))
    one, other = made_parts(idle=4.0), made_parts(convolution=5.0, bandwidth=1.0, idle=30.0)
    names = ("kinds_ms", "copy_ms", "idle_ms", "host_ms", "groups_ms")
    both = StepParts(**{name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in names})
    together = map_to_profiled(STEP_MODEL, "fast", UnprofiledSteps(target, both, np.array([108.0, 20.0])))
    for place, (parts, latency_ms) in enumerate(((one, 108.0), (other, 20.0))):
        alone = map_to_profiled(STEP_MODEL, "fast", UnprofiledSteps(target, parts, np.array([latency_ms])))
        for name in STEP_MODEL.instances:
            assert together.by_instance[name].latency_ms[place] == pytest.approx(alone.by_instance[name].latency_ms[0])


@pytest.fixture(scope="module")
def shipped(repository) -> TransferModel:
    return load_transfer(repository / "models")


def back(target, latency_ms: float | None = 58.0, step_model=STEP_MODEL, **parts) -> MappedSteps:
    measured = None if latency_ms is None else np.array([latency_ms])
    return map_to_profiled(step_model, "fast", UnprofiledSteps(target, made_parts(**parts), measured))


def test_a_gpu_twice_as_fast_by_hand():
    # 58 ms there: 50 of work and 8 of copy and start; 100 + 8 on the fast, 400 + 8 on the slow instance.
    found = back(made_target(math.log(2)), convolution=30.0, bandwidth=20.0)
    assert found.by_instance["fast"].latency_ms[0] == pytest.approx(108.0, rel=1e-3)
    assert found.by_instance["slow"].latency_ms[0] == pytest.approx(408.0, rel=1e-3)
    assert found.anchor_ms[0] == 58.0
    # A latency that nobody measured is inferred from the profile: 100 of work, 6 of copy and 2 of start.
    assert back(made_target(), latency_ms=None).anchor_ms[0] == pytest.approx(108.0, rel=1e-3)
    # The copy is as long as the host there takes.
    there = back(made_target(0.0, host=host_named("sapphire-rapids")))
    assert there.by_instance["fast"].parts.copy_ms[0] == pytest.approx(4.0 / 0.25)
    # A host that runs ahead hid copy and start: all of the 58 ms that the profile explains is work.
    ahead = back(made_target(math.log(2), runs_ahead=True), convolution=30.0, bandwidth=20.0)
    assert ahead.by_instance["fast"].latency_ms[0] == pytest.approx(2 * 1.05 * 50 + 8, rel=1e-2)


def test_the_profile_there_shows_the_work_of_each_kind_as_long_as_it_takes_there():
    target = made_target(compute=math.log(2), bandwidth=math.log(8))
    found = back(target, convolution=30.0, scattered=10.0, bandwidth=20.0).by_instance
    assert found["fast"].kind_factors == pytest.approx([2.0, 2.0, (100 / 35) ** 0.3, 8.0])
    assert found["fast"].parts.kinds_ms[0] == pytest.approx([60.0, 0.0, 10 * (100 / 35) ** 0.3, 160.0])
    assert found["slow"].parts.kinds_ms[0] == pytest.approx([240.0, 0.0, 10 * (4 * 100 / 35) ** 0.3, 640.0])
    assert found["fast"].parts.copy_ms[0] == 4.0


def test_a_step_bound_by_launches_takes_as_long_on_every_instance_of_one_host():
    bound = {"convolution": 1.0, "bandwidth": 0.0, "copy": 0.0, "idle": 29.0}
    found = back(made_target(math.log(4)), latency_ms=13.0, **bound)
    assert found.floor_ms[0] == pytest.approx(13.0, rel=0.01)
    assert found.by_instance["fast"].latency_ms[0] == pytest.approx(13.0, rel=0.02)
    # At most 1.05 ms of the 13 are work: 16.8 there and 2 to start, combined with 13.
    assert found.by_instance["slow"].latency_ms[0] == pytest.approx((18.8**4 + 13**4) ** 0.25, abs=0.05)
    elsewhere = back(made_target(math.log(4), host=host_named("cascade-lake")), latency_ms=13.0, **bound)
    assert elsewhere.by_instance["fast"].latency_ms[0] == pytest.approx(13.0 / 0.7918, rel=0.02)
    for idle in (0.0, 20.0, 2000.0):
        assert 0 < back(made_target(), latency_ms=12.0, convolution=5.0, bandwidth=0.0, idle=idle).floor_ms[0] <= 12.0


def recorded_there(step_model, target, known, carried_ms: float) -> UnprofiledSteps:
    """A step of the benchmark's mix as a profile on the target would show it, gaps as its launches leave them."""
    rows = list(step_model.instances.values())
    typical = {
        name: float(np.median([getattr(row, name) for row in rows]))
        for name in ("idle_ms", "idle_per_copy", "floor_per_idle", "gpu_per_busy")
    }
    host, floor_ms = target.host, float(known.floor_ms[0])
    copy_ms = known.parts.copy_ms[0] * host.copy / step_model.hosts[known.anchor].copy
    launches_ms = (floor_ms - step_model.start_ms) * host.launch
    kinds_ms = known.parts.kinds_ms * np.exp(-log_factors(step_model, [known.anchor], known.anchor, [target])[0, 0])
    parts = StepParts(
        kinds_ms=kinds_ms / known.parts.kinds_ms.sum() * known.work_ms[known.anchor] / typical["gpu_per_busy"],
        copy_ms=np.array([copy_ms]),
        idle_ms=np.array(
            [launches_ms / typical["floor_per_idle"] + typical["idle_ms"] + typical["idle_per_copy"] * copy_ms]
        ),
        host_ms=np.array([np.inf]),
        groups_ms=no_groups(),
    )
    return UnprofiledSteps(target, parts, np.array([carried_ms]))


@pytest.mark.parametrize("name", ["A10G", "H100-SXM5-80GB", "Tesla P100-PCIE-16GB"])
@pytest.mark.parametrize("host", ["cascade-lake", ""])
def test_a_step_of_the_benchmark_s_mix_is_unchanged_there_and_back(shipped, name, host):
    step_model, anchor = shipped.step, shipped.reference
    row = step_model.instances[anchor]
    target, _ = target_of(shipped, shipped.gpus[name], host_named(host, shipped.gpus[name].compute_capability), True)
    kinds = np.array([row.benchmark_kinds_ms]) * 2
    parts = StepParts(kinds, np.array([6.0]), np.array([5.0]), np.array([np.inf]), no_groups())
    here_ms = np.array([2 * row.benchmark_work_ms + 7.0])
    known = known_steps(step_model, AnchorSteps(anchor, parts, here_ms), {})
    there = transfer_steps(known, anchor, [target])
    found = map_to_profiled(
        step_model, anchor, recorded_there(step_model, target, known, float(there.latency_ms[0, 0]))
    )
    assert found.by_instance[anchor].latency_ms[0] == pytest.approx(here_ms[0], rel=0.01)
    # The profiled step itself is another bound, and differs there.
    assert found.floor_ms[0] == pytest.approx(known.floor_ms[0], rel=0.12)
