"""The published multi-GPU speeds, and rows of a made-up scale-out model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.multi_gpu.law import ScaleoutModel, Strategy, Width
from profet_lab.measurements.tables import data_folder
from profet_lab.scaleout.fit import predicted_ms
from profet_lab.scaleout.networks import Weights
from profet_lab.scaleout.rows import THROUGHPUTS, ScaleRow, ScaleRows, load_scale_rows


@pytest.fixture(scope="session")
def published() -> ScaleRows:
    return load_scale_rows(data_folder())


@pytest.fixture(scope="session")
def true_law() -> ScaleoutModel:
    return ScaleoutModel(
        link_efficiency={Link.NVSWITCH: 0.8, Link.NVLINK: 0.6, Link.BRIDGE: 0.6, Link.PCIE: 0.5, Link.PCIE_HOST: 0.2},
        host_efficiency=0.7,
        network_efficiency=0.4,
        message_ms=0.3,
        overlap=0.4,
        straggling=0.02,
        network_straggling=0.01,
        copy_efficiency=0.5,
        tensor_ms=0.05,
        tensor_gpu_ms=0.1,
        widths=dict.fromkeys(Link, Width(0.0, 0.0, 0.0)),
        one_process_widths=dict.fromkeys(Link, Width(0.0, 0.0, 0.0)),
    )


@pytest.fixture(scope="session")
def made(true_law) -> list[ScaleRow]:
    """Every strategy on every link, exactly as the scale-out model has it: networks A-D, GPUs one for each link."""
    rows = []
    for network, millions, one_gpu_ms in (("A", 140, 200), ("B", 60, 300), ("C", 25, 100), ("D", 5, 40)):
        for link, gb_per_s in ((Link.NVSWITCH, 300), (Link.NVLINK, 150), (Link.PCIE, 16), (Link.PCIE_HOST, 16)):
            node = Interconnect(8, link, gb_per_s, 3, 2, 10.0, "made up")
            for gpus in (2, 4, 8, 32):
                for strategy in (Strategy.RING, Strategy.PS_CPU, Strategy.ONE_PROCESS):
                    if gpus > 8 and strategy is Strategy.ONE_PROCESS:
                        continue
                    weights = Weights(millions * 1e6, int(50 + millions))
                    row = ScaleRow(
                        THROUGHPUTS, "made up", link, network, "fp32", strategy, gpus, node, 64, 1.0, 1.0, weights
                    )
                    rows += [replace(row, one_gpu_ms=float(ms)) for ms in (one_gpu_ms, one_gpu_ms / 8)]
    times_ms = predicted_ms(true_law, rows)
    return [replace(row, latency_ms=float(ms)) for row, ms in zip(rows, times_ms, strict=True)]


@pytest.fixture
def noisy(made) -> list[ScaleRow]:
    """The same, 3 % off at random."""
    factors = np.exp(np.random.default_rng(0).normal(0, 0.03, len(made)))
    return [replace(row, latency_ms=row.latency_ms * factor) for row, factor in zip(made, factors, strict=True)]
