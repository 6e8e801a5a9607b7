"""Measured steps as rows with the work of each, and the rates of work fitted on them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace
from scipy import sparse
from scipy.optimize import least_squares

from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.gpus import CHANNELS_LAST, PLAIN, TUNED, Gpu, Host, canonical, host_named
from profet_core.errors import InputError
from profet_core.latency import SMOOTH_MAX_POWER, smooth_max
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of, measured_counts, named_network, shared_name
from profet_core.layers.rates import (
    ELEMENTS,
    FLOPS,
    KINDS,
    NO_PEAK,
    ONCE,
    PRODUCT_POWER,
    PRODUCTS,
    WRITTEN,
    Case,
    Mode,
    case_key,
    case_of,
    log_cached,
    log_clock,
    log_peaks,
    log_tensor_peak,
    log_watts,
    mode_of,
    work_of,
)
from profet_lab.measurements.published import (
    MLPERF_FILE,
    MORE_POINTS_FILE,
    POINTS_FILE,
    THROUGHPUT_FILE,
    mlperf_speeds,
)
from profet_lab.measurements.tables import WORKLOAD, found_file
from profet_profiles.units import MS_PER_S

#: The source of PROFET's own cells.
PROFET = "PROFET, TensorFlow 2.5"
TIMM, POINTS = "timm, PyTorch", "lambdal/deeplearning-benchmark, PyTorch"
#: A script whose steps have batches of 12 and no optimizer's step.
SCRIPT = "pytorch-gpu-benchmark, PyTorch"
#: AMD's times of convolutions alone, and NVIDIA's tuned code, by round.
CONVOLUTIONS, MLPERF = "MIOpen, convolutions alone", "MLPerf, MXNet"
CONVOLUTIONS_FILE = Path("external") / "miopen_conv_ms_by_network.csv"
_TUNED_SOURCES = ("NVIDIA, MXNet", "NVIDIA, PaddlePaddle")
#: What the fit reads of the data folder, besides PROFET's cells.
FILES = (THROUGHPUT_FILE, POINTS_FILE, MORE_POINTS_FILE, MLPERF_FILE, CONVOLUTIONS_FILE)
#: The network known on a held-out GPU.
BENCHMARK = "ResNet50"
#: What the tables call a network -> its name here, by framework where they differ.
_TENSORFLOW = {"InceptionV3": "keras/InceptionV3"}
_NETWORKS = {
    "ResNeXt101-32x4d": "resnext101_32x4d",
    "SE-ResNeXt101-32x4d": "seresnext101_32x4d",
    "UNet Medical": "unet_2015",
}
#: Endings of old names whose steps are rows.
_KEPT = ("_040h", "_448", "_ap", "_ns")
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
#: Steps that a repository has from the one that it was copied from.
_COPIED_FROM = {("MatrixSP/pytorch-gpu-benchmark", "GeForce RTX 3090"): "ryujaehun/pytorch-gpu-benchmark"}
#: Points whose run something else than the GPU limited: in AMP 4 % faster than in TF32, where others gain 36 to 80.
_LIMITED = {("B200-SXM-192GB", "amp")}
#: Who published with frameworks of which year; others did in 2020 or before.
_YEARS = {"MatrixSP": 2025.0, "huggingface": 2022.5, "ml-energy": 2022.0}
#: Its steps in one table are those of another card.
_MISNAMED = ("GeForce RTX 2080", "aisensiy")
#: Files and networks in half precision at a fifth of FP32's throughput or less, where others attain more than FP32's.
_BROKEN = re.compile("bitahub/GeForce_GTX_1080_Ti.*half|A100-SXM4-40GB.*fp16-1gpus/vgg16")
#: Families of networks by their names; of others what stands before the first digit.
_FAMILIES = re.compile(
    "^(?:swin|cait|deit|beit|eva|aimv2|hiera|convit|mixer|gmixer|resmlp|gmlp|vit)|convnext|efficientnetv2|efficientnet|mobilenetv3|mobilenetv2|mobilenet|resnext|resnet|regnet|densenet|inception|vgg|"
    "alexnet|squeezenet|shufflenet|mnasnet|googlenet|unet|tinynet|lcnet|rexnet|ghostnet|hrnet|dla|res2net|nfnet|dpn|"
    "cspresnet|cspresnext|csp|darknet|selecsls|resnest|xception|repvgg|gernet|fbnet|mixnet|hardcorenas|spnasnet|semnasnet"
)


def estimate_rows(all_latencies: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """All measured cells, as `Measurements.all_latencies` has them, and the steps of the published tables.

    Returns
    -------
    rows : one a measured step, with its source, gpu (the catalog's name), instance (of PROFET's cells, else ""),
        place (the instance, else the GPU), network, family, mode (`rates.Mode`), pixels, batch_size, case
        (`rates.Case`), case_key, operations, latency_ms, year of its software, starts (1; 0: not a whole step),
        and the work of each of `rates.KINDS`.
    """
    rows = pd.DataFrame([*_cells(all_latencies), *_published(folder), *_tuned(folder), *_convolutions(folder)])
    place = rows["instance"].where(rows["instance"] != "", rows["gpu"])
    return rows.assign(family=rows["network"].map(family_of), place=place)


def _cells(all_latencies: pd.DataFrame) -> Iterator[dict]:
    """PROFET's workloads: the median of their repeats."""
    table = all_latencies.groupby(["instance", *WORKLOAD], as_index=False)[["batch_latency_ms"]].median()
    offers, gpus = load_shipped(), load_gpus()
    for row in table.to_dict("records"):
        offer = offers[row["instance"]]
        gpu = gpus.find(offer.gpu, offer.gpu_memory_gib)
        counts = measured_counts(row["model"], int(row["pixels"]))
        names = {
            "source": PROFET,
            "gpu": gpu.name,
            "instance": row["instance"],
            "network": row["model"],
            "year": 2021.0,
        }
        mode = mode_of(gpu, "fp32", PLAIN)
        yield names | _step(counts, mode, int(row["batch_size"]), row["batch_latency_ms"])


def _published(folder: Path) -> Iterator[dict]:
    """Return steps of convolutional networks that are known, on GPUs that are known."""
    table = pd.read_csv(found_file(folder, THROUGHPUT_FILE)).dropna(subset=["batch_size", "pixels", "images_per_s"])
    table = table[table.gpus == 1]
    owner = table.source_repo.str.partition("/")[0]
    table = table[~((table.gpu == _MISNAMED[0]) & (owner == _MISNAMED[1]))]
    table = table[[_BROKEN.search(file) is None for file in table.source_file]]
    repositories = zip(table.source_repo, table.gpu, strict=True)
    table = table.assign(source_repo=[_COPIED_FROM.get(pair, pair[0]) for pair in repositories])
    points = pd.concat([pd.read_csv(found_file(folder, name)) for name in (POINTS_FILE, MORE_POINTS_FILE)])
    limited = [pair in _LIMITED for pair in zip(points.gpu, points.precision.map(canonical), strict=True)]
    points = points[~np.array(limited)].assign(
        framework="PyTorch", framework_version="", network=BENCHMARK, pixels=224, source_file=""
    )
    points["source_repo"], points["memory_gib"] = POINTS, np.nan
    for row in pd.concat([table, points]).to_dict("records"):
        source, name = _source(row), row["network"]
        prefix = "timm/" if source.startswith(TIMM) else ""
        in_tensorflow = _TENSORFLOW if row["framework"].startswith("TensorFlow") else {}
        try:
            gpu = load_gpus().find(_GPUS.get(row["gpu"], row["gpu"]))
            network = named_network(prefix + in_tensorflow.get(name, _NETWORKS.get(name, name)))
        except InputError:
            continue
        # Most networks of old names are in the table by their new one, too.
        is_twice = name in network.checkpoints and not name.endswith(_KEPT)
        if is_twice or network.is_refused:
            continue
        # NVIDIA's examples in half precision have channels last or are compiled by XLA; two are fused throughout.
        is_channels_last = source.startswith("NVIDIA") or row["framework"].endswith("NHWC") or "XLA" in source
        code = TUNED if source in _TUNED_SOURCES else CHANNELS_LAST if is_channels_last else PLAIN
        mode = mode_of(gpu, canonical(row["precision"]) or "fp32", code)
        names = {"source": source, "gpu": gpu.name, "instance": "", "network": network.name}
        batch_size = int(row["batch_size"])
        step = _step(
            counts_of(network.name, int(row["pixels"])), mode, batch_size, batch_size / row["images_per_s"] * MS_PER_S
        )
        if source.endswith(SCRIPT):
            # Its steps update no parameters.
            step |= {kind: step[kind] / 2 for kind in ONCE}
        yield names | step | {"year": software_year(row)}


def _tuned(folder: Path) -> Iterator[dict]:
    """MLPerf's ResNet-50, each round a source: its ratios between GPUs count."""
    for row in mlperf_speeds(folder).to_dict("records"):
        gpu, batch_size = load_gpus()[row["gpu"]], int(row["batch_size"])
        names = {"source": f"{MLPERF} {row['round']}", "gpu": gpu.name, "instance": "", "network": "resnet50"}
        latency_ms = batch_size / row["images_per_s"] * MS_PER_S
        yield names | {"year": 2022.0} | _step(counts_of("resnet50", 224), Mode.HALF_TUNED, batch_size, latency_ms)


#: Kinds of work of a convolution.
_OF_CONVOLUTIONS = (*FLOPS, "convolution and product outputs", "convolution and product inputs")


def _convolutions(folder: Path) -> Iterator[dict]:
    """AMD's times of a network's convolutions, forward and backward: no other work, no launch, no start."""
    table = pd.read_csv(found_file(folder, CONVOLUTIONS_FILE))
    for row in table.to_dict("records"):
        gpu = load_gpus()[" ".join(row["gpu"].split()[:3])]
        mode = mode_of(gpu, canonical(row["precision"]) or "fp32", PLAIN)
        step = _step(counts_of(row["network"].lower(), int(row["pixels"])), mode, int(row["batch_size"]), 1.0)
        step |= {kind: 0.0 for kind in KINDS if kind not in _OF_CONVOLUTIONS}
        step |= {
            "kernels": row["convolutions"],
            "operations": 0.0,
            "starts": 0.0,
            "latency_ms": row["all_convolutions_ms"],
        }
        names = {"source": CONVOLUTIONS, "gpu": gpu.name, "instance": "", "network": row["network"].lower()}
        yield names | {"year": 2024.8} | step


def _step(counts: Counts, mode: Mode, batch_size: int, latency_ms: float) -> dict:
    case = case_of(counts)
    return {
        "mode": int(mode),
        "pixels": counts.pixels,
        "batch_size": batch_size,
        "case": str(case),
        "case_key": case_key(case, mode, batch_size),
        "operations": float(counts.layers.operations),
        "latency_ms": latency_ms,
        "starts": 1.0,
        **dict(zip(KINDS, work_of(counts, batch_size).tolist(), strict=True)),
    }


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


def software_year(row: dict) -> float:
    """Year of the framework of a published row, by its version or its source's date."""
    if ngc := re.search(r"NGC (\d\d)\.(\d\d)", str(row["framework_version"])):
        return 2000 + int(ngc[1]) + int(ngc[2]) / 12
    if row["source_repo"] == POINTS:
        return 2020.5 if "older" in row["source"] else 2022.9
    return _YEARS.get(row["source_repo"].partition("/")[0], 2020.0)


def family_of(network: str) -> str:
    """Family of a network by its name."""
    name = network.rpartition("/")[2].removeprefix("PROFET ").lower().replace("_", "").replace("-", "")
    name = name.removeprefix("tf").removeprefix("legacy").removeprefix("wide")
    known = _FAMILIES.search(name)
    return known[0] if known else re.split(r"\d", name)[0][:8]


#: Typical cost of each kind on a GPU of 1 TFLOP/s and 1 TB/s: milliseconds per GFLOP, million values or parameters, or
#: kernel. A weak prior; what differs from it is fitted.
_TYPICAL_MS = dict.fromkeys(FLOPS, 6.0) | dict.fromkeys(ELEMENTS, 0.02) | {"depthwise convolution": 60.0}
_TYPICAL_MS |= {"narrow convolution": 1.0, "narrow grouped convolution": 1.0, "convolution and product inputs": 0.01}
_TYPICAL_MS |= {"parameters": 0.03, "dense parameters": 0.03, "images": 0.5, "kernels": 0.01}
#: Standard deviation of the logarithm of these, and of its change by precision and code. A step reads and writes each
#: parameter, its gradient and the optimizer's state some eight times; a fit that may take more lets large networks'
#: steps grow too little with their batch.
_PARAMETERS, _PARAMETERS_BY_MODE = 0.15, 0.1
_TYPICAL_LAUNCH_MS, _TYPICAL_START_MS = 0.04, 1.0
#: Prior standard deviations of the logarithms: of an efficiency; of its change by precision and code, by source, and on
#: a GPU; of a GPU's or a measured instance's speed, and of a GPU's compute and bandwidth besides; of a source; of its
#: launches and start, and of its launches on one GPU.
_EFFICIENCY, _BY_MODE, _ON_GPU = 1.0, 0.25, 0.07
_SPEED, _GPU, _SOURCE, _LAUNCH, _LAUNCH_ON_GPU = 0.12, 0.12, 0.1, 0.8, 1.0
#: Of cards of one chip around it: their clocks, power limit and memory are in the peaks.
_SPEED_OF_CARD, _CARD = 0.06, 0.06
#: Of a GPU none of whose steps, and none of whose chip's, are known.
UNKNOWN_GPU_LOG_SD = math.hypot(_SPEED, _SPEED_OF_CARD, _GPU, _CARD)
#: Of a generation's compute, also on tensor cores besides, and bandwidth: most of what differs is in tensor cores.
_GENERATION = {"compute": 0.06, "tensor": 0.2, "bandwidth": 0.15}
#: Of graphics cards' over datacenter ones', by their compute capability.
_LINE, _GRAPHICS = 0.15, (6.1, 7.5, 8.6, 8.9, 12.0)
#: Published steps that a GPU needs for efficiencies of its own.
OFTEN = 60
#: Of a kind and of a group of kinds by source, of PROFET's and others: its framework has its own kernels. Kinds of one
#: group differ little, as few networks tell them apart.
_BY_SOURCE, _GROUP_BY_SOURCE = {False: 0.05, True: 0.5}, {False: 0.07, True: 0.5}
#: The same on each of PROFET's four GPUs, which were measured with each network.
_ON_PROFET, _GROUP_ON_PROFET = 0.2, 0.3
#: MLPerf's code gets faster from round to round: its ratios within one count.
_ROUND = 0.3
#: What frameworks of 2022 and later take for the end of a kernel over those of 2020 and before. The same script ran 23
#: networks at batch 12 on one A100 1.51 (TF32) and 1.38 (AMP) times faster in PyTorch 1.12 than in 1.7, and within 3 %
#: of that in 2.9. Those rows are in no file here; their effect is a narrow prior: 0.37 of the end of a kernel gives the
#: first ratio, 0.5 the second.
_MODERN_KERNELS, _MODERN_YEARS = (math.log(0.4), 0.1), (2020.5, 2022.0)
#: The same of launches, by the same comparison: steps of 12 images wait for both. And of the ends of kernels by source.
_MODERN_LAUNCHES, _KERNELS_BY_SOURCE = (math.log(0.6), 0.3), 0.5
#: Of a network, and of a source on one GPU: many rows share each, and are to count as few where GPUs, sources and kinds
#: of work differ. What is answered has neither; `rates.MeasuredRatios` has what is known of networks.
_NETWORK, _SOURCE_ON_GPU = 0.05, 0.05
#: What a precision and code change of a whole group of kinds, and of one in it.
_GROUP_BY_MODE = 0.4
#: The same of tuned code besides channels-last: it fuses what moves values, and computes with the same kernels.
_TUNED = {"compute": 0.05, "bandwidth": 0.4, "depthwise convolution": 0.05, "depthwise outputs": 0.4}
#: Of kinds in transformers and mixers, over those in CNNs; and by precision and code.
_TRANSFORMER, _TRANSFORMER_IN_MODE = 0.5, 0.1
#: Logarithm of milliseconds per GFLOP forward (three with the backward pass) of products on 1 TFLOP/s: dense ones at
#: four fifths of the peak of an RTX 3090, as libraries attain it, and those of attention at about a third.
_PRODUCT_COSTS = {"transformer product": (math.log(2.0), 0.1), "batched product": (math.log(5.0), 0.4)}
_FIXED = 1e-3
#: How rates follow specs, with standard deviations: a GPU of twice the FLOP/s is so much faster. Of tensor cores' peak
#: over plain cores', besides: networks don't attain as much of a higher one. Ends of kernels follow the clock.
_POWERS = {"compute": (0.75, 0.05), "bandwidth": (0.9, 0.05), "tf32": (-0.45, 0.07), "half": (-0.35, 0.07)}
_POWERS |= {"watts": (0.3, 0.1), "cache": (0.3, 0.15), "clock": (0.5, 0.2)}
#: Standard deviation of a row that the effects don't explain; errors beyond it count less.
_ROW = 0.1
#: One that a source repeated, or measured on large batches alone.
_ROWS = {PROFET: 0.07, POINTS: 0.05}
_ROBUST = 3.0
_CONVERGED, _MAX_STEPS = 1e-5, 60

Key = tuple[str, ...]


def chip_of(gpu: str) -> str:
    """Cards with the same name of a chip have the same generation and number of multiprocessors."""
    generation, sm_count = load_gpus()[gpu].chip
    return f"{generation} {sm_count}"


def generation_of(gpu: Gpu) -> str:
    """Return a GPU's generation, as effects name it."""
    return f"generation {gpu.compute_capability}"


def line_of(gpu: Gpu) -> str:
    """Whether a GPU's generation is of graphics cards, as effects name it."""
    return "graphics" if gpu.compute_capability in _GRAPHICS else "datacenter"


def group_of(kind: str) -> str:
    """Kinds that a source or a GPU makes slower together; what has no peak, and depthwise ones, are by themselves."""
    if kind in NO_PEAK or kind.startswith("depthwise"):
        return kind
    return "compute" if kind in FLOPS else "bandwidth"


class Problem(Struct, frozen=True):
    """Measured steps, and how the parts of each depend on the effects: all of them, or some to be fitted.

    A part is the work of a kind, launches, or the start; it takes its amount times the exponential of its effects.

    Attributes
    ----------
    rows : as `estimate_rows` has them.
    keys, means, sds : of the effects, with their normal priors.
    design : effects of each part of each row, sparse (rows * parts, effects).
    amounts : (rows, parts).
    """

    rows: pd.DataFrame
    keys: Sequence[Key]
    means: np.ndarray
    sds: np.ndarray
    design: sparse.csr_matrix
    amounts: np.ndarray

    def subset(self, rows: np.ndarray) -> Problem:
        """Return some rows, by mask."""
        parts = np.repeat(rows, self.amounts.shape[1])
        return replace(self, rows=self.rows[rows], design=self.design[parts], amounts=self.amounts[rows])


class _Effects:
    """Collects effects with their priors, and which part of which row each enters."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.places: dict[Key, int] = {}
        self.priors: list[tuple[float, float]] = []
        self.entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(
        self, rows: pd.DataFrame, part: int, prior: tuple[float, float], *key: str | pd.Series, by: object = 1.0
    ) -> None:
        """Return an effect for each value of `key`, times `by` (a number, or one a row), in a part of these rows."""
        if rows.empty:
            return
        keys = pd.MultiIndex.from_frame(pd.DataFrame(dict(enumerate(key)), index=rows.index))
        codes, found = pd.factorize(keys)
        for one in found:
            if one not in self.places:
                self.places[one] = len(self.priors)
                self.priors.append(prior)
        columns = np.array([self.places[one] for one in found])[codes]
        values = np.broadcast_to(np.asarray(by, float), columns.shape)
        self.entries.append((rows.index.to_numpy() * self.parts + part, columns, values))


def problem(rows: pd.DataFrame) -> Problem:
    """Return the effects on these rows."""
    numbers = rows.loc[rows["source"] != PROFET, "gpu"].value_counts()
    rows = rows.reset_index(drop=True)
    rows = rows.assign(
        chip=rows["gpu"].map(chip_of),
        generation=rows["gpu"].map(lambda name: generation_of(load_gpus()[name])),
        line=rows["gpu"].map(lambda name: line_of(load_gpus()[name])),
        mode_name=[base_mode(Mode(mode)).name for mode in rows["mode"]],
        tensor=[
            log_tensor_peak(load_gpus()[gpu], Mode(mode)) for gpu, mode in zip(rows["gpu"], rows["mode"], strict=True)
        ],
        has_tensor=~rows["mode"].isin([Mode.FP32, Mode.HALF_PLAIN_CORES]),
        watts=rows["gpu"].map(lambda name: log_watts(load_gpus()[name])),
        clock=rows["gpu"].map(lambda name: log_clock(load_gpus()[name])),
        cached=log_cached(
            rows["gpu"].map(lambda name: load_gpus()[name].l2_mb).to_numpy(),
            rows["mode"].to_numpy() >= Mode.HALF,
            rows[list(WRITTEN)].sum(axis=1).to_numpy(),
            rows["operations"].to_numpy(),
        ),
        has_own=rows["gpu"].isin(numbers.index[numbers >= OFTEN]),
        modern=np.interp(rows["year"], _MODERN_YEARS, (0.0, 1.0)),
    )
    peaks = np.stack([_peaks(gpu, mode) for gpu, mode in zip(rows["gpu"], rows["mode"], strict=True)])
    effects = _Effects(len(KINDS) + 2)
    for part, kind in enumerate(KINDS):
        _add_kind(effects, rows, part, kind, peaks[:, part])
    launch, start = len(KINDS), len(KINDS) + 1
    effects.add(rows, launch, (0.0, _SOURCE), "source", rows["source"])
    effects.add(rows, launch, (math.log(_TYPICAL_LAUNCH_MS), _EFFICIENCY), "launch")
    effects.add(rows, launch, _MODERN_LAUNCHES, "year", "launch", by=rows["modern"])
    # A user's framework runs operation by operation, as PyTorch does here; each GPU of a script was in another host.
    is_eager = rows["source"].str.endswith("PyTorch")
    is_script = rows["source"].str.endswith(SCRIPT)
    effects.add(rows[is_eager], launch, (0.0, _LAUNCH), "launch", "eager")
    others = rows[~is_script]
    effects.add(others, launch, (0.0, _LAUNCH), "launch of source", others["source"])
    effects.add(rows, launch, (0.0, _LAUNCH_ON_GPU), "launch on", rows["source"], rows["place"])
    effects.add(rows, start, (math.log(_TYPICAL_START_MS), _EFFICIENCY), "start")
    effects.add(rows, start, (0.0, _LAUNCH), "start of source", rows["source"])
    places, columns, values = (np.concatenate(each) for each in zip(*effects.entries, strict=True))
    shape = len(rows) * effects.parts, len(effects.priors)
    # Launches are relative to those of the reference host.
    launches = rows["operations"] * [host.launch for host in hosts(rows)]
    amounts = np.column_stack([rows[list(KINDS)], launches, rows["starts"]])
    means, sds = np.array(effects.priors).T
    design = sparse.csr_matrix((values, (places, columns)), shape=shape)
    return Problem(rows, list(effects.places), means, sds, design, amounts)


def base_mode(mode: Mode) -> Mode:
    """Return the mode whose costs a mode has: tuned code, of one network, adds to channels-last in groups."""
    return Mode.HALF_CHANNELS_LAST if mode is Mode.HALF_TUNED else mode


def with_gpu_steps(rows: pd.DataFrame, learned: pd.DataFrame) -> pd.DataFrame:
    """Rows with gpu_steps (learned on its GPU; -1: none on its chip either) and is_alone (no `known_generations`)."""
    steps = learned["gpu"].value_counts()
    on_gpu = rows["gpu"].map(steps).fillna(0).where(rows["chip"].isin(learned["chip"]), -1)
    return rows.assign(gpu_steps=on_gpu, is_alone=~rows["generation"].isin(known_generations(learned)))


def known_generations(rows: pd.DataFrame) -> set[str]:
    """Return generations with a GPU that many of these rows are of."""
    return set(rows["generation"][rows.groupby("gpu")["gpu"].transform("size") >= OFTEN])


def _add_kind(effects: _Effects, rows: pd.DataFrame, part: int, kind: str, peaks: np.ndarray) -> None:
    """Effects on the log cost of a kind of work."""
    effects.add(rows, part, (0.0, _NETWORK), "network", rows["network"].map(shared_name))
    effects.add(rows, part, (0.0, _SOURCE_ON_GPU), "source on", rows["source"], rows["place"])
    if kind in PRODUCTS:
        effects.add(rows, part, (0.0, _SOURCE), "source", rows["source"])
        effects.add(rows, part, _PRODUCT_COSTS[kind], "kind", kind)
        effects.add(rows, part, (PRODUCT_POWER, _FIXED), "power", "product", by=-peaks)
        return
    group = group_of(kind)
    is_cell = rows["source"] == PROFET
    is_round = rows["source"].str.startswith(MLPERF)
    effects.add(rows[~is_round], part, (0.0, _SOURCE), "source", rows["source"][~is_round])
    effects.add(rows[is_round], part, (0.0, _ROUND), "source", rows["source"][is_round])
    effects.add(rows, part, (0.0, _SPEED), "speed", rows["chip"])
    effects.add(rows, part, (0.0, _SPEED_OF_CARD), "speed", rows["gpu"])
    efficiency, by_mode = (_PARAMETERS, _PARAMETERS_BY_MODE) if kind == "parameters" else (_EFFICIENCY, _BY_MODE)
    effects.add(rows, part, (math.log(_TYPICAL_MS[kind]), efficiency), "kind", kind)
    effects.add(rows, part, (0.0, by_mode), "mode", kind, rows["mode_name"])
    for is_profet, some in ((True, rows[is_cell]), (False, rows[~is_cell])):
        by_source = _KERNELS_BY_SOURCE if kind == "kernels" else _BY_SOURCE[is_profet]
        effects.add(some, part, (0.0, by_source), "kind of source", kind, some["source"])
        effects.add(some, part, (0.0, _GROUP_BY_SOURCE[is_profet]), "group of source", group, some["source"])
    cells, often = rows[is_cell], rows[~is_cell & rows["has_own"]]
    effects.add(cells, part, (0.0, _SPEED), "speed", cells["instance"])
    effects.add(cells, part, (0.0, _ON_PROFET), "kind on instance", kind, cells["instance"])
    effects.add(cells, part, (0.0, _GROUP_ON_PROFET), "group on instance", group, cells["instance"])
    effects.add(often, part, (0.0, _ON_GPU), "kind on GPU", kind, often["gpu"])
    transformers = rows[rows["case"] == Case.TRANSFORMER]
    effects.add(transformers, part, (0.0, _TRANSFORMER), "transformer", kind)
    effects.add(transformers, part, (0.0, _TRANSFORMER_IN_MODE), "transformer", kind, transformers["mode_name"])
    if kind == "kernels":
        effects.add(rows, part, _MODERN_KERNELS, "year", kind, by=rows["modern"])
        effects.add(rows, part, _POWERS["clock"], "power", "clock", by=-rows["clock"])
    if kind in NO_PEAK:
        return
    effects.add(rows, part, (0.0, _GROUP_BY_MODE), "group in mode", group, rows["mode_name"])
    tuned = rows[rows["mode"] == Mode.HALF_TUNED]
    effects.add(tuned, part, (0.0, _TUNED[group]), "group in mode", group, Mode.HALF_TUNED.name)
    name = "compute" if kind in FLOPS else "bandwidth"
    effects.add(rows, part, _POWERS[name], "power", name, by=-peaks)
    effects.add(rows, part, (0.0, _GPU), "gpu", name, rows["chip"], by=-1.0)
    effects.add(rows, part, (0.0, _CARD), "gpu", name, rows["gpu"], by=-1.0)
    effects.add(rows, part, (0.0, _GENERATION[name]), "gpu", name, rows["generation"], by=-1.0)
    effects.add(rows, part, (0.0, _LINE), "gpu", name, rows["line"], by=-1.0)
    if kind in ELEMENTS:
        effects.add(rows, part, _POWERS["cache"], "power", "cache", by=-rows["cached"])
    if kind in FLOPS:
        effects.add(rows, part, _POWERS["watts"], "power", "watts", by=-rows["watts"])
    if group == "compute":
        for precision, in_precision in (("tf32", rows["mode"] == Mode.TF32), ("half", rows["mode"] >= Mode.HALF)):
            own = rows[in_precision]
            effects.add(own, part, _POWERS[precision], "power", precision, by=-own["tensor"])
        on_tensor = rows[rows["has_tensor"]]
        by_generation = (0.0, _GENERATION["tensor"])
        effects.add(on_tensor, part, by_generation, "gpu", "tensor", on_tensor["generation"], by=-1.0)


@cache
def _peaks(gpu: str, mode: int) -> np.ndarray:
    return log_peaks(load_gpus()[gpu], Mode(mode))


def hosts(rows: pd.DataFrame) -> list[Host]:
    """Of each row; of published ones that of their GPU's time."""
    offers, gpus = load_shipped(), load_gpus()
    return [
        host_named(offers[instance].host if instance else "", gpus[gpu].compute_capability)
        for gpu, instance in zip(rows["gpu"], rows["instance"], strict=True)
    ]


def _forward(fit_problem: Problem, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Milliseconds of each row: of its parts, (rows, parts), of all work, and of work with launches."""
    amounts = fit_problem.amounts
    parts = amounts * np.exp(np.minimum(fit_problem.design @ theta, 50)).reshape(amounts.shape)
    work = parts[:, :-2].sum(axis=1)
    return parts, work, smooth_max(work, parts[:, -2])


def fit(fit_problem: Problem, warm: np.ndarray | None = None) -> np.ndarray:
    """Fit all effects by least squares on log latencies, and on what the priors expect; large errors count less.

    Parameters
    ----------
    warm : effects that the fit starts from.

    Returns
    -------
    effects : in the order of the problem's keys.
    """
    means, sds = fit_problem.means, fit_problem.sds
    log_ms = np.log(fit_problem.rows["latency_ms"].to_numpy())
    row_sds = fit_problem.rows["source"].map(_ROWS).fillna(_ROW).to_numpy()

    def errors(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the rows, and how far each is from where errors count less (1: not at all)."""
        off = (np.log(predicted_ms(fit_problem, theta)) - log_ms) / row_sds
        return off, np.sqrt(1 + (off / _ROBUST) ** 2)

    def residuals(theta: np.ndarray) -> np.ndarray:
        off, far = errors(theta)
        return np.concatenate([off * np.sqrt(2 / (far + 1)), (theta - means) / sds])

    def slopes(theta: np.ndarray) -> sparse.csr_matrix:
        _, far = errors(theta)
        by_row = sparse.diags(np.sqrt((far + 1) / 2) / far / row_sds) @ _slopes(
            fit_problem, *_forward(fit_problem, theta)
        )
        return sparse.vstack([by_row, sparse.diags(1 / sds)]).tocsr()

    start = means if warm is None else warm
    solution = least_squares(
        residuals, start, slopes, x_scale=sds, tr_solver="lsmr", ftol=_CONVERGED, max_nfev=_MAX_STEPS
    )
    return np.asarray(solution.x)


def _slopes(fit_problem: Problem, parts: np.ndarray, work: np.ndarray, joined: np.ndarray) -> sparse.csr_matrix:
    """Return derivatives of each row's log latency by the effects, (rows, effects)."""
    total = joined + parts[:, -1]
    shares = parts / total[:, None]
    shares[:, :-2] *= ((work / joined) ** (SMOOTH_MAX_POWER - 1))[:, None]
    shares[:, -2] *= (parts[:, -2] / joined) ** (SMOOTH_MAX_POWER - 1)
    starts = np.arange(0, shares.size + 1, shares.shape[1])
    by_part = sparse.csr_matrix((shares.ravel(), np.arange(shares.size), starts))
    return by_part @ fit_problem.design


def launched_shares(fit_problem: Problem, effects: np.ndarray) -> np.ndarray:
    """Relative change of each step with its host's launches, (rows,)."""
    parts, _, joined = _forward(fit_problem, effects)
    found: np.ndarray = (parts[:, -2] / joined) ** SMOOTH_MAX_POWER
    return found


def step_parts_ms(fit_problem: Problem, effects: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Milliseconds of each row's work, launches and start, (rows,) each."""
    parts, work, _ = _forward(fit_problem, effects)
    return work, parts[:, -2], parts[:, -1]


def predicted_ms(fit_problem: Problem, effects: np.ndarray) -> np.ndarray:
    """Milliseconds per step, (rows,)."""
    parts, _, joined = _forward(fit_problem, effects)
    return np.asarray(joined + parts[:, -1])


#: Effects that belong to a source.
_OF_SOURCE = (
    *("source", "kind of source", "group of source", "source on"),
    *("launch of source", "start of source", "launch on"),
)


def without_networks(keys: Sequence[Key], effects: np.ndarray) -> np.ndarray:
    """Return the effects without those of networks."""
    return np.where([key[0] == "network" for key in keys], 0.0, effects)


def as_new_source(keys: Sequence[Key], effects: np.ndarray) -> np.ndarray:
    """Return the effects without those of networks and published sources: what an answer to a user takes."""
    is_of_source = [key[0] in _OF_SOURCE and PROFET not in key for key in keys]
    return np.where(is_of_source, 0.0, without_networks(keys, effects))


def launch_log_sd(rows: pd.DataFrame, keys: Sequence[Key], effects: np.ndarray) -> float:
    """Spread of launches between frameworks and hosts, of the script whose small steps wait for them."""
    values = dict(zip(keys, effects.tolist(), strict=True))
    places = rows.loc[rows["source"].str.endswith(SCRIPT), ["source", "place"]].drop_duplicates()
    logs = [
        values.get(("launch on", source, place), 0.0) for source, place in places.itertuples(index=False, name=None)
    ]
    return float(np.sqrt(np.mean(np.square(logs)))) if logs else 0.0
