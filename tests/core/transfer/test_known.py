"""What is known of steps before they are carried anywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.transfer.known import AnchorSteps, KnownSteps, Latencies, known_steps
from tests.made.step_law import FAST, LAW, made_parts


def known(latency_ms=108.0, others=None, law=LAW, floor_ms=None, **parts) -> KnownSteps:
    measured = None if latency_ms is None else np.array([latency_ms])
    told = None if floor_ms is None else np.array([floor_ms])
    rows = {name: Latencies(np.array([value]), np.array([half])) for name, (value, half) in (others or {}).items()}
    return known_steps(law, AnchorSteps("fast", made_parts(**parts), measured, told), rows)


def test_work_is_what_copy_start_and_tails_leave():
    found = known(others={"slow": (408.0, 0.3)})
    assert found.work_ms["fast"][0] == pytest.approx(100.0)
    assert found.work_ms["slow"][0] == pytest.approx(400.0)


def test_a_measured_anchor_counts_as_it_was_measured_and_last():
    found = known(others={"slow": (408.0, 0.3)}).latencies
    assert list(found) == ["slow", "fast"]
    assert (found["fast"].latency_ms[0], found["fast"].log_half_width[0]) == (108.0, 0.0)


def test_a_latency_that_nobody_measured_is_told_by_the_profile():
    found = known(latency_ms=None).latencies["fast"]
    assert found.latency_ms[0] == pytest.approx(108.0)
    assert found.log_half_width[0] == 0.1


def test_no_floor_is_above_a_latency_that_is_known():
    assert known(idle=12.0, others={"slow": (20.0, 0.0)}).floor_ms[0] == 20.0, "gaps alone would give 52 ms"


def test_a_latency_on_a_faster_host_bounds_the_floor_by_what_launches_would_take_on_the_reference():
    law = replace(LAW, instances={"fast": FAST, "slow": replace(FAST, host="cascade-lake")})
    found = known(law=law, idle=12.0, others={"slow": (20.0, 0.0)})
    assert found.floor_ms[0] == pytest.approx(20.0 / 0.7918, rel=1e-4)


def test_a_floor_that_is_known_otherwise_counts():
    assert known(floor_ms=33.0).floor_ms[0] == 33.0
    assert known(floor_ms=333.0).floor_ms[0] == 108.0, "no step takes less than its launches"
