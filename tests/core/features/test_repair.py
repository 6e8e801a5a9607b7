"""Cut profiles are scaled back to the step that their host rows tell; complete ones are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core.features.classes import repair_factor

STEP_MS, IDLE_MS = 100.0, 10.0


def factor_of(device_ms, idle_ms, host_ms, latency_ms=None, truncated=True, severely=False) -> tuple[float, float]:
    factor, doubt = repair_factor(
        np.array([float(device_ms)]),
        np.array([float(idle_ms)]),
        np.array([float(host_ms)]),
        np.array([truncated]),
        np.array([severely]),
        None if latency_ms is None else np.array([float(latency_ms)]),
    )
    return float(factor[0]), float(doubt[0])


@pytest.mark.parametrize("severely", [False, True])
@pytest.mark.parametrize("threads", [1, 1.5, 3.5])
def test_a_profile_that_lost_30_percent_is_scaled_back(threads, severely):
    # Complete: device rows of 100 ms, 10 of them idle. 30 ms of 90 busy ones are lost: 90 / 60 = 1.5 restores them.
    factor, doubt = factor_of(70, IDLE_MS, 1.03 * threads * STEP_MS, latency_ms=95, severely=severely)
    assert factor == pytest.approx(1.5, rel=0.06)
    assert 0 < doubt < 0.15


def test_with_a_single_plausible_thread_count_the_step_is_exact():
    # 103 ms of host rows are one thread's 100 ms: the other counts give less than the latency and hardly weigh.
    factor, _ = factor_of(70, IDLE_MS, 103, latency_ms=95)
    assert factor == pytest.approx((STEP_MS - IDLE_MS) / 60, rel=1e-3)


@pytest.mark.parametrize("latency_ms", [None, 95])
def test_complete_profiles_and_those_without_host_or_device_time_are_left_exactly_alone(latency_ms):
    assert factor_of(70, 10, 412, latency_ms, truncated=False) == (1.0, 0.0)
    for device_ms, idle_ms, host_ms in ((70, 10, 0), (0, 0, 412), (10, 10, 412)):
        assert factor_of(device_ms, idle_ms, host_ms, latency_ms) == (1.0, 0.0)


def test_profiles_are_repaired_each_on_its_own():
    device, host = np.array([70.0, 70.0, 15.0]), np.array([412.0, 309.0, 100.0])
    idle, truncated, severely = np.full(3, 5.0), np.array([True, False, True]), np.array([False, False, True])
    together, _ = repair_factor(device, idle, host, truncated, severely, None)
    alone = [factor_of(*row)[0] for row in zip(device, idle, host, [None] * 3, truncated, severely, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


@given(
    device_ms=st.floats(0, 1e6),
    idle_share=st.floats(0, 1),
    host_ms=st.floats(0, 1e7),
    latency_ms=st.none() | st.floats(1e-3, 1e6),
    severely=st.booleans(),
)
def test_any_factor_is_a_number_between_1_and_2(device_ms, idle_share, host_ms, latency_ms, severely):
    factor, doubt = factor_of(device_ms, idle_share * device_ms, host_ms, latency_ms, severely=severely)
    assert 1 <= factor <= 2
    assert 0 <= doubt < np.inf
