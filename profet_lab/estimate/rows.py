"""Measured steps as rows, and the folds that hold some of them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.from_layers.costs import StepAmounts, step_amounts
from profet_core.from_layers.model import Regime
from profet_core.layers.network import Counts
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


FOLDS = 5
#: Larger batches are predicted from those up to the largest over this.
BATCH_STEP = 4
#: Families and their networks by depth: deeper ones are predicted from shallower ones.
FAMILIES = (("VGG11", "VGG13", "VGG16", "VGG19"), ("ResNet18", "ResNet34", "ResNet50"))


@dataclass(frozen=True)
class Fold:
    """Masks over rows, (rows,): what is learned from, and what is judged; a row may be neither."""

    learned: np.ndarray
    judged: np.ndarray


def folds_of(regime: Regime, rows: EstimateRows) -> Iterator[Fold]:
    """The folds of a split: the larger, deeper, or unseen is in `judged` alone."""
    return _FOLDS[regime](rows)


def _interpolation(rows: EstimateRows) -> Iterator[Fold]:
    """Workloads held out on all instances at once: none is known from another GPU."""
    workloads = rows.workloads
    order = np.random.default_rng(0).permutation(workloads.max() + 1)
    for fold in range(FOLDS):
        out = order[workloads] % FOLDS == fold
        yield Fold(~out, out)


def _larger(rows: EstimateRows) -> Iterator[Fold]:
    small = rows.batch_sizes <= rows.batch_sizes.max() / BATCH_STEP
    yield Fold(small, ~small)


def _deeper(rows: EstimateRows) -> Iterator[Fold]:
    """The deeper half of each family that is there, all at once."""
    there = set(rows.networks.tolist())
    families = [[name for name in family if name in there] for family in FAMILIES]
    deeper = [name for family in families for name in family[(len(family) + 1) // 2 :]]
    out = np.isin(rows.networks, deeper)
    yield Fold(~out, out)


def _networks(rows: EstimateRows) -> Iterator[Fold]:
    for name in sorted(set(rows.networks.tolist())):
        out = rows.networks == name
        yield Fold(~out, out)


def _gpus(rows: EstimateRows) -> Iterator[Fold]:
    """The benchmark's network is known on the held-out GPU, and not validated there."""
    for name in rows.on:
        out = rows.instances == name
        yield Fold(~out, out & (rows.networks != BENCHMARK[0]))


def _both(rows: EstimateRows) -> Iterator[Fold]:
    """Each GPU with a fifth of the networks; of other networks it isn't known either, but for the benchmark's one."""
    names = sorted(set(rows.networks.tolist()))
    for gpu in _gpus(rows):
        for fold in range(FOLDS):
            out = np.isin(rows.networks, names[fold::FOLDS])
            if (gpu.judged & out).any():
                yield Fold(gpu.learned & ~out, gpu.judged & out)


_FOLDS = {
    Regime.INTERPOLATION: _interpolation,
    Regime.LARGER_BATCH: _larger,
    Regime.DEEPER: _deeper,
    Regime.UNSEEN_GPU: _gpus,
    Regime.UNSEEN_NETWORK: _networks,
    Regime.UNSEEN_BOTH: _both,
}
