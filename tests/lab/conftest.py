"""Fixtures of the training side: the full measurements where they are, and a small made-up set everywhere."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("tensorflow", reason="the training set is not installed: pip install -r requirements.txt")
pytest.importorskip("sklearn", reason="the training set is not installed: pip install -r requirements.txt")

import pandas as pd

from profet_lab.data import DataError, Measurements, data_folder, load_measurements


@pytest.fixture(scope="session")
def measurements() -> Measurements:
    """The real measurements; a test that needs them skips by name where they are absent, and fails in CI."""
    try:
        return load_measurements(data_folder())
    except DataError as error:
        if os.environ.get("PROFET_REQUIRE_ALL"):
            pytest.fail(str(error))
        pytest.skip(f"needs the full data set: {error}")


@pytest.fixture
def small() -> Measurements:
    """Three architectures of 6 workloads x 2 repeats on two instances; the target is exactly twice the anchor."""
    random = np.random.default_rng(0)
    sizes = [(pixels, batch) for pixels in (32, 64) for batch in (16, 32, 64)]
    workloads = pd.DataFrame(
        [(model, pixels, batch, repeat) for model in "ABC" for pixels, batch in sizes for repeat in (1, 2)],
        columns=["model", "pixels", "batch_size", "repeat"],
    )
    operations = ("Device_Conv2D", "Device_Conv2DGrad", "Device_MatMul", "Device_OnlyInC", "Host_IDLE")
    times_us = workloads[["batch_size"]].to_numpy(float) * random.uniform(50, 60, (len(workloads), len(operations)))
    times_us[(workloads["model"] != "C").to_numpy(), 3] = 0.0
    latency_ms = times_us.sum(axis=1) / 2_000
    runs = [
        workloads.assign(instance=name, batch_latency_ms=factor * latency_ms, epoch_latency_s=1.0)
        for name, factor in (("slow", 1.0), ("fast", 0.5))
    ]
    return Measurements(
        workloads=workloads,
        operations=operations,
        times_us={"slow": times_us, "fast": times_us / 2},
        latency_ms={"slow": latency_ms, "fast": latency_ms / 2},
        epoch_s={"slow": latency_ms, "fast": latency_ms / 2},
        all_latencies=pd.concat(runs, ignore_index=True),
        sha256={"made": "up"},
    )
