"""The time of a step and its parts, by hand, on a model in round numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace
from profet_core.transfer.step_model import (
    BANDWIDTH,
    KINDS,
    StepParts,
    gpu_time_ms,
    kind_of_class,
    shares,
    step_parts,
)
from profet_core.transfer.steps import AnchorSteps, KnownSteps, known_steps

from profet_core.ensemble.classes import load_operation_classes
from profet_core.ensemble.members import profile_batch
from profet_core.latency import Estimate
from profet_core.transfer.model import Spread
from profet_core.transfer.targets import HOSTS, REFERENCE_HOST, Host, host_named
from profet_profiles import Profile
from tests.made.step_model import FAST, SLOW, STEP_MODEL, made_parts

QUICK = Host("quick", launch=0.5, copy=0.25, log_sd=0.2)


def test_copy_start_tails_and_what_they_leave_to_the_gpu_by_hand():
    assert STEP_MODEL.fixed_ms(made_parts(), "fast", STEP_MODEL.hosts["fast"])[0] == 1.5 * 4 + 2
    assert STEP_MODEL.fixed_ms(made_parts(), "fast", QUICK)[0] == 1.5 * 4 * 0.25 + 2 * 0.5
    assert FAST.benchmark_compute_share == SLOW.benchmark_compute_share == 0.6
    assert gpu_time_ms(np.array([108.0]), np.array([8.0]))[0] == 100.0
    assert gpu_time_ms(np.array([8.0]), np.array([8.0]))[0] == pytest.approx(0.8)
    tails = replace(STEP_MODEL, tail_share=0.1)
    # 108 ms of latency less 8 of copy and start, less 2 of tails.
    assert tails.work_ms(np.array([108.0]), np.array([8.0]), np.array([20.0]))[0] == pytest.approx(98.0)


def test_rates_of_an_instance_give_its_benchmark():
    # Convolutions are eight times slower there and the rest twice: 60 and 40 ms of the fast one's benchmark become 560.
    kinds = (-math.log(4), -math.log(4), 0.0, 0.0)
    step_model = replace(
        STEP_MODEL, instances={"fast": FAST, "slow": replace(SLOW, kind_log_speeds=kinds, benchmark_work_ms=560.0)}
    )
    rates = step_model.log_rates("slow", "fast")
    assert np.exp(rates)[[0, 3]] == pytest.approx([1 / 8, 1 / 2])
    assert step_model.benchmark_log_speed(rates, "fast") == pytest.approx(-math.log(5.6))
    # Half the work: the same differences, twice as fast in everything.
    faster = replace(
        step_model,
        instances={**step_model.instances, "slow": replace(step_model.instances["slow"], benchmark_work_ms=280.0)},
    )
    assert np.exp(faster.log_rates("slow", "fast"))[[0, 3]] == pytest.approx([1 / 4, 1.0])


@pytest.mark.parametrize(
    ("busy_ms", "idle_ms", "host_ms", "latency_ms", "floor_ms"),
    [
        # Gaps show the launches that the GPU hides: 2 + 5 * (3 - 2) = 7; the profiled step over 2 is 51.5.
        (100.0, 3.0, np.inf, 108.0, 1 / (1 / 7 + 1 / 51.5)),
        # The profiled step over the slowdown: 15 beside 2 + 5 * 23 = 117.
        (5.0, 25.0, np.inf, 40.0, 1 / (1 / 15 + 1 / 117)),
        # Never above the latency itself.
        (5.0, 25.0, np.inf, 9.0, 9.0),
        # Fewer gaps than the fewest: the start alone.
        (100.0, 1.0, np.inf, 108.0, 1 / (1 / 2 + 1 / 50.5)),
        # The host's own time over the slowdown, whatever the gaps say, but no more than the profiled step.
        (100.0, 3.0, 30.0, 108.0, 15.0),
        (100.0, 3.0, 300.0, 108.0, 51.5),
    ],
)
def test_the_floor_is_the_least_of_its_bounds(busy_ms, idle_ms, host_ms, latency_ms, floor_ms):
    parts = made_parts(convolution=busy_ms, bandwidth=0.0, idle=idle_ms, host=host_ms)
    assert STEP_MODEL.floor_ms(parts, "fast", np.array([latency_ms]))[0] == pytest.approx(floor_ms)


def test_bounds_of_the_floor():
    # Gaps of 5 ms and the start, on a host that launches 1 / 0.79 times as fast: as on the reference host.
    elsewhere = replace(STEP_MODEL, instances={**STEP_MODEL.instances, "fast": replace(FAST, host="cascade-lake")})
    launch = elsewhere.hosts["fast"].launch
    floor_ms = elsewhere.floor_ms(made_parts(idle=3.0), "fast", None)[0]
    assert floor_ms == pytest.approx(1 / (1 / (2 * launch + 5) + 1 / 51.5) / launch)
    # Gaps in which the batch is copied are no launches.
    waiting = replace(STEP_MODEL, instances={"fast": replace(FAST, idle_per_copy=0.25)})
    floors = [waiting.floor_ms(made_parts(copy=copy, idle=7.0), "fast", None)[0] for copy in (4.0, 8.0, 80.0)]
    assert floors == pytest.approx([1 / (1 / (2 + gaps) + 1 / 53.5) for gaps in (5 * (7 - 2 - 1), 5 * (7 - 2 - 2), 0)])


def test_the_anchors_latency_by_its_own_profile_and_shares_of_many():
    assert STEP_MODEL.inferred_anchor_ms(made_parts(), "fast")[0] == pytest.approx(108.0)
    # A step whose launches take longer than its 5 ms of work: (5 + 25) / 2 beside 117.
    bound = made_parts(convolution=5.0, bandwidth=0.0, copy=0.0, idle=25.0)
    assert STEP_MODEL.inferred_anchor_ms(bound, "fast")[0] == pytest.approx(1 / (1 / 15 + 1 / 117))
    assert shares(np.array([[2.0, 6.0], [0.0, 0.0]])) == pytest.approx(np.array([[0.25, 0.75], [0.0, 0.0]]))
    both = parts_of(PROFILE, Profile({name: 2 * us for name, us in PROFILE.operations.items()}))
    assert both.of(np.array([1])).kinds_ms[0] == pytest.approx(2 * both.kinds_ms[0], rel=1e-3)
    assert both.of(np.array([True, False])).copy_ms == pytest.approx([4.0])


def known(latency_ms=108.0, others=None, step_model=STEP_MODEL, floor_ms=None, **parts) -> KnownSteps:
    measured = None if latency_ms is None else np.array([latency_ms])
    stated = None if floor_ms is None else np.array([floor_ms])
    rows = {
        name: Estimate(latency_ms=np.array([value]), log_sd=np.array([half]))
        for name, (value, half) in (others or {}).items()
    }
    return known_steps(step_model, AnchorSteps("fast", made_parts(**parts), measured, stated), rows)


def test_known_work_is_what_copy_start_and_tails_leave_and_no_floor_is_above_a_latency():
    found = known(others={"slow": (408.0, 0.3)})
    assert [found.work_ms[name][0] for name in ("fast", "slow")] == pytest.approx([100.0, 400.0])
    # A measured anchor counts as it was measured and last; one that nobody measured is inferred from the profile.
    assert list(found.latencies) == ["slow", "fast"]
    anchors = (found.latencies["fast"], known(latency_ms=None).latencies["fast"])
    assert [row.latency_ms[0] for row in anchors] == pytest.approx([108.0, 108.0])
    assert [row.log_half_width[0] for row in anchors] == [0.0, 0.1]
    slow = {"slow": (20.0, 0.0)}
    assert known(idle=12.0, others=slow).floor_ms[0] == 20.0, "gaps alone would give 52 ms"
    # On a faster host it bounds the floor by what launches would take on the reference.
    step_model = replace(STEP_MODEL, instances={"fast": FAST, "slow": replace(FAST, host="cascade-lake")})
    assert known(step_model=step_model, idle=12.0, others=slow).floor_ms[0] == pytest.approx(20.0 / 0.7918, rel=1e-4)
    # A floor that is known otherwise counts; no step takes less than its launches.
    assert [known(floor_ms=stated).floor_ms[0] for stated in (33.0, 333.0)] == [33.0, 108.0]


#: 80 ms of convolution, 20 ms of batch norm, 7 ms of a depthwise filter gradient, 4 ms of copy, 3 ms of gaps.
PROFILE = Profile(
    {
        "Device_Conv2D": 50_000.0,
        "Device_Conv2DBackpropFilter": 30_000.0,
        "Device_FusedBatchNormV3": 20_000.0,
        "Device_DepthwiseConv2dNativeBackpropFilter": 7_000.0,
        "Device_MatMul": 5_000.0,
        "Device__Recv": 4_000.0,
        "Device_IDLE": 3_000.0,
        "Host_IDLE": 165_000.0,
    }
)


def parts_of(*profiles: Profile) -> StepParts:
    return step_parts(load_operation_classes(), profile_batch(profiles, "fast", None).inputs)


def test_a_profile_splits_into_kinds_copy_and_gaps():
    found = parts_of(PROFILE)
    assert found.kinds_ms[0] == pytest.approx([80.0, 5.0, 7.0, 20.0], abs=0.01)
    assert (found.copy_ms[0], found.idle_ms[0]) == pytest.approx((4.0, 3.0))
    assert found.host_ms[0] == np.inf, "nothing tells"
    assert found.busy_ms[0] == pytest.approx(112.0, abs=0.01)
    # Time without a class counts as bound by bandwidth, as every class but the five of computation.
    odd = parts_of(Profile({**PROFILE.operations, "Device_FlibbertigibbetOp": 9_000.0}))
    assert odd.kinds_ms[0] - found.kinds_ms[0] == pytest.approx([0, 0, 0, 9.0], abs=0.01)
    assert len([name for name in load_operation_classes().device if kind_of_class(name) != BANDWIDTH]) == 5
    assert kind_of_class("no such class") == BANDWIDTH and len(KINDS) == found.kinds_ms.shape[1]


def test_hosts_and_spreads(catalog):
    measured = {"broadwell", "cascade-lake"}
    assert {name: host.log_sd for name, host in HOSTS.items()} == {
        name: 0.13 if name in measured else 0.3 for name in HOSTS
    }
    # 2.7 over 3.1 GHz at 1.1 times the instructions.
    assert host_named("cascade-lake").launch == pytest.approx(0.7918, abs=1e-4)
    assert (REFERENCE_HOST.launch, REFERENCE_HOST.copy) == (1.0, 1.0)
    order = ["haswell", "broadwell", "skylake", "cascade-lake", "rome", "milan", "ice-lake", "sapphire-rapids", "turin"]
    for times in ([host_named(name).copy for name in order], [host_named(name).launch for name in order[:5]]):
        assert times == sorted(times, reverse=True)
    # An unknown one is what its GPU's generation was sold with.
    for capability, typical in ((3.7, "skylake"), (7.5, "cascade-lake"), (8.6, "milan"), (9.0, "sapphire-rapids")):
        host = host_named("pentium", capability)
        assert (host.launch, host.copy) == (host_named(typical).launch, host_named(typical).copy)
        assert host.log_sd == 0.4
    assert host_named("").launch == host_named("", None).launch == host_named("sapphire-rapids").launch
    assert {row.host for row in catalog.values()} <= {*HOSTS, ""}
    found = [Spread(0.03, 0.04, 4).log_sd(), Spread(0.03, 0.04, 4).log_sd(0.12)]
    assert found == pytest.approx([0.05, 0.13])
