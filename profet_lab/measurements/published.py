"""Read published training speeds by GPU of the catalog, and another source's epoch times beside PROFET's."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_core.units import MS_PER_S
from profet_lab.measurements.tables import WORKLOAD, DataError, found_file, load_architectures

#: ResNet-50 of one source on many GPUs, each at the largest batch that fits, relative to its V100.
POINTS_FILE, MORE_POINTS_FILE = (
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
#: Its steps there are those of the 2080 Ti, at three quarters of whose specs.
_MISNAMED = "GeForce RTX 2080"
_PRECISIONS = {True: ("tf32", "tf32-conv"), False: ("fp32", "fp32-inferred")}


def load_points(folder: Path) -> pd.DataFrame:
    """Points of ResNet-50 by one source: gpu (of the catalog), precision (fp32, tf32, amp), batch_size, images_per_s.

    Only GPUs with specs, and `tensor_cores` : whether half precision runs on them.
    """
    table = pd.concat([pd.read_csv(found_file(folder, name)) for name in (POINTS_FILE, MORE_POINTS_FILE)])
    gpus = load_gpus()
    table = table.assign(gpu=table.gpu.replace(_NAMES), precision=table.precision.replace("fp16", "amp"))
    table = table[table.gpu.isin(set(gpus))]
    return table.assign(tensor_cores=[gpus[name].fp16_tensor_dense_tflops is not None for name in table.gpu])


def published_ratios(folder: Path) -> pd.DataFrame:
    """Published training speeds over V100's: gpu (of the catalog), tf32, table, resnet50 and log_ratio.

    A table is one repository's with one framework: ResNet-50 at 224 pixels and batches of 64 and more, or VGG's mean of
    one script. Runs under XLA are compared with V100's under XLA alone.
    """
    points = pd.concat([pd.read_csv(found_file(folder, name)) for name in (POINTS_FILE, MORE_POINTS_FILE)])
    rows = _against_reference(points, POINTS_TABLE)
    table = _single_gpu_rows(folder, _TABLES)
    table = table[(table.network == "ResNet50") & (table.pixels == 224) & (table.batch_size >= _LEAST_BATCH)]
    for (name, _), part in table.groupby(["table", "xla"]):
        rows += _against_reference(part, str(name))
    if not rows:
        raise DataError(f"{POINTS_FILE} has no row of {_REFERENCES[1]}.")
    found = pd.DataFrame(rows, columns=["gpu", "tf32", "table", "log_ratio"]).assign(resnet50=True)
    others = published_steps(folder, (_SCRIPT,)).groupby(["gpu", "table"], as_index=False).log_ratio.mean()
    has_tf32 = others.gpu.map(lambda gpu: load_gpus()[gpu].tf32_tensor_dense_tflops is not None)
    others = others.assign(log_ratio=-others.log_ratio, tf32=has_tf32, resnet50=False)
    return pd.concat([found, others[others.gpu != _MISNAMED]], ignore_index=True)


def _against_reference(table: pd.DataFrame, name: str) -> list[tuple[str, bool, str, float]]:
    reference = _reference_log_speed(table)
    if reference is None:
        return []
    return [
        (str(gpu), bool(tf32), name, _log_speed(own) - reference)
        for (gpu, tf32), own in _in_catalog(table).groupby(["gpu", "tf32"])
    ]


def _in_catalog(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in FP32 or TF32 of GPUs with specs, by the catalog's names, with `tf32`."""
    table = table.assign(gpu=table.gpu.replace(_NAMES))
    tf32, fp32 = (table.precision.isin(names) for names in _PRECISIONS.values())
    return table.assign(tf32=tf32)[(tf32 | fp32) & table.gpu.isin(set(load_gpus())) & ~table.gpu.isin(_REFERENCES)]


def published_steps(folder: Path, repositories: Sequence[str] = (*_TABLES, _SCRIPT)) -> pd.DataFrame:
    """Published steps beside V100's in the same table: gpu (of the catalog), table, network, pixels, batch_size and
    log_ratio, the logarithm of the step's latency over V100's for as many images.

    Batches of other sizes are compared by the image. GPUs with TF32 ran in TF32.
    """
    table, rows = _single_gpu_rows(folder, repositories), []
    for (name, _, network, pixels), same in table.groupby(["table", "xla", "network", "pixels"]):
        own = _in_catalog(same)
        own = own[own.tf32 == own.gpu.map(lambda gpu: load_gpus()[gpu].tf32_tensor_dense_tflops is not None)]
        for (gpu, batch_size), one in own.groupby(["gpu", "batch_size"]):
            reference = _reference_log_speed(_nearest_batch(same, float(one.batch_size.iloc[0])))
            if reference is not None:
                rows.append((gpu, name, network, pixels, batch_size, reference - _log_speed(one)))
    return pd.DataFrame(rows, columns=["gpu", "table", "network", "pixels", "batch_size", "log_ratio"])


def _single_gpu_rows(folder: Path, repositories: Sequence[str]) -> pd.DataFrame:
    """Rows of one GPU, with whether they ran under `xla` and the name of their `table`."""
    table = pd.read_csv(found_file(folder, THROUGHPUT_FILE))
    table = table[(table.gpus == 1) & table.source_repo.str.endswith(tuple(repositories))]
    forks = table.source_repo.str.endswith(_SCRIPT)
    return table.assign(
        xla=table.source_file.str.contains("XLA") | table.framework_version.str.contains("XLA"),
        table=np.where(forks, f"{_SCRIPT}, PyTorch", table.source_repo + ", " + table.framework),
    )[~forks | table.network.isin(_GPU_BOUND)]


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


MLPERF_FILE = Path("external") / "mlperf_resnet50.csv"
#: How GPU names in submissions begin -> GPU of the catalog.
_SUBMITTED = {
    "A100-PCIE-40GB": "A100-PCIE-40GB",
    "A100-PCIE-80GB": "A100-PCIE-80GB",
    "A100-SXM-40GB": "A100-SXM4-40GB",
    "A100-SXM4-40GB": "A100-SXM4-40GB",
    "A100-SXM-80GB": "A100-SXM4-80GB",
    "A100-SXM4-80GB": "A100-SXM4-80GB",
    "H100-PCIE": "H100-PCIE-80GB",
    "H100-SXM-80GB": "H100-SXM5-80GB",
    "H100-SXM5-80GB": "H100-SXM5-80GB",
    "H200-SXM5": "H200-SXM-141GB",
    "V100-SXM2-16GB": "Tesla V100-SXM2-16GB",
    "RTX A5000": "RTX A5000",
    "A10G": "A10G",
    "A30": "A30",
    "A40": "A40",
    "L40S": "L40S",
    "L4": "L4",
}
#: Submissions of more GPUs wait for the network; smaller batches per GPU wait for the host.
_MAX_GPUS, _MIN_SUBMITTED_BATCH = 16, 100


def mlperf_speeds(folder: Path) -> pd.DataFrame:
    """MLPerf Training speeds of ResNet-50: gpu (of the catalog), round, images_per_s (per GPU, the best), results."""
    table = pd.read_csv(found_file(folder, MLPERF_FILE))
    table = table[(table.gpus <= _MAX_GPUS) & (table.batch_size >= _MIN_SUBMITTED_BATCH)]
    called = table.gpu.str.upper().str.removeprefix("NVIDIA ")
    patterns = {re.compile(rf"{begins}\b"): gpu for begins, gpu in _SUBMITTED.items()}
    gpus = [next((gpu for pattern, gpu in patterns.items() if pattern.match(name)), None) for name in called]
    groups = (
        table.assign(gpu=pd.Series(gpus, index=table.index))
        .dropna(subset="gpu")
        .groupby(["gpu", "round"])
        .images_per_s_per_gpu
    )
    return groups.agg(images_per_s="max", results="size").reset_index()


def mlperf_ratio(speeds: pd.DataFrame, gpu: str, other: str) -> tuple[float, int] | None:
    """How many times faster one GPU is than another, median over the rounds that have both, and their number."""
    by_round = speeds.pivot(index="round", columns="gpu", values="images_per_s")
    if gpu not in by_round or other not in by_round:
        return None
    ratios = (by_round[gpu] / by_round[other]).dropna()
    return (float(ratios.median()), len(ratios)) if len(ratios) else None


FORWARD_FILE = Path("external") / "timm_forward_throughput.csv"
#: Columns of one PyTorch version -> GPU of the catalog.
_FORWARD = {
    "rtx3090_pt240": "GeForce RTX 3090",
    "rtx4090_pt240": "GeForce RTX 4090",
    "rtx4090_pt291": "GeForce RTX 4090",
    "rtx5090_pt291": "GeForce RTX 5090",
    "rtxpro6000maxq_pt291": "RTX PRO 6000 Blackwell Max-Q Workstation Edition",
}


def forward_speeds(folder: Path) -> pd.DataFrame:
    """Forward throughput in AMP by timm: network, pixels, gpu (of the catalog), version of PyTorch, images_per_s."""
    table = pd.read_csv(found_file(folder, FORWARD_FILE)).rename(columns={"model": "network"})
    rows = table.melt(["network", "pixels"], list(_FORWARD), "column", "images_per_s").dropna()
    return rows.assign(gpu=rows.column.map(_FORWARD), version=rows.column.str.split("_").str[1]).drop(columns="column")


EPOCHS_FILE = Path("external") / "cloud_hw_trainpred.csv"
#: What the source calls the instances with T4 and V100, which PROFET measured too.
T4, V100 = "g4dn", "p3"
#: What the source calls an instance -> PROFET's name; the GPUs that PROFET did not measure keep the source's.
INSTANCES = {T4: "g4dn.xlarge", V100: "p3.2xlarge"}
#: Its names of the GPUs that only it has -> the catalog's.
DERIVED = {"g5": "A10G", "p100": "Tesla P100-PCIE-16GB"}


def load_epochs(folder: Path, all_latencies: pd.DataFrame) -> pd.DataFrame:
    """The source's rows beside PROFET's medians of the same workload.

    Returns:
    table : columns model, pixels, batch_size, instance, raw_ms (epoch time over training steps), the columns the
        correction uses, measured_ms (PROFET's latency on that GPU, NaN where it has none), and a column of PROFET's
        latency for each of its instances.
    """
    table = pd.read_csv(found_file(folder, EPOCHS_FILE)).rename(columns={"image_size": "pixels"})
    layers = load_architectures(folder)[["model", "pixels", "n_layers"]]
    medians = all_latencies.groupby([*WORKLOAD, "instance"]).batch_latency_ms.median().unstack("instance").reset_index()
    table = table.merge(layers, on=["model", "pixels"], how="left").merge(medians, on=WORKLOAD, how="left")
    table["raw_ms"] = table.epoch_s * MS_PER_S / table.train_batches
    measured = [
        row[INSTANCES[row["instance"]]] if row["instance"] in INSTANCES else np.nan for _, row in table.iterrows()
    ]
    return table.assign(measured_ms=np.array(measured, float))
