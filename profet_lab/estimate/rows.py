"""Measured steps as rows: PROFET's cells and published training throughputs, with the work of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.gpus import CHANNELS_LAST, PLAIN, canonical
from profet_core.errors import InputError
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of, measured_counts, named_network
from profet_core.layers.rates import Mode, case_of, mode_of, work_of
from profet_core.units import MS_PER_S
from profet_lab.measurements.published import MORE_POINTS_FILE, POINTS_FILE, THROUGHPUT_FILE
from profet_lab.measurements.tables import WORKLOAD, found_file

#: The source of PROFET's own cells.
PROFET = "PROFET, TensorFlow 2.5"
TIMM, POINTS = "timm, PyTorch", "lambdal/deeplearning-benchmark, PyTorch"
#: A script whose steps have batches of 12 and no optimizer's step, and its fork with the frameworks and hosts of today.
SCRIPT = "pytorch-gpu-benchmark, PyTorch"
TODAY = f"MatrixSP/{SCRIPT}"
#: The network known on a held-out GPU.
BENCHMARK = "ResNet50"
#: What the tables call a network -> its name here, by framework where they differ.
_TENSORFLOW = {"InceptionV3": "keras/InceptionV3"}
_NETWORKS = {
    "ResNeXt101-32x4d": "resnext101_32x4d",
    "SE-ResNeXt101-32x4d": "seresnext101_32x4d",
    "UNet Medical": "unet",
}
_GPUS = {
    "A10 (PCIe; not A10G)": "A10",
    "B200-SXM-192GB": "B200",
    "RTX 6000 Ada (AD102 as L40S; 142 SM)": "RTX 6000 Ada Generation",
    "V100-32GB (workstation)": "Tesla V100-PCIE-16GB",
    "V100-SXM2-16GB": "Tesla V100-SXM2-16GB",
    "Tesla V100-SXM2-32GB": "Tesla V100-SXM2-16GB",
    "Tesla V100-SXM3-32GB": "Tesla V100-SXM2-16GB",
    "Tesla V100-PCIE-32GB": "Tesla V100-PCIE-16GB",
    "Tesla V100 (16 GB)": "Tesla V100-SXM2-16GB",
    "Tesla V100 (32 GB)": "Tesla V100-SXM2-16GB",
    "Tesla P100": "Tesla P100-PCIE-16GB",
}
#: Its steps in one table are those of another card.
_MISNAMED = ("GeForce RTX 2080", "aisensiy")
#: Files and networks in half precision at a fifth of FP32's throughput or less, where others attain more than FP32's.
_BROKEN = re.compile("bitahub/GeForce_GTX_1080_Ti.*half|A100-SXM4-40GB.*fp16-1gpus/vgg16")
#: Families of networks by their names; of others what stands before the first digit.
_FAMILIES = re.compile(
    "convnext|efficientnetv2|efficientnet|mobilenetv3|mobilenetv2|mobilenet|resnext|resnet|regnet|densenet|inception|vgg|"
    "alexnet|squeezenet|shufflenet|mnasnet|googlenet|unet|tinynet|lcnet|rexnet|ghostnet|hrnet|dla|res2net|nfnet|dpn|"
    "cspresnet|cspresnext|csp|darknet|selecsls|resnest|xception|repvgg|gernet|fbnet|mixnet|hardcorenas|spnasnet|semnasnet"
)


@dataclass(frozen=True)
class EstimateRows:
    """One row a measured step; all arrays (rows,), but `work` (rows, kinds).

    Attributes
    ----------
    sources, gpus, networks, families : names; a PROFET cell's GPU is its catalog name.
    instances : of PROFET's cells; "" of published steps.
    modes : values of `rates.Mode`. cases : values of `rates.Case`.
    work : of one step, in the order of `rates.KINDS`. operations : of one step.
    """

    sources: np.ndarray
    gpus: np.ndarray
    instances: np.ndarray
    networks: np.ndarray
    families: np.ndarray
    modes: np.ndarray
    pixels: np.ndarray
    batch_sizes: np.ndarray
    cases: np.ndarray
    operations: np.ndarray
    latency_ms: np.ndarray
    work: np.ndarray

    def __len__(self) -> int:
        return len(self.latency_ms)

    def of(self, rows: np.ndarray) -> EstimateRows:
        """Some rows, by mask or by number."""
        return EstimateRows(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


@dataclass(frozen=True, slots=True)
class _Step:
    source: str
    gpu: str
    instance: str
    network: str
    counts: Counts
    mode: Mode
    batch_size: int
    is_updated: bool
    latency_ms: float


def estimate_rows(all_latencies: pd.DataFrame, folder: Path) -> EstimateRows:
    """Rows of all measured cells, as `Measurements.all_latencies` has them, and of the published tables."""
    return _columns([*cells(all_latencies), *_published(folder)])


def cells(all_latencies: pd.DataFrame) -> list[_Step]:
    """PROFET's workloads: the median of their repeats."""
    table = all_latencies.groupby(["instance", *WORKLOAD], as_index=False)[["batch_latency_ms"]].median()
    offers, gpus = load_shipped(), load_gpus()
    found = []
    for row in table.to_dict("records"):
        offer = offers[row["instance"]]
        gpu = gpus.find(offer.gpu, offer.gpu_memory_gib)
        counts, batch = measured_counts(row["model"], int(row["pixels"])), int(row["batch_size"])
        mode, latency_ms = mode_of(gpu, "fp32", PLAIN), float(row["batch_latency_ms"])
        found.append(_Step(PROFET, gpu.name, row["instance"], row["model"], counts, mode, batch, True, latency_ms))
    return found


def _published(folder: Path) -> list[_Step]:
    table = pd.read_csv(found_file(folder, THROUGHPUT_FILE)).dropna(subset=["batch_size", "pixels", "images_per_s"])
    table = table[table.gpus == 1]
    owner = table.source_repo.str.partition("/")[0]
    table = table[~((table.gpu == _MISNAMED[0]) & (owner == _MISNAMED[1]))]
    table = table[[_BROKEN.search(file) is None for file in table.source_file]]
    points = pd.concat([pd.read_csv(found_file(folder, name)) for name in (POINTS_FILE, MORE_POINTS_FILE)])
    points = points.assign(framework="PyTorch", framework_version="", network=BENCHMARK, pixels=224, source_file="")
    points["source_repo"], points["memory_gib"] = POINTS, np.nan
    found = []
    for row in pd.concat([table, points]).to_dict("records"):
        if (step := _step(row)) is not None:
            found.append(step)
    return found


def _step(row: dict) -> _Step | None:
    """A published row; None where its GPU or its network isn't known, or isn't convolutional."""
    source, name = _source(row), row["network"]
    prefix = "timm/" if source.startswith(TIMM) else ""
    in_tensorflow = _TENSORFLOW if row["framework"].startswith("TensorFlow") else {}
    try:
        gpu = load_gpus().find(_GPUS.get(row["gpu"], row["gpu"]))
        network = named_network(prefix + in_tensorflow.get(name, _NETWORKS.get(name, name)))
    except InputError:
        return None
    if "(" in name or not network.counts.is_convolutional:
        return None
    counts = counts_of(network.name, int(row["pixels"]))
    mode = mode_of(gpu, canonical(row["precision"]) or "fp32", _code(row, source))
    batch, is_updated = int(row["batch_size"]), not source.endswith(SCRIPT)
    latency_ms = batch / row["images_per_s"] * MS_PER_S
    return _Step(source, gpu.name, "", network.name, counts, mode, batch, is_updated, latency_ms)


def _source(row: dict) -> str:
    repository, framework = row["source_repo"], row["framework"]
    if repository == POINTS:
        return POINTS
    if repository.endswith("pytorch-image-models"):
        return TIMM
    if repository.endswith("pytorch-gpu-benchmark"):
        return f"{repository}, PyTorch"
    xla = "XLA" in f"{row['framework_version']} {row['source_file']}"
    return f"{repository.partition('/')[0]}, {framework.partition(' ')[0]}{' XLA' if xla else ''}"


def _code(row: dict, source: str) -> str:
    """NVIDIA's examples in half precision have channels last, or are compiled by XLA."""
    is_tuned = source.startswith("NVIDIA") or row["framework"].endswith("NHWC") or "XLA" in source
    return CHANNELS_LAST if is_tuned else PLAIN


def family_of(network: str) -> str:
    """Family of a network by its name."""
    name = network.rpartition("/")[2].removeprefix("PROFET ").lower().replace("_", "").replace("-", "")
    name = name.removeprefix("tf").removeprefix("legacy").removeprefix("wide")
    known = _FAMILIES.search(name)
    return known[0] if known else re.split(r"\d", name)[0][:8]


def _columns(steps: Sequence[_Step]) -> EstimateRows:
    work = np.array([work_of(step.counts, step.batch_size) for step in steps])
    work[[not step.is_updated for step in steps], -4:-2] *= 0.5

    def column(name: str) -> np.ndarray:
        return np.array([getattr(step, name) for step in steps])

    return EstimateRows(
        sources=column("source"),
        gpus=column("gpu"),
        instances=column("instance"),
        networks=column("network"),
        families=np.array([family_of(step.network) for step in steps]),
        modes=np.array([int(step.mode) for step in steps]),
        pixels=np.array([step.counts.pixels for step in steps]),
        batch_sizes=column("batch_size"),
        cases=np.array([str(case_of(step.counts)) for step in steps]),
        operations=np.array([step.counts.layers.operations for step in steps], float),
        latency_ms=column("latency_ms"),
        work=work,
    )
