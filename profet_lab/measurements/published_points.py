"""Read published training speeds by GPU of the catalog."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_lab.measurements.tables import DataError

#: ResNet-50 of one source on many GPUs, each at the largest batch that fits, relative to its V100.
POINTS_FILES = (
    Path("external") / "resnet50_training_points.csv",
    Path("external") / "resnet50_points_more.csv",
)
THROUGHPUT_FILE = Path("external") / "training_throughput.csv"
POINTS_TABLE = "lambdal/deeplearning-benchmark, PyTorch"
#: V100 under the names of the tables, the nearest to the reference first.
_REFERENCES = (
    "Tesla V100-SXM2-16GB",
    "V100-SXM2-16GB",
    "Tesla V100-SXM2-32GB",
    "Tesla V100 (16 GB)",
    "Tesla V100 (32 GB)",
    "Tesla V100-SXM3-32GB",
)
#: The SXM3's higher power limit makes it this much faster: both in NVIDIA's table of TensorFlow.
_FASTER_REFERENCE = {"Tesla V100-SXM3-32GB": math.log(432 / 412)}
#: Smaller batches measure launches too.
_LEAST_BATCH = 64
#: Tables of real training: no simulations and no batches of 12 without an update.
_TABLES = ("lambdal/lambda-tensorflow-benchmark", "NVIDIA/DeepLearningExamples", "ml-energy/zeus")
#: Names in the files -> GPU of the catalog, where they differ.
_NAMES = {
    "A10 (PCIe; not A10G)": "A10",
    "B200-SXM-192GB": "B200",
    "RTX 6000 Ada (AD102 as L40S; 142 SM)": "RTX 6000 Ada Generation",
}
#: One script of many hands, at batches of 12 without an update: it tells ratios at small batches, not the speed of
#: training. Its forks ran on other hosts, so that only networks that no host delays compare.
_SCRIPT = "pytorch-gpu-benchmark"
_GPU_BOUND = ("VGG11", "VGG13", "VGG16", "VGG19")
_PRECISIONS = {True: ("tf32", "tf32-conv"), False: ("fp32", "fp32-inferred")}


def published_ratios(folder: Path) -> pd.DataFrame:
    """ResNet-50's published training speeds over V100's: gpu (of the catalog), tf32, table and log_ratio.

    A table is one repository's with one framework, at 224 pixels and batches of 64 and more. XLA's gain, by GPUs that
    ran with and without, is taken out of a repository's runs.

    Raises
    ------
    DataError : a file or the reference is missing.
    """
    points = pd.concat([pd.read_csv(_found(folder, name)) for name in POINTS_FILES])
    rows = _against_reference(points, POINTS_TABLE)
    table = _single_gpu_rows(folder, _TABLES)
    table = table[(table.network == "ResNet50") & (table.pixels == 224) & (table.batch_size >= _LEAST_BATCH)]
    for (repository, framework), part in table.groupby(["source_repo", "framework"]):
        rows += _against_reference(part, f"{repository}, {framework}")
    if not rows:
        raise DataError(f"{POINTS_FILES[0]} has no row of {_REFERENCES[1]}.")
    return pd.DataFrame(rows, columns=["gpu", "tf32", "table", "log_ratio"])


def _against_reference(table: pd.DataFrame, name: str) -> list[tuple[str, bool, str, float]]:
    reference = _reference_log_speed(table)
    if reference is None:
        return []
    return [
        (gpu, tf32, name, _log_speed(own) - reference)
        for (gpu, tf32), own in _in_catalog(table).groupby(["gpu", "tf32"])
    ]


def _in_catalog(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in FP32 or TF32 of GPUs with specs, by the catalog's names, with `tf32`."""
    table = table.assign(gpu=table.gpu.replace(_NAMES))
    tf32, fp32 = (table.precision.isin(names) for names in _PRECISIONS.values())
    return table.assign(tf32=tf32)[(tf32 | fp32) & table.gpu.isin(set(load_gpus())) & ~table.gpu.isin(_REFERENCES)]


def published_steps(folder: Path) -> pd.DataFrame:
    """Published steps beside V100's in the same table: gpu (of the catalog), table, network, pixels, batch_size and
    log_ratio, the logarithm of the step's latency over V100's for as many images.

    Batches of other sizes are compared by the image. GPUs with TF32 ran in TF32.
    """
    table, rows = _single_gpu_rows(folder, (*_TABLES, _SCRIPT)), []
    forks = table.source_repo.str.endswith(_SCRIPT)
    table = table.assign(table=np.where(forks, f"{_SCRIPT}, PyTorch", table.source_repo + ", " + table.framework))
    table = table[~forks | table.network.isin(_GPU_BOUND)]
    for (name, network, pixels), same in table.groupby(["table", "network", "pixels"]):
        own = _in_catalog(same)
        own = own[own.tf32 == own.gpu.map(lambda gpu: load_gpus()[gpu].tf32_tensor_dense_tflops is not None)]
        for (gpu, batch_size), one in own.groupby(["gpu", "batch_size"]):
            reference = _reference_log_speed(_nearest_batch(same, float(batch_size)))
            if reference is not None:
                rows.append((gpu, name, network, pixels, batch_size, reference - _log_speed(one)))
    return pd.DataFrame(rows, columns=["gpu", "table", "network", "pixels", "batch_size", "log_ratio"])


def _single_gpu_rows(folder: Path, repositories: Sequence[str]) -> pd.DataFrame:
    """Rows of one GPU, as if without XLA where the repository ran both."""
    table = pd.read_csv(_found(folder, THROUGHPUT_FILE))
    table = table[(table.gpus == 1) & table.source_repo.str.endswith(tuple(repositories))]
    xla = table.source_file.str.contains("XLA") | table.framework_version.str.contains("XLA")
    same = ["source_repo", "framework", "network", "precision"]
    by_gpu = table.assign(log=np.log(table.images_per_s)).groupby([*same, "gpu", xla.rename("xla")])["log"].median()
    both = by_gpu.unstack("xla").dropna()
    gains = (both[True] - both[False]).groupby(["source_repo", "framework", "network"]).median().rename("gain")
    gain = table.join(gains, on=["source_repo", "framework", "network"])["gain"].fillna(0.0)
    return table.assign(images_per_s=table.images_per_s * np.exp(-gain.where(xla, 0.0)))


def _nearest_batch(rows: pd.DataFrame, batch_size: float) -> pd.DataFrame:
    """Of each GPU the rows at the batch size nearest to this one."""
    away = np.log(rows.batch_size / batch_size).abs()
    return rows[away == away.groupby(rows.gpu).transform("min")]


def _reference_log_speed(rows: pd.DataFrame) -> float | None:
    for name in _REFERENCES:
        own = rows[(rows.gpu == name) & (rows.precision == "fp32")]
        if len(own):
            return _log_speed(own) - _FASTER_REFERENCE.get(name, 0.0)
    return None


def _log_speed(rows: pd.DataFrame) -> float:
    return float(np.log(rows.images_per_s).median())


def _found(folder: Path, name: Path) -> Path:
    if not (folder / name).is_file():
        raise DataError(f"No {name} in {folder}: transfer to unprofiled GPUs is fitted on it.")
    return folder / name
