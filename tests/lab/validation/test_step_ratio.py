"""What the number of steps is inferred by: device rows with idle over the latency, as the core's constants have it."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.prediction.steps import LARGEST_RATIO, TYPICAL_RATIO, USUAL_RATIOS
from profet_lab.validation.step_ratio import QUANTILES, ratio_quantiles, step_ratios


def test_idle_counts_and_the_host_does_not(classed):
    ratios = step_ratios(classed)
    device = [number for number, name in enumerate(classed.operations) if name.startswith("Device_")]
    first = classed.times_us["slow"][0, device].sum() / 1000 / classed.latency_ms["slow"][0]
    assert ratios["slow"][0] == pytest.approx(first)
    assert len(ratios["slow"]) == len(classed.workloads)


def test_quantiles_are_of_all_and_of_each_instance():
    ratios = {"a": np.arange(1.0, 102.0), "b": np.arange(101.0, 202.0)}
    found = ratio_quantiles(ratios)
    assert list(found) == ["all", "a", "b"]
    at = {name: dict(zip(QUANTILES, values, strict=True)) for name, values in found.items()}
    assert (at["a"][1], at["a"][50], at["a"][99], at["a"][100]) == (2.0, 51.0, 100.0, 101.0)
    assert (at["all"][50], at["all"][100]) == (101.0, 201.0)


def test_the_core_s_constants_are_those_of_the_measurements(measurements):
    """Percentiles 1, 50, 99 and the largest."""
    at = dict(zip(QUANTILES, ratio_quantiles(step_ratios(measurements))["all"], strict=True))
    assert at[50] == pytest.approx(TYPICAL_RATIO, abs=0.001)
    assert (at[1], at[99]) == (pytest.approx(USUAL_RATIOS[0], abs=0.005), pytest.approx(USUAL_RATIOS[1], abs=0.005))
    assert at[100] == pytest.approx(LARGEST_RATIO, abs=0.005)
