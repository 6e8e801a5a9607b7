"""The published measurements as they are read: profiles of two steps become profiles of one, latencies stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from profet_lab.measurements.tables import LATENCIES_FILE, PROFILES_FILE, DataError, load_measurements

pytestmark = pytest.mark.training


def write(folder: Path, profiles: pd.DataFrame) -> Path:
    (folder / PROFILES_FILE).parent.mkdir(exist_ok=True)
    profiles.to_parquet(folder / PROFILES_FILE)
    profiles[["instance", "model", "pixels", "batch_size", "repeat", "batch_latency_ms", "epoch_latency_s"]].to_parquet(
        folder / LATENCIES_FILE
    )
    return folder


@pytest.fixture
def published() -> pd.DataFrame:
    """Two workloads on two instances in no order; each profile holds two steps of 10 or 20 ms, half of that on fast."""
    rows = [
        (name, "A", 32, batch, 1, factor * batch * 1_000.0, factor * batch * 200.0, factor * batch * 50.0)
        for batch in (20, 10)
        for name, factor in (("slow", 1.0), ("fast", 0.5))
    ]
    keys = ["instance", "model", "pixels", "batch_size", "repeat"]
    table = pd.DataFrame(rows, columns=[*keys, "Device_Conv2D", "Device_IDLE", "Host_IDLE"])
    table["batch_latency_ms"] = (table["Device_Conv2D"] + table["Device_IDLE"]) / 2 / 1_000
    return table.assign(epoch_latency_s=7.0)


def test_times_are_those_of_one_step_and_latencies_are_not_divided(published, tmp_path):
    found = load_measurements(write(tmp_path, published))
    assert found.instances == ("fast", "slow")
    assert found.operations == ("Device_Conv2D", "Device_IDLE", "Host_IDLE")
    assert found.workloads["batch_size"].tolist() == [10, 20]
    # 10,000 us over two steps are 5,000 us a step, on the host too; the latency was of one step all along.
    np.testing.assert_array_equal(found.times_us["slow"], [[5_000, 1_000, 250], [10_000, 2_000, 500]])
    np.testing.assert_array_equal(found.times_us["fast"], [[2_500, 500, 125], [5_000, 1_000, 250]])
    np.testing.assert_array_equal(found.latency_ms["slow"], [6, 12])
    assert found.all_latencies["epoch_latency_s"].tolist() == [7] * 4
    np.testing.assert_array_equal(found.device_total_us("slow"), [6_000, 12_000])


def test_a_workload_that_one_instance_lacks_is_told(published, tmp_path):
    with pytest.raises(DataError, match="slow has other workloads than the rest"):
        load_measurements(write(tmp_path, published[1:]))
