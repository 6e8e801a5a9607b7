"""Published ResNet-50 speeds become points of the catalog's GPUs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog.gpus import load_gpus
from profet_core.transfer.model import BenchmarkPoint
from profet_core.transfer.speed import sheet_log_speed
from profet_lab.measurements.published_points import PUBLISHED_GPUS
from profet_lab.transfer.benchmark_points import (
    LEAST_TABLE_LOG_SD,
    Published,
    batch_log_sd,
    relative_log_sd,
    same_chip_log_sd,
    table_log_sd,
)
from profet_lab.transfer.steps import Steps

SPEEDS = {"V100-SXM2-16GB": 100.0, **{gpu.point: 200.0 for gpu in PUBLISHED_GPUS}}


@pytest.fixture
def medians() -> Steps:
    """ResNet-50 at two batch sizes: the V100 gains 1.25 on both others."""
    workloads = pd.DataFrame({"model": "ResNet50", "pixels": 224, "batch_size": [16, 64]})
    latency_ms = {
        "p3.2xlarge": np.array([50.0, 160.0]),
        "g4dn.xlarge": np.array([100.0, 400.0]),
        "g3s.xlarge": np.array([200.0, 800.0]),
    }
    return Steps(workloads, latency_ms, {}, {})


def test_each_table_of_a_gpu_counts():
    published = Published(SPEEDS, {("RTX A6000", True): {"one": 0.3, "two": 0.5}})
    assert published.log_ratios("RTX A6000", tf32=True) == [0.3, 0.5]
    assert published.log_ratios("H100-SXM5-80GB", tf32=True) == pytest.approx([math.log(2)])
    assert {"RTX A6000", "L40S", "H100-SXM5-80GB"} <= set(published.names)


def test_tables_lie_apart_by_their_pooled_spread_and_no_less_than_what_is_known_of_tables():
    # Two tables 0.4 apart: 0.2 on either side, one degree of freedom.
    assert table_log_sd(Published(SPEEDS, {("RTX A6000", True): {"one": 0.1, "two": 0.5}})) == pytest.approx(
        math.sqrt(2 * 0.2**2)
    )
    assert table_log_sd(Published(SPEEDS, {("RTX A6000", True): {"one": 0.1, "two": 0.11}})) == LEAST_TABLE_LOG_SD
    assert table_log_sd(Published(SPEEDS, {})) == LEAST_TABLE_LOG_SD


def test_what_the_batch_size_moves_by_hand(medians):
    assert batch_log_sd(medians, "p3.2xlarge") == pytest.approx(math.log(1.25))


def test_equal_speeds_of_one_chip_are_missed_by_what_their_data_sheets_differ():
    # A100 with 40 GB on two boards beside each with 80, these two, and H100 beside H200: bandwidths alone differ.
    ratios = (2039 / 1555, 1935 / 1555, 2039 / 1555, 1935 / 1555, 2039 / 1935, 4800 / 3350)
    gaps = [math.log(ratio) / 2 for ratio in ratios]
    found = same_chip_log_sd(Published(SPEEDS, {}), load_gpus())
    assert found == pytest.approx(math.sqrt(sum(gap**2 for gap in gaps) / len(gaps)))


def test_a_relative_is_of_another_chip_and_was_published_itself():
    gpus = load_gpus()
    points = {
        name: BenchmarkPoint(speed, 0.1, measured_on, 1, speed)
        for name, speed, measured_on in (
            ("RTX 6000 Ada Generation", 0.5, "RTX 6000 Ada Generation"),
            ("L4", 0.5, "L4"),
            ("L40S", 0.1, "RTX 6000 Ada"),
        )
    }
    gap = sheet_log_speed(gpus["RTX 6000 Ada Generation"], gpus["L4"], True)
    assert relative_log_sd(points, gpus) == pytest.approx(abs(gap))
