"""The published multi-GPU speeds, and rows of a made-up scale-out model."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.multi_gpu.law import ScaleoutModel, Strategy, Width
from profet_lab.measurements.tables import data_folder
from profet_lab.scaleout.fit import predicted_ms
from profet_lab.scaleout.rows import ScaleRows, load_scale_rows, scale_table


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
def made(true_law) -> pd.DataFrame:
    """Every strategy on every link, exactly as the scale-out model has it: networks A-D, GPUs one for each link."""
    networks = (("A", 140, 200.0), ("B", 60, 300.0), ("C", 25, 100.0), ("D", 5, 40.0))
    links = ((Link.NVSWITCH, 300), (Link.NVLINK, 150), (Link.PCIE, 16), (Link.PCIE_HOST, 16))
    strategies = (Strategy.RING, Strategy.PS_CPU, Strategy.ONE_PROCESS)
    rows = [
        {
            "gpu": str(link),
            "network": network,
            "strategy": strategy,
            "gpus": gpus,
            "interconnect": Interconnect(8, link, gb_per_s, 3, 2, 10.0, "made up"),
            "one_gpu_ms": one_gpu_ms / shorter,
            "latency_ms": 1.0,
            "gradient_bytes": 4e6 * millions,
            "tensors": 50 + millions,
        }
        for (network, millions, one_gpu_ms), (link, gb_per_s), gpus, strategy, shorter in product(
            networks, links, (2, 4, 8, 32), strategies, (1, 8)
        )
        if gpus <= 8 or strategy is not Strategy.ONE_PROCESS
    ]
    table = scale_table(rows)
    return table.assign(latency_ms=predicted_ms(true_law, table))


@pytest.fixture
def noisy(made) -> pd.DataFrame:
    """The same, 3 % off at random."""
    return made.assign(latency_ms=made["latency_ms"] * np.exp(np.random.default_rng(0).normal(0, 0.03, len(made))))
