"""Speeds of unprofiled GPUs: the specs law and published points."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog.gpus import Gpu, load_gpus
from profet_lab.measurements.published import POINTS_TABLE
from profet_lab.transfer.transfer_file import benchmark_points, fit_specs
from tests.made.step_law import LAW

V100 = load_gpus()["Tesla V100-SXM2-16GB"]


def cards(count: int, seed: int = 0) -> dict[str, Gpu]:
    """Cards of two generations with random specs."""
    rng = np.random.default_rng(seed)
    return {
        f"card {number}": replace(
            V100,
            name=f"card {number}",
            compute_capability=(8.0, 9.0)[number % 2],
            fp32_tflops=float(np.exp(rng.uniform(2, 5))),
            bandwidth_gb_per_s=float(np.exp(rng.uniform(5, 8))),
        )
        for number in range(count)
    }


def truth(gpu: Gpu) -> float:
    """A law to find: powers 0.3 and 0.6, and 0.5 for the second generation."""
    by_specs = 0.3 * math.log(gpu.fp32_tflops / V100.fp32_tflops)
    by_specs += 0.6 * math.log(gpu.bandwidth_gb_per_s / V100.bandwidth_gb_per_s)
    return by_specs + (0.5 if gpu.compute_capability == 9.0 else 0.0)


def speeds_of(gpus: dict[str, Gpu], table: str = POINTS_TABLE, shift: float = 0.0) -> pd.DataFrame:
    rows = [(name, table, True, truth(gpu) + shift) for name, gpu in gpus.items()]
    return pd.DataFrame(rows, columns=["gpu", "table", "resnet50", "log_ratio"])


def test_the_specs_law_is_recovered_and_predicts_an_unseen_gpu():
    gpus = cards(20)
    law, known, _ = fit_specs(speeds_of(gpus), gpus, V100, without=["card 3"])
    assert law.coefficients[1:3] == pytest.approx([0.3, 0.6], abs=0.01)
    assert "card 3" not in known and law.gpus == 19
    assert law.log_speed(gpus["card 3"], V100) == pytest.approx(truth(gpus["card 3"]), abs=0.02)
    assert law.log_sd(gpus["card 3"], V100) < 0.1
    other = replace(gpus["card 3"], compute_capability=12.0)
    assert law.log_sd(other, V100) > 2 * law.log_sd(gpus["card 3"], V100)


def test_a_table_that_is_off_by_one_factor_agrees():
    gpus = cards(20)
    tables = pd.concat([speeds_of(gpus), speeds_of(gpus, "another", shift=-0.3)], ignore_index=True)
    _, known, _ = fit_specs(tables, gpus, V100)
    assert max(abs(known[name][0] - truth(gpu)) for name, gpu in gpus.items()) < 0.05


def test_an_outlier_is_drawn_to_its_own_point_and_its_held_out_speed_is_not():
    gpus = cards(20) | {"slow": V100, "fast": V100}
    ratios = speeds_of(cards(20)).assign(tf32=False)
    ratios.loc[0, "log_ratio"] += 0.3
    law = replace(LAW, instances={"fast": replace(LAW.instances["fast"], gpu=V100.name)})
    _, points, fp32_points = benchmark_points(ratios, law, "fast", gpus | {V100.name: V100})
    own, right = points["card 0"], truth(gpus["card 0"])
    assert own.published == pytest.approx(right + 0.3) and own.tables == 1
    assert right < own.log_speed <= right + 0.31
    assert abs(own.held_out - right) < abs(own.log_speed - right)
    assert fp32_points == {}
