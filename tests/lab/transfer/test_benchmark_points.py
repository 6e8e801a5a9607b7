"""Published ResNet-50 speeds become points of the catalogue's GPUs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog import load_gpus
from profet_lab.measurements.published_points import POINT_OF, POINTS_FILE, PUBLISHED_GPUS, load_speeds
from profet_lab.measurements.tables import DataError
from profet_lab.transfer.benchmark_points import batch_log_sd, benchmark_points, same_chip_log_sd
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


def test_a_point_is_relative_to_the_reference(medians):
    points = benchmark_points(SPEEDS, medians, "p3.2xlarge")
    assert points["H100-SXM5-80GB"].log_speed == pytest.approx(math.log(2))
    # The L40S has the point of the RTX 6000 Ada: the same chip, other clocks and less bandwidth.
    sheet = (math.log(91.61 / 91.06) + math.log(864 / 960)) / 2
    assert points["L40S"].log_speed == pytest.approx(math.log(2) + sheet)
    assert points["L40S"].measured_on == "RTX 6000 Ada"
    assert points["L40S"].log_sd > points["H100-SXM5-80GB"].log_sd


def test_what_the_batch_size_moves_by_hand(medians):
    assert batch_log_sd(medians, "p3.2xlarge") == pytest.approx(math.log(1.25))


def test_equal_speeds_of_one_chip_are_missed_by_what_their_data_sheets_differ():
    chips = {}
    for gpu in PUBLISHED_GPUS:
        chips.setdefault(gpu.chip, []).append(math.log(gpu.fp32_tflops * gpu.bandwidth_gb_per_s) / 2)
    gaps = [a - b for values in chips.values() for i, a in enumerate(values) for b in values[i + 1 :]]
    assert same_chip_log_sd(SPEEDS) == pytest.approx(math.sqrt(sum(gap**2 for gap in gaps) / len(gaps)))


def test_every_gpu_with_a_point_is_in_the_catalogue():
    assert set(POINT_OF) <= set(load_gpus())
    assert set(POINT_OF.values()) <= {gpu.point for gpu in PUBLISHED_GPUS}


def test_a_table_without_the_reference_is_one_line(tmp_path):
    path = tmp_path / POINTS_FILE
    path.parent.mkdir()
    path.write_text("gpu,precision,batch_size,images_per_s,source\nV100-SXM2-16GB,amp,256,833,x\n")
    with pytest.raises(DataError, match="has no row of V100-SXM2-16GB"):
        load_speeds(tmp_path)
    with pytest.raises(DataError, match=r"No external/resnet50_training_points.csv in"):
        load_speeds(tmp_path / "nowhere")
