"""Fixtures of the training side: the full measurements, and a small made-up set."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import pytest
from msgspec.structs import replace

# Looked for, not imported: that takes seconds, of every run that only collects.
for _name in ("tensorflow", "sklearn"):
    if find_spec(_name) is None:
        pytest.skip(f"{_name} is not installed: pip install -r requirements.txt", allow_module_level=True)

import pandas as pd  # noqa: E402

from profet_lab.measurements.tables import Measurements, data_folder, load_measurements  # noqa: E402
from tests.made.uncompiled import without_compiling  # noqa: E402

#: How alike two trainings on the same rows are: sums in single precision differ by processor, in the sixth digit after
#: some steps. Latencies are shown to three digits, and a row that got in would leave no number (`without_numbers`).
SAME_TRAINING = {"rtol": 1e-4, "atol": 1e-7}


@pytest.fixture(scope="session")
def measurements() -> Measurements:
    """The real measurements."""
    return load_measurements(data_folder())


@pytest.fixture
def uncompiled(monkeypatch) -> None:
    """For training in few steps: compiling would take longer."""
    without_compiling(monkeypatch)


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
    latency_ms = times_us.sum(axis=1) / 1_000
    runs = [
        workloads.assign(instance=name, batch_latency_ms=factor * latency_ms, epoch_latency_s=1.0)
        for name, factor in (("slow", 1.0), ("fast", 0.5))
    ]
    return Measurements(
        workloads=workloads,
        operations=operations,
        times_us={"slow": times_us, "fast": times_us / 2},
        latency_ms={"slow": latency_ms, "fast": latency_ms / 2},
        all_latencies=pd.concat(runs, ignore_index=True),
        sha256={"made": "up"},
    )


@pytest.fixture(scope="session")
def classed() -> Measurements:
    """Four architectures of real operations, each with a mix of its own; the target is exactly twice as fast.

    D alone has depthwise convolutions. Every profile is complete: its step holds the matrix product.
    """
    return _classed(batch_sizes=(16, 32, 64), repeats=(1, 2))


@pytest.fixture(scope="session")
def many() -> Measurements:
    """The same in as many rows as boosted trees need: 60 workloads an architecture, four repeats."""
    return _classed(batch_sizes=range(16, 256, 8), repeats=(1, 2, 3, 4))


def _classed(batch_sizes: Sequence[int], repeats: Sequence[int]) -> Measurements:
    random = np.random.default_rng(0)
    sizes = [(pixels, batch) for pixels in (32, 64) for batch in batch_sizes]
    workloads = pd.DataFrame(
        [(model, pixels, batch, repeat) for model in "ABCD" for pixels, batch in sizes for repeat in repeats],
        columns=["model", "pixels", "batch_size", "repeat"],
    )
    mixes = {
        "Device_Conv2D": (3.0, 5.0, 2.0, 1.0),
        "Device_Conv2DBackpropFilter": (4.0, 3.0, 1.0, 1.0),
        "Device_FusedBatchNormV3": (0.2, 0.5, 3.0, 2.0),
        "Device_MatMul": (2.0, 0.5, 1.0, 0.1),
        "Device_DepthwiseConv2dNative": (0.0, 0.0, 0.0, 4.0),
        "Device_IDLE": (1.0, 1.0, 1.0, 1.0),
        "Host_IDLE": (9.0, 9.0, 9.0, 9.0),
        "Host_Dataset": (0.3, 0.2, 0.1, 0.1),
    }
    mix = pd.DataFrame(mixes, index=list("ABCD")).loc[workloads["model"]].to_numpy()
    size_us = 1_000 * workloads[["batch_size"]].to_numpy(float) / 16
    times_us = mix * size_us * random.uniform(0.9, 1.1, mix.shape)
    latency_ms = times_us[:, :6].sum(axis=1) / 1_000
    return Measurements(
        workloads=workloads,
        operations=tuple(mixes),
        times_us={"slow": times_us, "fast": times_us / 2},
        latency_ms={"slow": latency_ms, "fast": latency_ms / 2},
        all_latencies=workloads.assign(instance="slow", batch_latency_ms=latency_ms, epoch_latency_s=1.0),
        sha256={"made": "up"},
    )


def without_numbers(measurements: Measurements, rows: np.ndarray) -> Measurements:
    """The same without a number in these rows (boolean mask) on any instance: what leaves them out can't notice."""
    return replace(
        measurements,
        times_us={name: np.where(rows[:, None], np.nan, times) for name, times in measurements.times_us.items()},
        latency_ms={name: np.where(rows, np.nan, latency) for name, latency in measurements.latency_ms.items()},
    )


@pytest.fixture
def poisoned(classed) -> Measurements:
    """`classed` without a number for D."""
    return without_numbers(classed, classed.architectures == "D")
