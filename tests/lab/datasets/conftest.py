"""Made-up measurements in the shape of PROFET's tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from profet_lab.dataset import Dataset
from profet_lab.dataset_files import read_tables
from profet_lab.measurements.tables import LATENCIES_FILE, PROFILES_FILE

RUN = ["instance", "model", "pixels", "batch_size", "repeat"]
TIMES = ["batch_latency_ms", "epoch_latency_s"]


@pytest.fixture
def profiles() -> pd.DataFrame:
    """Two workloads, twice each, on two instances; two steps a profile, of which the device rows are 2.1."""
    rows = [
        (name, "VGG11", 32, batch, repeat, factor * batch, 7.0, *(factor * batch * us for us in (1800, 300, 0, 500)))
        for batch in (20, 10)
        for name, factor in (("p3.2xlarge", 0.5), ("p2.xlarge", 1.0))
        for repeat in (2, 1)
    ]
    operations = ["Device_Conv2D", "Device_IDLE", "Host_Dataset", "Host_IDLE"]
    table = pd.DataFrame(rows, columns=[*RUN, *TIMES, *operations])
    # One operation that most runs lack.
    table.loc[0, "Host_Dataset"] = 4.0
    return table


@pytest.fixture
def latencies(profiles) -> pd.DataFrame:
    """All of these, and a workload that fits on one instance only and has no profile."""
    larger = pd.DataFrame([("p3.2xlarge", "VGG11", 64, 20, 1, 33.0, 9.5)], columns=[*RUN, *TIMES])
    return pd.concat([profiles[[*RUN, *TIMES]], larger], ignore_index=True)


@pytest.fixture
def tables(profiles, latencies, tmp_path) -> Path:
    """A folder that holds `profet/` with both tables."""
    folder = tmp_path / "data"
    (folder / PROFILES_FILE).parent.mkdir(parents=True)
    profiles.to_parquet(folder / PROFILES_FILE)
    latencies.to_parquet(folder / LATENCIES_FILE)
    return folder


@pytest.fixture
def dataset(tables) -> Dataset:
    return read_tables(tables / "profet")
