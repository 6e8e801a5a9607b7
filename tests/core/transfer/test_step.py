"""What a step takes beside its work: by hand, on a law in round numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.transfer.hosts import Host
from profet_core.transfer.step import gpu_time_ms, least_bound_ms
from tests.made.step_law import FAST, LAW, SLOW, made_parts

QUICK = Host("quick", launch=0.5, copy=0.25, log_sd=0.2)


def test_copy_and_start_scale_with_the_host_alone():
    assert LAW.fixed_ms(made_parts(), "fast", LAW.host("fast"))[0] == 1.5 * 4 + 2
    assert LAW.fixed_ms(made_parts(), "fast", QUICK)[0] == 1.5 * 4 * 0.25 + 2 * 0.5


def test_a_faster_host_shortens_copy_and_start():
    slow, fast = (LAW.fixed_ms(made_parts(), "fast", host)[0] for host in (LAW.host("fast"), QUICK))
    assert fast < slow


def test_the_gpu_takes_what_copy_and_start_leave_and_never_less_than_a_tenth():
    assert gpu_time_ms(np.array([108.0]), np.array([8.0]))[0] == 100.0
    assert gpu_time_ms(np.array([8.0]), np.array([8.0]))[0] == pytest.approx(0.8)


def test_tails_grow_with_launches_and_multiprocessors():
    tails = replace(LAW, tail_share=0.1)
    assert tails.tails_ms(np.array([20.0]), 80)[0] == pytest.approx(2.0)
    assert tails.tails_ms(np.array([20.0]), 120)[0] == pytest.approx(3.0)
    # 108 ms of latency less 8 of copy and start, less 2 of tails.
    assert tails.work_ms("fast", np.array([108.0]), np.array([8.0]), np.array([20.0]))[0] == pytest.approx(98.0)


@pytest.mark.parametrize(
    ("busy_ms", "idle_ms", "host_ms", "latency_ms", "floor_ms"),
    [
        # Gaps tell the launches that the GPU hides: 2 + 5 * (3 - 2) = 7; the profiled step over 2 is 51.5, far off.
        (100.0, 3.0, np.inf, 108.0, 6.994),
        # The profiled step over the slowdown: 15 beside 2 + 5 * 23 = 117.
        (5.0, 25.0, np.inf, 40.0, 14.990),
        # Never above the latency itself.
        (5.0, 25.0, np.inf, 9.0, 9.0),
        # Fewer gaps than the fewest: the start alone.
        (100.0, 1.0, np.inf, 108.0, 2.0),
        # The host's own time over the slowdown: 5 beside 7.
        (100.0, 3.0, 10.0, 108.0, 4.507),
    ],
)
def test_the_floor_is_the_least_of_its_bounds(busy_ms, idle_ms, host_ms, latency_ms, floor_ms):
    parts = made_parts(convolution=busy_ms, bandwidth=0.0, idle=idle_ms, host=host_ms)
    assert LAW.floor_ms(parts, "fast", np.array([latency_ms]))[0] == pytest.approx(floor_ms, abs=1e-3)


def test_what_the_host_spent_only_lowers_a_floor():
    floors = [LAW.floor_ms(made_parts(idle=9.0, host=host), "fast", None)[0] for host in (np.inf, 60.0, 20.0, 2.0)]
    assert floors == sorted(floors, reverse=True)
    assert floors[-1] < 1.0


def test_bounds_that_are_close_are_joined_below_both():
    # (2 * 8^-3)^(-1/3)
    assert least_bound_ms([np.array([8.0]), np.array([8.0])])[0] == pytest.approx(6.3496, abs=1e-4)
    assert least_bound_ms([np.array([8.0]), np.array([np.inf])])[0] == pytest.approx(8.0)
    assert least_bound_ms([np.array([8.0]), np.array([0.0])])[0] == 0.0


def test_floors_are_told_on_the_reference_host_whichever_recorded_them():
    elsewhere = replace(LAW, instances={**LAW.instances, "fast": replace(FAST, host="cascade-lake")})
    launch = elsewhere.host("fast").launch
    floor_ms = elsewhere.floor_ms(made_parts(idle=3.0), "fast", None)[0]
    # Gaps of 5 ms and the start, on a host that launches 1 / 0.79 times as fast.
    assert floor_ms == pytest.approx((2 * launch + 5) / launch, rel=2e-3)


def test_gaps_in_which_the_batch_is_copied_are_no_launches():
    waiting = replace(LAW, instances={"fast": replace(FAST, idle_per_copy=0.25)})
    floors = [waiting.floor_ms(made_parts(copy=copy, idle=7.0), "fast", None)[0] for copy in (4.0, 8.0, 80.0)]
    assert floors == pytest.approx([2 + 5 * (7 - 2 - 1), 2 + 5 * (7 - 2 - 2), 2.0], rel=0.05)


def test_the_anchors_latency_by_its_own_profile():
    assert LAW.own_latency_ms(made_parts(), "fast")[0] == pytest.approx(108.0)
    # A step whose launches take longer than its 5 ms of work: (5 + 25) / 2.
    bound = made_parts(convolution=5.0, bandwidth=0.0, copy=0.0, idle=25.0)
    assert LAW.own_latency_ms(bound, "fast")[0] == pytest.approx(15.0, abs=0.02)


def test_the_benchmarks_mix_is_that_of_its_profile():
    assert FAST.benchmark_compute_share == SLOW.benchmark_compute_share == 0.6
