"""Chooses the cells of `profet collect --quick`: `python -m profet_lab.quick_cells [DATA]`.

Each of the four GPUs is taken in turn as the new one. From an anchor's latencies and those of the cells chosen so far
the others are predicted by a Gaussian process over log ratios, never from cells of the same network. The next
cell is the one that lowers the mean error over all pairs, networks and cells most. The same GPUs choose and judge: on
another one the error is larger than the table says.
"""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.layers.networks import counts_of
from profet_lab.measurements.tables import data_folder

OUT = Path(__file__).resolve().parents[1] / "profet_collect" / "quick_cells.csv"
CELLS = 120
#: Prior of a log ratio: what all cells share, what is linear and what bends in the features, and a cell's own noise.
_SHARED, _LINEAR, _BENDING, _NOISE = 1.0, 0.3, 0.3, 0.05
_LENGTH = 2.0


@dataclass(frozen=True, slots=True)
class Choice:
    """A cell, and the mean error once it and all before it are known."""

    model: str
    pixels: int
    batch_size: int
    error_percent: float


def choose(latencies: pd.DataFrame, number: int) -> tuple[float, list[Choice]]:
    """Choose greedily.

    Parameters
    ----------
    latencies : median step latency in ms, a row a workload (model, pixels, batch_size), a column an instance.

    Returns
    -------
    The error in per cent with no cell known, and the choices in order.
    """
    workloads: list[tuple[str, int, int]] = list(latencies.index)
    log_ms = np.log(latencies.to_numpy())
    ratios = np.stack([log_ms[:, new] - log_ms[:, old] for new, old in permutations(range(log_ms.shape[1]), 2)], axis=1)
    models = np.array([model for model, *_ in workloads])
    folds = [np.flatnonzero(models == model) for model in dict.fromkeys(models)]
    covariance = np.repeat(_prior(workloads)[None], len(folds), axis=0)
    means = np.zeros((len(folds), *ratios.shape))
    error = _errors(means, ratios, folds)
    chosen: list[int] = []
    choices = []
    for _ in range(min(number, len(workloads))):
        after = _errors_after(covariance, means, ratios, folds)
        after[chosen] = np.inf
        best = int(after.argmin())
        chosen.append(best)
        for index, fold in enumerate(folds):
            if best not in fold:
                _learn(covariance[index], means[index], ratios, best)
        choices.append(Choice(*workloads[best], error_percent=100 * float(after[best])))
    return 100 * error, choices


def _prior(workloads: list[tuple[str, int, int]]) -> np.ndarray:
    counts = [counts_of(model, pixels) for model, pixels, _ in workloads]
    batch = np.array([size for *_, size in workloads])
    columns = [
        np.array([one.flops for one in counts]) * batch,
        np.array([one.activation_elements for one in counts]) * batch,
        np.array([one.depthwise_flops for one in counts]) + 1e6,
        np.array([one.parameters for one in counts]),
        np.array([one.layers for one in counts]),
        batch,
    ]
    features = np.log(np.stack(columns, axis=1).astype(float))
    # What all workloads share carries no information and has no spread to divide by.
    spread = features.std(0)
    features = (features - features.mean(0)) / np.where(spread > 0, spread, 1.0)
    apart = ((features[:, None] - features[None]) ** 2).sum(2)
    return _SHARED**2 + _LINEAR**2 * features @ features.T + _BENDING**2 * np.exp(-apart / (2 * _LENGTH**2))


def _errors(means: np.ndarray, ratios: np.ndarray, folds: list[np.ndarray]) -> float:
    misses = [np.abs(np.expm1(means[index, fold] - ratios[fold])) for index, fold in enumerate(folds)]
    return float(np.concatenate(misses).mean())


def _errors_after(covariance: np.ndarray, means: np.ndarray, ratios: np.ndarray, folds: list[np.ndarray]) -> np.ndarray:
    """The mean error once each workload is known beside what is known, (workloads,)."""
    total = np.zeros(len(ratios))
    for index, fold in enumerate(folds):
        variance = np.diag(covariance[index]) + _NOISE**2
        gain = covariance[index][fold] / variance
        gain[:, fold] = 0.0
        for pair in range(ratios.shape[1]):
            surprise = ratios[:, pair] - means[index, :, pair]
            predicted = means[index, fold, pair][:, None] + gain * surprise
            total += np.abs(np.expm1(predicted - ratios[fold, pair][:, None])).sum(0)
    return total / ratios.size


def _learn(covariance: np.ndarray, means: np.ndarray, ratios: np.ndarray, cell: int) -> None:
    """Condition a fold on a cell, in place."""
    gain = covariance[:, cell] / (covariance[cell, cell] + _NOISE**2)
    means += np.outer(gain, ratios[cell] - means[cell])
    covariance -= np.outer(gain, covariance[cell])


def latencies_of(folder: Path) -> pd.DataFrame:
    """Median step latency of each workload that ran on every instance."""
    table = pd.read_parquet(folder / "profet" / "latencies.parquet")
    keys = ["model", "pixels", "batch_size"]
    return table.groupby([*keys, "instance"])["batch_latency_ms"].median().unstack().dropna()


def _text(choices: list[Choice]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "pixels", "batch_size", "error_percent"])
    writer.writerows([one.model, one.pixels, one.batch_size, f"{one.error_percent:.2f}"] for one in choices)
    return out.getvalue()


def main() -> None:
    """Write the table, and print the error as cells are added."""
    before, choices = choose(latencies_of(data_folder(sys.argv[1] if len(sys.argv) > 1 else None)), CELLS)
    OUT.write_text(_text(choices))
    print(f"  0 cells: {before:.1f}%")
    for number in (1, 3, 5, 10, 20, 40, 60, 80, 100, 120):
        print(f"{number:3} cells: {choices[number - 1].error_percent:.1f}%")


if __name__ == "__main__":
    main()
