"""Measured steps as rows with the work of each, and the rates of work fitted on them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.gpus import CHANNELS_LAST, PLAIN, canonical
from profet_core.errors import InputError
from profet_core.latency import SMOOTH_MAX_POWER, smooth_max
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of, measured_counts, named_network
from profet_core.layers.rates import ELEMENTS, FLOPS, KINDS, NO_PEAK, Mode, case_of, log_peaks, mode_of, work_of
from profet_core.transfer.targets import Host, host_named
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
    modes : values of `rates.Mode`.
    cases : values of `rates.Case`.
    work : of one step, in the order of `rates.KINDS`.
    operations : of one step.
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

    def subset(self, rows: np.ndarray) -> EstimateRows:
        """Some rows, by mask or by number."""
        return EstimateRows(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


class _Step(NamedTuple):
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
    return [step for row in pd.concat([table, points]).to_dict("records") if (step := _step(row)) is not None]


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

    table = pd.DataFrame(steps, columns=_Step._fields)
    counts, columns = [step.counts for step in steps], ("source", "gpu", "instance", "network", "batch_size")
    return EstimateRows(
        **{f"{name}s": np.array(table[name].tolist()) for name in columns},
        families=np.array([family_of(step.network) for step in steps]),
        modes=np.array([int(step.mode) for step in steps]),
        pixels=np.array([each.pixels for each in counts]),
        cases=np.array([str(case_of(each)) for each in counts]),
        operations=np.array([each.layers.operations for each in counts], float),
        latency_ms=table["latency_ms"].to_numpy(float),
        work=work,
    )


#: Typical cost of each kind on a GPU of 1 TFLOP/s and 1 TB/s: milliseconds per GFLOP, million values or parameters, or
#: kernel. A weak prior; what differs from it is fitted.
_TYPICAL_MS = dict.fromkeys(FLOPS, 6.0) | dict.fromkeys(ELEMENTS, 0.02) | {"depthwise convolution": 60.0}
_TYPICAL_MS |= {"narrow convolution": 1.0, "narrow grouped convolution": 1.0, "convolution and product inputs": 0.01}
_TYPICAL_MS |= {"parameters": 0.03, "dense parameters": 0.03, "images": 0.5, "kernels": 0.01}
_TYPICAL_LAUNCH_MS, _TYPICAL_START_MS = 0.04, 1.0
#: Prior standard deviations of the logarithms: of an efficiency; of its change by precision and code, by source, and on
#: a GPU; of a GPU's or a measured instance's speed, and of a GPU's compute and bandwidth besides; of a source; of its
#: launches and start, and of its launches on one GPU.
_EFFICIENCY, _BY_MODE, _ON_GPU = 1.0, 0.4, 0.07
_SPEED, _GPU, _SOURCE, _LAUNCH, _LAUNCH_ON_GPU = 0.2, 0.2, 0.1, 0.8, 1.0
#: Of cards of one chip around it: their clocks, power limit and memory are in the peaks.
_SPEED_OF_CARD, _CARD = 0.06, 0.08
#: A card of twice the power limit of another one of its chip computes so much faster: it keeps its clock.
_POWER_LIMIT, _POWER_LIMIT_SD = 0.2, 0.1
#: Published steps that a GPU needs for efficiencies of its own.
OFTEN = 60
#: Of a kind and of a group of kinds by source, of PROFET's and others: its framework has its own kernels. Kinds of one
#: group differ little, as few networks tell them apart.
_BY_SOURCE, _GROUP_BY_SOURCE = {False: 0.05, True: 0.5}, {False: 0.07, True: 0.5}
#: The same on each of PROFET's four GPUs, which were measured with each network.
_ON_PROFET, _GROUP_ON_PROFET = 0.2, 0.3
#: How rates follow the peaks: a GPU of twice the FLOP/s is so much faster.
_POWERS, _POWER_SD = (0.8, 0.9), 0.1
#: Standard deviation of a row that the effects don't explain; errors beyond it count less.
_ROW = 0.1
_ROBUST = 3.0
_MAX_ITERATIONS, _CONVERGED, _MAX_DAMPING = 40, 1e-5, 1e6
#: A fit that starts from another one is near its end.
_WARM_CONVERGED = 3e-4

Key = tuple[str, ...]


def chip_of(gpu: str) -> str:
    """Cards with the same name of a chip have the same generation and number of multiprocessors."""
    one = load_gpus()[gpu]
    return f"{one.compute_capability} {one.sm_count}"


@cache
def log_power_limit(gpu: str) -> float:
    """Logarithm of a card's power limit over the mean of its chip's cards."""
    chip = chip_of(gpu)
    logs = [math.log(one.tdp_w) for name, one in load_gpus().items() if chip_of(name) == chip]
    return math.log(load_gpus()[gpu].tdp_w) - sum(logs) / len(logs)


def group_of(kind: str) -> str:
    """Kinds that a source or a GPU makes slower together; what has no peak, and depthwise ones, are by themselves."""
    if kind in NO_PEAK or kind.startswith("depthwise"):
        return kind
    return "compute" if kind in FLOPS else "bandwidth"


class Effects:
    """Named effects with normal priors; `index` adds one where it is new."""

    def __init__(self) -> None:
        self.places: dict[Key, int] = {}
        self.means: list[float] = []
        self.sds: list[float] = []

    def index(self, key: Key, mean: float, sd: float) -> int:
        """The effect's place."""
        if key not in self.places:
            self.places[key] = len(self.means)
            self.means.append(mean)
            self.sds.append(sd)
        return self.places[key]


@dataclass(frozen=True)
class Problem:
    """All rows, and how each depends on the effects; parts of it are fitted.

    Attributes
    ----------
    keys, means, sds : of the effects.
    kinds : designs of each kind's log cost, sparse (rows, effects).
    launch, start : of launches and of the start.
    offsets : logarithm of each row's launches over those of the reference host.
    """

    rows: EstimateRows
    keys: Sequence[Key]
    means: np.ndarray
    sds: np.ndarray
    kinds: Sequence[sparse.csr_matrix]
    launch: sparse.csr_matrix
    start: sparse.csr_matrix
    offsets: np.ndarray

    @cached_property
    def pattern(self) -> tuple[np.ndarray, ...]:
        """Row, part and value of all designs' entries, and which entry of their sum each adds to; its CSR pattern."""
        matrices = [*self.kinds, self.launch, self.start]
        rows = np.concatenate([np.repeat(np.arange(len(self.rows)), np.diff(each.indptr)) for each in matrices])
        parts = np.repeat(np.arange(len(matrices)), [each.nnz for each in matrices])
        width = len(self.keys)
        flat = rows * width + np.concatenate([each.indices for each in matrices])
        found, merged = np.unique(flat, return_inverse=True)
        starts = np.searchsorted(found, np.arange(len(self.rows) + 1) * width)
        return rows, parts, np.concatenate([each.data for each in matrices]), merged, found % width, starts

    def subset(self, rows: np.ndarray) -> Problem:
        """Some rows, by mask."""
        parts = {name: getattr(self, name)[rows] for name in ("launch", "start", "offsets")}
        return replace(self, rows=self.rows.subset(rows), kinds=[matrix[rows] for matrix in self.kinds], **parts)


def _terms(
    effects: Effects, rows: EstimateRows, row: int, often: frozenset[str]
) -> tuple[list[list[tuple[int, float]]], list, list]:
    source, gpu, mode = str(rows.sources[row]), str(rows.gpus[row]), Mode(int(rows.modes[row])).name
    is_profet = source == PROFET
    peaks = _peaks(gpu, int(rows.modes[row]))
    constant = (effects.index(("source", source), 0.0, _SOURCE), 1.0)
    chip = chip_of(gpu)
    speed = [
        (effects.index(("speed", chip), 0.0, _SPEED), 1.0),
        (effects.index(("speed", gpu), 0.0, _SPEED_OF_CARD), 1.0),
    ]
    if is_profet:
        speed.append((effects.index(("speed", str(rows.instances[row])), 0.0, _SPEED), 1.0))
    kinds = []
    for place, kind in enumerate(KINDS):
        group = group_of(kind)
        terms = [
            constant,
            *speed,
            (effects.index(("kind", kind), float(np.log(_TYPICAL_MS[kind])), _EFFICIENCY), 1.0),
            (effects.index(("mode", kind, mode), 0.0, _BY_MODE), 1.0),
            (effects.index(("kind of source", kind, source), 0.0, _BY_SOURCE[is_profet]), 1.0),
            (effects.index(("group of source", group, source), 0.0, _GROUP_BY_SOURCE[is_profet]), 1.0),
        ]
        if is_profet:
            where = str(rows.instances[row])
            terms.append((effects.index(("kind on instance", kind, where), 0.0, _ON_PROFET), 1.0))
            terms.append((effects.index(("group on instance", group, where), 0.0, _GROUP_ON_PROFET), 1.0))
        elif gpu in often:
            terms.append((effects.index(("kind on GPU", kind, gpu), 0.0, _ON_GPU), 1.0))
        if kind in FLOPS:
            terms.append((effects.index(("power", "compute"), _POWERS[0], _POWER_SD), -float(peaks[place])))
            terms.append((effects.index(("power", "limit"), _POWER_LIMIT, _POWER_LIMIT_SD), -log_power_limit(gpu)))
            terms.append((effects.index(("gpu", "compute", chip), 0.0, _GPU), -1.0))
            terms.append((effects.index(("gpu", "compute", gpu), 0.0, _CARD), -1.0))
        elif kind not in NO_PEAK:
            terms.append((effects.index(("power", "bandwidth"), _POWERS[1], _POWER_SD), -float(peaks[place])))
            terms.append((effects.index(("gpu", "bandwidth", chip), 0.0, _GPU), -1.0))
            terms.append((effects.index(("gpu", "bandwidth", gpu), 0.0, _CARD), -1.0))
        kinds.append(terms)
    where = str(rows.instances[row]) or gpu
    launch = [
        constant,
        (effects.index(("launch",), float(np.log(_TYPICAL_LAUNCH_MS)), _EFFICIENCY), 1.0),
        (effects.index(("launch of source", source), 0.0, _LAUNCH), 1.0),
        (effects.index(("launch on", source, where), 0.0, _LAUNCH_ON_GPU), 1.0),
    ]
    start = [
        (effects.index(("start",), float(np.log(_TYPICAL_START_MS)), _EFFICIENCY), 1.0),
        (effects.index(("start of source", source), 0.0, _LAUNCH), 1.0),
    ]
    return kinds, launch, start


@cache
def _peaks(gpu: str, mode: int) -> np.ndarray:
    return log_peaks(load_gpus()[gpu], Mode(mode))


def hosts(rows: EstimateRows) -> list[Host]:
    """Of each row; of published ones that of their GPU's time."""
    offers, gpus = load_shipped(), load_gpus()
    return [
        host_named(offers[str(instance)].host if instance else "", gpus[str(gpu)].compute_capability)
        for gpu, instance in zip(rows.gpus, rows.instances, strict=True)
    ]


def problem(rows: EstimateRows) -> Problem:
    """The effects on these rows."""
    effects = Effects()
    terms: list[list[list[tuple[int, float]]]] = [[] for _ in range(len(KINDS) + 2)]
    names, numbers = np.unique(rows.gpus[rows.sources != PROFET], return_counts=True)
    often = frozenset(names[numbers >= OFTEN].tolist())
    for row in range(len(rows)):
        kinds, launch, start = _terms(effects, rows, row, often)
        for place, each in enumerate([*kinds, launch, start]):
            terms[place].append(each)
    matrices = [_matrix(each, len(effects.means)) for each in terms]
    means, sds, offsets = np.array(effects.means), np.array(effects.sds), np.log([host.launch for host in hosts(rows)])
    return Problem(rows, list(effects.places), means, sds, matrices[:-2], matrices[-2], matrices[-1], offsets)


def _matrix(terms: list[list[tuple[int, float]]], width: int) -> sparse.csr_matrix:
    numbers = [number for number, each in enumerate(terms) for _ in each]
    columns = [index for each in terms for index, _ in each]
    values = [value for each in terms for _, value in each]
    return sparse.csr_matrix((values, (numbers, columns)), shape=(len(terms), width))


def _forward(fit_problem: Problem, theta: np.ndarray) -> tuple[np.ndarray, ...]:
    """Milliseconds of each row: of work by kind, of all work, of launches, of the start, and of work with launches."""
    parts = np.stack([matrix @ theta for matrix in fit_problem.kinds], axis=1)
    parts = fit_problem.rows.work * np.exp(np.minimum(parts, 50))
    launch = fit_problem.rows.operations * np.exp(fit_problem.launch @ theta + fit_problem.offsets)
    work = parts.sum(axis=1)
    return parts, work, launch, np.exp(fit_problem.start @ theta), smooth_max(work, launch)


def fit(fit_problem: Problem, warm: np.ndarray | None = None) -> np.ndarray:
    """Fit all effects by damped Gauss-Newton steps on log latencies; large errors count less.

    Returns:
    effects : in the order of the problem's keys.
    `warm` : those that the fit starts from.
    """
    means, precision = fit_problem.means, 1 / fit_problem.sds**2
    theta = means.copy() if warm is None else warm.copy()
    log_ms = np.log(fit_problem.rows.latency_ms)

    def cost(theta: np.ndarray) -> tuple[float, np.ndarray, tuple[np.ndarray, ...]]:
        found = _forward(fit_problem, theta)
        errors = (np.log(found[4] + found[3]) - log_ms) / _ROW
        robust = 2 * _ROBUST**2 * (np.sqrt(1 + (errors / _ROBUST) ** 2) - 1)
        return float(robust.sum() + ((theta - means) ** 2 * precision).sum()), errors, found

    damping, (now, errors, parts) = 1e-2 if warm is None else 1e-4, cost(theta)
    for _ in range(_MAX_ITERATIONS):
        weights = 1 / np.sqrt(1 + (errors / _ROBUST) ** 2)
        slopes = _slopes(fit_problem, *parts) / _ROW
        weighted = slopes.T @ sparse.diags(weights)
        gram = (weighted @ slopes).toarray() + np.diag(precision)
        gradient = weighted @ errors + precision * (theta - means)
        while True:
            damped = cho_factor(gram + damping * np.diag(np.diag(gram)), check_finite=False)
            step = -cho_solve(damped, gradient, check_finite=False)
            tried, tried_errors, tried_parts = cost(theta + step)
            if tried <= now or damping > _MAX_DAMPING:
                break
            damping *= 4
        gain = (now - tried) / now
        theta, now, errors, parts = theta + step, tried, tried_errors, tried_parts
        damping = max(damping / 4, 1e-6)
        if gain < (_CONVERGED if warm is None else _WARM_CONVERGED):
            break
    return theta


def _slopes(
    fit_problem: Problem, parts: np.ndarray, work: np.ndarray, launch: np.ndarray, start: np.ndarray, joined: np.ndarray
) -> sparse.csr_matrix:
    """Derivatives of each row's log latency by the effects, (rows, effects)."""
    total = joined + start
    by_work = ((work / joined) ** (SMOOTH_MAX_POWER - 1) / total)[:, None] * parts
    by_launch = (launch / joined) ** (SMOOTH_MAX_POWER - 1) * launch / total
    shares = np.column_stack([by_work, by_launch, start / total])
    rows, places, values, merged, columns, starts = fit_problem.pattern
    data = np.bincount(merged, shares[rows, places] * values, len(columns))
    return sparse.csr_matrix((data, columns, starts), shape=fit_problem.launch.shape)


def launched_shares(fit_problem: Problem, effects: np.ndarray) -> np.ndarray:
    """Relative change of each step with its host's launches, (rows,)."""
    _, _, launch, _, joined = _forward(fit_problem, effects)
    found: np.ndarray = (launch / joined) ** SMOOTH_MAX_POWER
    return found


def predicted_ms(fit_problem: Problem, effects: np.ndarray) -> np.ndarray:
    """Milliseconds per step, (rows,)."""
    _, _, _, start, joined = _forward(fit_problem, effects)
    found: np.ndarray = joined + start
    return found


#: Effects that belong to a source.
_OF_SOURCE = ("source", "kind of source", "group of source", "launch of source", "start of source", "launch on")


def today_log_launch(keys: Sequence[Key], values: np.ndarray) -> float:
    """Launches of frameworks and hosts of today: one script alone has steps that wait for launches."""
    found = dict(zip(keys, values.tolist(), strict=True))
    on_gpus = [value for key, value in found.items() if key[:2] == ("launch on", TODAY)]
    today = found.get(("source", TODAY), 0.0) + found.get(("launch of source", TODAY), 0.0)
    return float(today + np.mean(on_gpus)) if on_gpus else today


def as_new_source(keys: Sequence[Key], effects: np.ndarray) -> np.ndarray:
    """The effects without those of published sources: what an answer to a user takes."""
    today = today_log_launch(keys, effects)
    values = [
        (today if key[0] == "launch of source" else 0.0) if key[0] in _OF_SOURCE and PROFET not in key else value
        for key, value in zip(keys, effects.tolist(), strict=True)
    ]
    return np.array(values)
