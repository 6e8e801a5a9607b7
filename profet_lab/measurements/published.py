"""Read published training speeds by GPU of the catalog, and another source's epoch times beside PROFET's."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_lab.measurements.tables import found_file

#: ResNet-50 of one source on many GPUs, each at the largest batch that fits, relative to its V100.
POINTS_FILE, MORE_POINTS_FILE = (
    Path("external") / "resnet50_training_points.csv",
    Path("external") / "resnet50_points_more.csv",
)
THROUGHPUT_FILE = Path("external") / "training_throughput.csv"
#: Names in the files -> GPU of the catalog, where they differ.
_NAMES = {
    "A10 (PCIe; not A10G)": "A10",
    "B200-SXM-192GB": "B200",
    "RTX 6000 Ada (AD102 as L40S; 142 SM)": "RTX 6000 Ada Generation",
}


def load_points(folder: Path) -> pd.DataFrame:
    """Points of ResNet-50 by one source: gpu (of the catalog), precision (fp32, tf32, amp), batch_size, images_per_s.

    Only GPUs with specs, and `tensor_cores` : whether half precision runs on them.
    """
    table = pd.concat([pd.read_csv(found_file(folder, name)) for name in (POINTS_FILE, MORE_POINTS_FILE)])
    gpus = load_gpus()
    table = table.assign(gpu=table.gpu.replace(_NAMES), precision=table.precision.replace("fp16", "amp"))
    table = table[table.gpu.isin(set(gpus))]
    return table.assign(tensor_cores=[gpus[name].fp16_tensor_dense_tflops is not None for name in table.gpu])


def load_tuned(folder: Path) -> pd.DataFrame:
    """ResNet-50 at 224 pixels in NVIDIA's examples in AMP, on one GPU of the catalog: gpu, source, images_per_s."""
    table = pd.read_csv(found_file(folder, THROUGHPUT_FILE))
    ours = table.source_repo.str.startswith("NVIDIA") & (table.network == "ResNet50") & (table.precision == "amp")
    table = table[ours & (table.gpus == 1) & table.gpu.isin(set(load_gpus()))]
    source = table.framework + ", " + table.framework_version.fillna("")
    return table.assign(source=source).groupby(["gpu", "source"])["images_per_s"].median().reset_index()


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
    """Return MLPerf Training speeds of ResNet-50.

    Returns
    -------
    speeds : columns gpu (of the catalog), round, images_per_s (per GPU, the best), batch_size (the median), results.
    """
    table = pd.read_csv(found_file(folder, MLPERF_FILE))
    table = table[(table.gpus <= _MAX_GPUS) & (table.batch_size >= _MIN_SUBMITTED_BATCH)]
    called = table.gpu.str.upper().str.removeprefix("NVIDIA ")
    patterns = {re.compile(rf"{begins}\b"): gpu for begins, gpu in _SUBMITTED.items()}
    gpus = [next((gpu for pattern, gpu in patterns.items() if pattern.match(name)), None) for name in called]
    groups = table.assign(gpu=pd.Series(gpus, index=table.index)).dropna(subset="gpu").groupby(["gpu", "round"])
    speeds = groups.agg(
        images_per_s=("images_per_s_per_gpu", "max"), batch_size=("batch_size", "median"), results=("gpu", "size")
    )
    return speeds.reset_index()


def mlperf_ratio(speeds: pd.DataFrame, gpu: str, other: str) -> tuple[float, int] | None:
    """How many times faster one GPU is than another, median over the rounds that have both, and their number."""
    by_round = speeds.pivot(index="round", columns="gpu", values="images_per_s")
    if gpu not in by_round or other not in by_round:
        return None
    ratios = (by_round[gpu] / by_round[other]).dropna()
    return (float(ratios.median()), len(ratios)) if len(ratios) else None
