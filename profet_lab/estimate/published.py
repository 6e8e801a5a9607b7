"""Compare estimates with published training speeds, which are never trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.errors import InputError
from profet_core.from_layers.estimate import Step, estimated_step
from profet_core.from_layers.model import EstimateModel
from profet_core.layers.networks import counts_of, network_name
from profet_core.transfer.model import TransferModel
from profet_core.transfer.targets import host_named
from profet_core.units import MS_PER_S
from profet_lab.measurements.published_points import THROUGHPUT_FILE

#: GPU speeds are inferred from published ResNet-50 speeds, so it can't check them.
BENCHMARK = "ResNet50"
#: What tables call a network that is another one here: theirs is the smaller AlexNet of 2014.
_NAMED = {"AlexNet": "AlexNet (2014)"}
_PRECISIONS = ("fp32", "tf32", "fp32-inferred")
_CLASSES = 1_000


@dataclass(frozen=True, slots=True)
class PublishedStep:
    """One published step on one GPU, milliseconds, and what is estimated of it."""

    gpu: str
    network: str
    latency_ms: float
    estimated_ms: float
    low_ms: float
    high_ms: float


def published_steps(model: EstimateModel, transfer: TransferModel, folder: Path) -> list[PublishedStep]:
    """Every published FP32 or TF32 step on one GPU of a network and a GPU that are known here, but ResNet-50's."""
    table = pd.read_csv(folder / THROUGHPUT_FILE).dropna(subset=["batch_size", "pixels", "images_per_s"])
    table = table[(table.gpus == 1) & table.precision.isin(_PRECISIONS) & (table.network != BENCHMARK)]
    return list(_estimated(model, transfer, table))


def _estimated(model: EstimateModel, transfer: TransferModel, table: pd.DataFrame) -> Iterator[PublishedStep]:
    for row in table.to_dict("records"):
        try:
            gpu = transfer.gpus.find(row["gpu"], row["memory_gib"])
            name = network_name(_NAMED.get(row["network"], row["network"]))
            network = counts_of(name, int(row["pixels"]), _CLASSES)
        except InputError:
            continue
        batch_size, tf32 = int(row["batch_size"]), row["precision"] != "fp32"
        found = estimated_step(
            model, transfer, Step(network, name, batch_size, tf32=tf32), (gpu, host_named("", gpu.compute_capability))
        )
        interval = found.interval_at()
        if interval is None:
            continue
        latency_ms = batch_size / row["images_per_s"] * MS_PER_S
        yield PublishedStep(gpu.name, name, latency_ms, found.latency_ms, interval.low_ms, interval.high_ms)


def published_report(model: EstimateModel, transfer: TransferModel, folder: Path) -> dict:
    """Errors of the default method: `all`, `by_gpu`, `by_network`; each has `n`, `mape`, `bias` (percent, positive
    where the estimate is the longer) and `coverage_90`."""
    steps = published_steps(model, transfer, folder)
    by_gpu, by_network = ({getattr(one, key) for one in steps} for key in ("gpu", "network"))
    return {
        "all": _figures(steps),
        "by_gpu": {name: _figures([one for one in steps if one.gpu == name]) for name in sorted(by_gpu)},
        "by_network": {name: _figures([one for one in steps if one.network == name]) for name in sorted(by_network)},
    }


def _figures(steps: list[PublishedStep]) -> dict:
    ratios = np.array([one.estimated_ms / one.latency_ms for one in steps])
    held = [one.low_ms <= one.latency_ms <= one.high_ms for one in steps]
    return {
        "n": len(steps),
        "mape": float(100 * np.abs(ratios - 1).mean()),
        "bias": float(100 * (np.exp(np.log(ratios).mean()) - 1)),
        "coverage_90": float(100 * np.mean(held)),
    }
