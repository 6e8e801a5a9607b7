"""Kernel latencies become speeds by kind, each beside V100's."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from profet_core.transfer.law import BANDWIDTH, CONVOLUTION, PRODUCT
from profet_lab.measurements.kernels import _SIZES, KERNELS_FILE, load_kernel_speeds, log_bandwidth
from profet_lab.measurements.tables import DataError, data_folder

#: Speed of the L4's kernels over V100's, by operation.
L4 = {"conv": 0.5, "linear": 0.8, "add": 0.25}
OTHERS = ("Tesla T4", "Tesla P100-PCIE-16GB", "NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3")


def made(count: int = 20, latency_ms: float = 2.0) -> pd.DataFrame:
    rows = []
    for operation, speed in L4.items():
        for size in range(count):
            sizes = dict.fromkeys(_SIZES, np.nan) | {"operation": operation, "B": size}
            rows.append({**sizes, "gpu": "Tesla V100-PCIE-32GB", "latency_ms": latency_ms})
            rows.append({**sizes, "gpu": "NVIDIA L4", "latency_ms": latency_ms / speed})
            rows += [{**sizes, "gpu": name, "latency_ms": latency_ms} for name in OTHERS]
    return pd.DataFrame(rows)


@pytest.fixture
def speeds(tmp_path):
    """`speeds(table)`: what is read of a table written as the data have it."""

    def read(table: pd.DataFrame) -> dict:
        (tmp_path / KERNELS_FILE).parent.mkdir(exist_ok=True)
        table.to_parquet(tmp_path / KERNELS_FILE)
        return load_kernel_speeds(tmp_path)

    return read


def test_a_speed_is_v100s_time_over_the_gpus_by_kind(speeds):
    found = speeds(made())["L4"]
    assert found == pytest.approx({CONVOLUTION: math.log(0.5), PRODUCT: math.log(0.8), BANDWIDTH: math.log(0.25)})


def test_kernels_as_short_as_their_launch_and_too_few_kernels_tell_nothing(speeds):
    assert speeds(made(latency_ms=0.1))["L4"] == {}
    assert speeds(made(count=19))["L4"] == {}


def test_bandwidth_beside_another_gpu_is_by_kernels_of_both_or_by_data_sheets():
    kernels = {"L4": {BANDWIDTH: -1.2}, "Tesla T4": {BANDWIDTH: -1.1}, "H100-SXM5-80GB": {PRODUCT: 1.3}}
    sheets = {"L4": 300.0, "Tesla T4": 320.0, "H100-SXM5-80GB": 3350.0, "Tesla V100-SXM2-16GB": 900.0}
    assert log_bandwidth(kernels, "L4", sheets, "Tesla T4") == pytest.approx(-0.1)
    assert log_bandwidth(kernels, "L4", sheets, "Tesla V100-SXM2-16GB") == pytest.approx(-1.2)
    assert log_bandwidth(kernels, "H100-SXM5-80GB", sheets, "L4") == pytest.approx(math.log(3350 / 300))


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(DataError, match=r"^No external/kernel_latencies.parquet in .*: speeds by kind"):
        load_kernel_speeds(tmp_path)


def test_the_data_say_of_l4_what_its_bandwidth_is(measurements):
    found = load_kernel_speeds(data_folder())
    assert math.exp(found["L4"][BANDWIDTH]) == pytest.approx(0.288, abs=5e-4)
    assert CONVOLUTION not in found["L4"]
