"""A GPU that another source measured: by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from profet_core.latency import NORMAL_90
from profet_core.transfer.derived import DerivedLaw, derive, relative_half_width
from profet_core.transfer.known import Latencies
from profet_core.transfer.model import Spread

LAW = DerivedLaw("t4", "v100", -0.1, 0.5, -0.05, 0.03, 0.04, 9, 99, True, 0.15)


def latencies(latency_ms: float, log_half_width: float) -> Latencies:
    return Latencies(np.array([latency_ms]), np.array([log_half_width]))


def test_a_derived_latency_by_hand():
    steps = {"t4": latencies(100.0, 0.1), "v100": latencies(36.0, 0.2)}
    found = derive(LAW, steps)
    assert found.latency_ms[0] == pytest.approx(100 * math.exp(-0.1) * math.sqrt(0.36) * 100**-0.05)
    assert found.log_half_width[0] == pytest.approx(math.hypot(0.45 * 0.1 + 0.5 * 0.2, NORMAL_90 * 0.05))
    relative = relative_half_width(LAW, steps)
    assert relative[0] == pytest.approx(math.hypot(0.55 * 0.1 + 0.5 * 0.2, NORMAL_90 * 0.05))
    assert LAW.powers == pytest.approx({"t4": 0.45, "v100": 0.5})


def test_a_spread_joins_gpus_networks_and_what_comes_to_it():
    # 0.03 and 0.04 make 0.05, with 0.12 then 0.13.
    assert Spread(0.03, 0.04, 4).log_half_width() == pytest.approx(1.645 * 0.05)
    assert Spread(0.03, 0.04, 4).log_half_width(0.12) == pytest.approx(1.645 * 0.13)
