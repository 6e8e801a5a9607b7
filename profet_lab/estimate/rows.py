"""Measured steps as rows: work, instance and latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.from_layers.costs import StepAmounts, step_amounts
from profet_core.layers.counts import Counts
from profet_core.layers.networks import counts_of
from profet_lab.measurements.tables import WORKLOAD

#: The one known latency of a held-out GPU: the benchmark (ResNet-50, 224 pixels) at batch 32.
BENCHMARK = ("ResNet50", 224, 32)


@dataclass(frozen=True)
class EstimateRows:
    """One row a workload and instance: the median of its repeats; all but `amounts` of shape (rows,)."""

    instances: np.ndarray
    networks: np.ndarray
    pixels: np.ndarray
    batch_sizes: np.ndarray
    latency_ms: np.ndarray
    amounts: StepAmounts

    def __len__(self) -> int:
        return len(self.latency_ms)

    def of(self, rows: np.ndarray) -> EstimateRows:
        """Some rows, by mask or by number."""
        return EstimateRows(
            self.instances[rows],
            self.networks[rows],
            self.pixels[rows],
            self.batch_sizes[rows],
            self.latency_ms[rows],
            self.amounts.of(rows),
        )

    @property
    def on(self) -> tuple[str, ...]:
        """Instances of the rows, sorted."""
        return tuple(sorted(set(self.instances.tolist())))

    @property
    def is_benchmark(self) -> np.ndarray:
        """Rows of the benchmark, (rows,) of True and False."""
        network, pixels, batch_size = BENCHMARK
        return (self.networks == network) & (self.pixels == pixels) & (self.batch_sizes == batch_size)

    @property
    def workloads(self) -> np.ndarray:
        """Which rows are of one workload: a number for each, (rows,)."""
        keys = pd.DataFrame({"a": self.networks, "b": self.pixels, "c": self.batch_sizes})
        return keys.groupby(["a", "b", "c"], sort=True).ngroup().to_numpy()


def estimate_rows(all_latencies: pd.DataFrame) -> EstimateRows:
    """Rows of all measured runs, as `Measurements.all_latencies` has them; networks by our own counts."""
    table = all_latencies.groupby(["instance", *WORKLOAD], as_index=False)["batch_latency_ms"].median()
    counted: dict[tuple[str, int], Counts] = {}
    for network, pixels in table[["model", "pixels"]].drop_duplicates().itertuples(index=False):
        counted[network, pixels] = counts_of(network, int(pixels))
    networks: Sequence[Counts] = [counted[key] for key in zip(table["model"], table["pixels"], strict=True)]
    return EstimateRows(
        instances=table["instance"].to_numpy(str),
        networks=table["model"].to_numpy(str),
        pixels=table["pixels"].to_numpy(int),
        batch_sizes=table["batch_size"].to_numpy(int),
        latency_ms=table["batch_latency_ms"].to_numpy(float),
        amounts=step_amounts(networks, table["batch_size"].tolist()),
    )
