"""Published pairs of precisions, and the share of each kind of work in a network."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct

from profet_core.catalog.gpus import AMP, FP32, TF32, canonical, has_tensor_cores, load_gpus
from profet_core.ensemble.classes import load_operation_classes
from profet_core.errors import InputError
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of, measured_counts, measured_networks, named_network
from profet_core.transfer.rates import ByClass, shares_within
from profet_lab.measurements.published import MORE_POINTS_FILE, POINTS_FILE, THROUGHPUT_FILE
from profet_lab.measurements.tables import Measurements, found_file

#: Profiles that the shares are read from: no launch-bound steps.
_MIN_BATCH, _MIN_PIXELS = 64, 128
SHARES_OF = "p3.2xlarge"
#: Networks whose time is in depthwise kernels, or whose profiles are truncated: no line goes through them.
_ODD = ("MobileNetV2", "InceptionResNetV2")
#: Column of a class's share -> how the names of its operations begin.
_CLASS_COLUMNS = {
    "product_share": "matrix product",
    "normalization_share": "batch norm",
    "depthwise_share": "depthwise",
}
#: What the measurements call a network that tables have by the same name, but for AlexNet, which is another one.
_PROFET = "PROFET "
_OTHER = "AlexNet"


class ClassShares(Struct, frozen=True):
    """Shares of classes of operations: of products in the compute, of normalizations and depthwise kernels in the rest.

    profiled : network -> the three shares.
    per_count : of other networks, times `class_counts`: products' time over convolutions', normalizations' share,
        depthwise time over other time.
    """

    profiled: dict[str, tuple[float, float, float]]
    per_count: tuple[float, float, float]

    def of(self, network: str, counts: Counts) -> tuple[float, float, float]:
        """Products', normalizations' and depthwise shares of a network, 0 to 1."""
        if (name := network.removeprefix(_PROFET)) in self.profiled and name != network:
            return self.profiled[name]
        return estimated_shares(class_counts(counts), self.per_count)


class NetworkShares(Struct, frozen=True):
    """Shares by network, and the line for all others: log(compute / rest) = line[0] + line[1] log(FLOPs / output).

    `classes` : shares within compute and rest; None: not distinguished.
    """

    profiled: dict[str, float]
    line: tuple[float, float]
    classes: ClassShares | None = None

    def of(self, network: str, counts: Counts) -> float:
        """The share of a network, 0 to 1."""
        if (name := network.removeprefix(_PROFET)) in self.profiled and name != network:
            return self.profiled[name]
        ratio = math.exp(self.line[0] + self.line[1] * math.log(_intensity(counts)))
        return ratio / (1 + ratio)

    def by_class(self, network: str, pixels: int) -> ByClass | None:
        """Shares of `rates.CLASSES` in the step of a network as tables call it; None for an unknown network."""
        if (known := known_network(network)) is None:
            return None
        counts = counts_of(known, pixels)
        classes = self.of_classes(known, counts)
        return shares_within(self.of(known, counts), *(classes[name] for name in _CLASS_COLUMNS))

    def of_classes(self, network: str, counts: Counts) -> dict[str, float]:
        """Column -> share of a class in compute or rest; empty if they aren't distinguished."""
        if self.classes is None:
            return {}
        return dict(zip(_CLASS_COLUMNS, self.classes.of(network, counts), strict=True))


def estimated_shares(counts: Sequence[float], per_count: Sequence[float]) -> tuple[float, float, float]:
    """Products' share of compute, and normalizations' and depthwise kernels' of the rest, of an unprofiled network.

    Parameters
    ----------
    counts : `class_counts` of it.
    per_count : factors on them.
    """
    product, normalization, depthwise = (factor * amount for factor, amount in zip(per_count, counts, strict=True))
    depthwise /= 1 + depthwise
    return product / (1 + product), (1 - depthwise) * min(normalization, 1.0), depthwise


def class_counts(counts: Counts) -> tuple[float, float, float]:
    """What the shares of products, normalizations and depthwise kernels follow from: ratios of a network's counts."""
    plain = max(counts.layers.all - counts.layers.convolutions - counts.layers.dense, 1)
    return (
        counts.flops.dense / max(counts.flops.convolution, 1.0),
        counts.layers.normalizations / plain,
        counts.flops.depthwise / max(counts.elements.other, 1.0),
    )


def known_network(name: str) -> str | None:
    """The network here that a table's name means, the measured one if there is one; None if there is none."""
    if name != _OTHER and _PROFET + name in measured_networks():
        return _PROFET + name
    try:
        return named_network(name).name
    except InputError:
        return None


def network_shares(measurements: Measurements) -> NetworkShares:
    """Shares as profiles on V100 show them: medians over the larger workloads of a network."""
    table = _profiled_shares(measurements)
    line = table[~table["network"].isin(_ODD)]
    intensity = [
        math.log(_intensity(measured_counts(network, pixels)))
        for network, pixels in zip(line["network"], line["pixels"], strict=True)
    ]
    design = np.column_stack([np.ones(len(line)), intensity])
    log_ratio = np.log(line["share"] / (1 - line["share"]))
    first, second = np.linalg.lstsq(design, np.asarray(log_ratio, float), rcond=None)[0].tolist()
    profiled = table[~table["network"].isin(_ODD)].groupby("network")["share"].median()
    shares = {str(name): float(value) for name, value in profiled.items()}
    return NetworkShares(shares, (first, second), _class_shares(table))


def _class_shares(table: pd.DataFrame) -> ClassShares:
    """Class shares of profiled networks, and what others' follow from: medians, of depthwise kernels one network's."""
    medians = table.groupby("network")[list(_CLASS_COLUMNS)].median()
    largest = int(table["pixels"].max())
    counted = {str(network): class_counts(measured_counts(str(network), largest)) for network in medians.index}
    plain = [name for name in counted if name not in _ODD]
    product, normalization, depthwise = (medians[name] for name in _CLASS_COLUMNS)
    per_count = (
        np.median([product[name] / (1 - product[name]) / counted[name][0] for name in plain]),
        np.median([normalization[name] / counted[name][1] for name in plain if counted[name][1] > 0]),
        np.median([depthwise[name] / (1 - depthwise[name]) / count[2] for name, count in counted.items() if count[2]]),
    )
    rows = {name: tuple(medians.loc[name].astype(float)) for name in plain}
    return ClassShares(rows, tuple(float(value) for value in per_count))  # type: ignore[arg-type]


def _profiled_shares(measurements: Measurements) -> pd.DataFrame:
    """One row per network and pixel size: network, pixels, share, and the columns of `_CLASS_COLUMNS`."""
    classes = load_operation_classes()
    times = classes.encode_table(measurements.operations, measurements.times_us[SHARES_OF]).times_ms
    kinds = {kind: np.zeros(len(times)) for kind in ("compute", "rest", *_CLASS_COLUMNS)}
    columns = {name: times[:, place] for place, name in enumerate(classes.device)}
    for name, values in columns.items():
        if name not in ("idle", "copy"):
            kinds["compute" if name.startswith(("convolution", "matrix product")) else "rest"] += values
            for column, prefix in _CLASS_COLUMNS.items():
                kinds[column] += values * name.startswith(prefix)
    workloads = measurements.workloads
    table = pd.DataFrame(
        {
            "network": workloads["model"].to_numpy(),
            "pixels": workloads["pixels"].to_numpy(),
            "batch": workloads["batch_size"].to_numpy(),
            "share": kinds["compute"] / (kinds["compute"] + kinds["rest"]),
            **{
                column: kinds[column] / kinds["compute" if column == "product_share" else "rest"]
                for column in _CLASS_COLUMNS
            },
        }
    )
    table = table[(table["batch"] >= _MIN_BATCH) & (table["pixels"] >= _MIN_PIXELS)]
    return table.groupby(["network", "pixels"])[["share", *_CLASS_COLUMNS]].median().reset_index()


def _intensity(counts: Counts) -> float:
    return (counts.flops.convolution + counts.flops.dense) / counts.elements.all


PEAKS_FILE = Path(__file__).with_name("tensor_peaks.csv")
#: The table of the points, which have one network.
POINTS_TABLE = "lambdal/deeplearning-benchmark, PyTorch"
#: GPUs under the names of tables -> as specs have them.
_SAME_GPU = {
    "GeForce RTX 2070 with Max-Q Design": "GeForce RTX 2070 Max-Q",
    "GeForce RTX 2080 with Max-Q Design": "GeForce RTX 2080 Max-Q",
    "GeForce RTX 2080 Super with Max-Q Design": "GeForce RTX 2080 Super Max-Q",
    "V100-SXM2-16GB": "Tesla V100-SXM2-16GB",
    "V100-32GB (workstation)": "Tesla V100-SXM2-16GB",
    "A10 (PCIe; not A10G)": "A10",
    "RTX 6000 Ada (AD102 as L40S; 142 SM)": "RTX 6000 Ada Generation",
    "B200-SXM-192GB": "B200",
}
#: V100s of other tables, about as fast.
_LARGE_V100 = (*("Tesla V100-SXM2-32GB", "Tesla V100 (16 GB)", "Tesla V100 (32 GB)", "Tesla V100-PCIE-32GB"),)
#: Half precision may run up to twice the batch, as tables do that fill the memory.
_MAX_BATCH_RATIO = 2.3
#: Where a table states no batch size.
_ASSUMED_BATCH = 64
#: On tensor cores a run that takes this many times as long in AMP has failed; so has a table's GPU whose median does.
_FAILED_RUN, _FAILED_GPU = 2.0, 1.25


class Pairs(Struct, frozen=True):
    """Published pairs.

    amp : of AMP over FP32 or TF32 on tensor cores: table, gpu, network, pixels, over, log_speedup, base_ms, share,
        layers, peak_ratio, batch_ratio.
    plain : the same of GPUs without tensor cores.
    tf32 : of TF32 over FP32: table, gpu, network, log_speedup, share, log_ratio (of the peaks).
    failed : pairs left out, since tensor cores were not used.
    """

    amp: pd.DataFrame
    plain: pd.DataFrame
    tf32: pd.DataFrame
    failed: int


def load_pairs(folder: Path, shares: NetworkShares) -> Pairs:
    """The pairs of all tables in a data folder, on one GPU each."""
    rows = _rows(folder)
    cells = _amp_cells(rows, shares)
    tensor = cells[cells["fp16_tflops"].notna()]
    median = tensor.groupby(["table", "gpu"])["log_speedup"].transform("median")
    failed = (tensor["log_speedup"] < -np.log(_FAILED_RUN)) | (median < -np.log(_FAILED_GPU))
    return Pairs(
        amp=tensor[~failed].reset_index(drop=True),
        plain=cells[cells["fp16_tflops"].isna()].reset_index(drop=True),
        tf32=_tf32_cells(rows, shares),
        failed=int(failed.sum()),
    )


def _rows(folder: Path) -> pd.DataFrame:
    """All rows of one GPU: table, version, gpu, network, pixels, precision, batch_size, images_per_s."""
    tables = pd.read_csv(found_file(folder, THROUGHPUT_FILE))
    xla = tables["framework_version"].fillna("").str.contains("XLA") & tables["source_repo"].str.startswith("lambdal")
    framework = tables["framework"].str.split().str[0].where(~xla, tables["framework"].str.split().str[0] + " XLA")
    tables["table"] = tables["source_repo"] + ", " + framework
    # A table on eight GPUs is the only one that has TF32 and FP32 of one GPU in one place.
    tables = tables[(tables["gpus"] == 1) | tables["source_repo"].str.startswith("deepinsight")]
    points = pd.concat([pd.read_csv(found_file(folder, name)) for name in (POINTS_FILE, MORE_POINTS_FILE)])
    points = points.assign(table=POINTS_TABLE, network="ResNet50", pixels=224, framework_version="")
    rows = pd.concat([tables, points], ignore_index=True)
    rows["gpu"] = rows["gpu"].replace(_SAME_GPU)
    rows["version"] = rows["framework_version"].fillna("")
    rows["precision"] = rows["precision"].map(canonical)
    return rows[["table", "version", "gpu", "network", "pixels", "precision", "batch_size", "images_per_s"]]


def peaks() -> Mapping[str, tuple[float, float, float]]:
    """GPU -> peaks in FP32, TF32 and half precision on tensor cores, TFLOP/s; not a number where it has none."""
    table = pd.read_csv(PEAKS_FILE)
    columns = (table[f"{name}_tflops"].astype(float) for name in ("fp32", "tf32", "fp16"))
    found = dict(zip(table["gpu"].astype(str), zip(*columns, strict=True), strict=True))
    nothing = float("nan")
    for name, gpu in load_gpus().items():
        tensor = gpu.fp16_tensor_dense_tflops
        found[name] = gpu.fp32_tflops, gpu.tf32_tensor_dense_tflops or nothing, tensor or nothing
    return found


#: The one table under XLA that has a V100 beside others.
_XLA = "lambdal/lambda-tensorflow-benchmark, TensorFlow XLA"
#: Tables of real training; smaller batches measure launches too.
_TRAINING = (
    POINTS_TABLE,
    "lambdal/lambda-tensorflow-benchmark, TensorFlow",
    _XLA,
    "NVIDIA/DeepLearningExamples, PyTorch",
    "NVIDIA/DeepLearningExamples, TensorFlow",
    "ml-energy/zeus, PyTorch",
)
_MIN_TRAINING_BATCH = 64
#: One script of many hands, at batches of 12: only networks that no host delays compare.
_SCRIPT, _GPU_BOUND = "pytorch-gpu-benchmark", ("VGG11", "VGG13", "VGG16", "VGG19")
SCRIPT_TABLE = f"{_SCRIPT}, PyTorch"
#: Its steps there are those of the 2080 Ti, at three quarters of whose specs.
_MISNAMED = "GeForce RTX 2080"


def training_rows(folder: Path, shares: NetworkShares, gpus: Collection[str]) -> pd.DataFrame:
    """Return published speeds of training on GPUs with specs, medians of a table.

    Returns
    -------
    speeds : columns table, network, pixels, gpu, precision, images_per_s, and `shares` of the step's work on the
        reference GPU.
    """
    rows = _rows(folder)
    rows["gpu"] = rows["gpu"].replace(dict.fromkeys(_LARGE_V100, "Tesla V100-SXM2-16GB"))
    large = rows["table"].isin(_TRAINING) & ~(rows["batch_size"] < _MIN_TRAINING_BATCH)
    script = rows["table"].str.contains(_SCRIPT) & rows["network"].isin(_GPU_BOUND) & (rows["gpu"] != _MISNAMED)
    rows = rows.assign(table=rows["table"].where(~script, SCRIPT_TABLE))
    plain = ~rows["version"].str.contains("XLA") | (rows["table"] == _XLA)
    rows = rows[(large & plain) | script]
    rows = rows[rows["gpu"].isin(set(gpus)) & rows["precision"].isin([FP32, TF32, AMP])]
    tensor_cores = {name for name in set(rows["gpu"]) if has_tensor_cores(load_gpus()[name])}
    rows = rows[(rows["precision"] != AMP) | rows["gpu"].isin(tensor_cores)]
    keys = ["table", "network", "pixels", "gpu", "precision"]
    runs = _without_failed_runs(rows.groupby([*keys, "version"])["images_per_s"].median().reset_index())
    found = runs.groupby(keys)["images_per_s"].median().reset_index()
    by_class: Any = {size: shares.by_class(*size) for size in {*zip(found["network"], found["pixels"], strict=True)}}
    sizes = zip(found["network"], found["pixels"], strict=True)
    found = found.assign(shares=pd.Series([by_class[size] for size in sizes], index=found.index, dtype=object))
    return found[found["shares"].notna()]


def _without_failed_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Without AMP on tensor cores that takes as long as FP32 or TF32 in its version: it didn't run on them."""
    keys = ["table", "network", "pixels", "gpu", "version"]
    slowest = rows[rows["precision"] != AMP].groupby(keys)["images_per_s"].min().rename("other")
    other = rows.join(slowest, on=keys)["other"]
    return rows[(rows["precision"] != AMP) | ~(rows["images_per_s"] < other)]


def _amp_cells(rows: pd.DataFrame, shares: NetworkShares) -> pd.DataFrame:
    specs, found = peaks(), []
    base = rows[rows["precision"].isin([FP32, TF32])]
    for (table, one, named, size), half in rows[rows["precision"] == AMP].groupby(
        ["table", "gpu", "network", "pixels"]
    ):
        gpu, network, pixels = str(one), str(named), int(str(size))
        known = known_network(network)
        if gpu not in specs or known is None:
            continue
        counts = counts_of(known, pixels)
        same = base[
            (base["table"] == table) & (base["gpu"] == gpu) & (base["network"] == network) & (base["pixels"] == pixels)
        ]
        fp32_peak, tf32_peak, fp16_peak = specs[gpu]
        for over, rows_over in same.groupby("precision"):
            pairs = _paired(half, rows_over)
            if pairs.empty:
                continue
            peak = tf32_peak if over == TF32 else fp32_peak
            found.append(
                {
                    "table": table, "gpu": gpu, "network": known, "pixels": pixels, "over": over,
                    "log_speedup": float(np.median(np.log(pairs["half"] / pairs["full"]))),
                    "base_ms": float((1000 * pairs["batch"] / pairs["full"]).median()),
                    "batch_ratio": float(pairs["ratio"].median()),
                    "share": shares.of(known, counts), "layers": counts.layers.all, **shares.of_classes(known, counts),
                    "fp16_tflops": fp16_peak, "peak_ratio": fp16_peak / peak,
                }
            )  # fmt: skip
    return pd.DataFrame(found)


def _paired(half: pd.DataFrame, full: pd.DataFrame) -> pd.DataFrame:
    """Rows of the same version at the same batch, or at up to about twice of it in half precision."""
    both = half.merge(full, on="version", suffixes=("_half", "_full"))
    ratio = (both["batch_size_half"] / both["batch_size_full"]).fillna(1.0)
    both = both[(ratio >= 0.99) & (ratio <= _MAX_BATCH_RATIO)]
    return pd.DataFrame(
        {
            "half": both["images_per_s_half"],
            "full": both["images_per_s_full"],
            "batch": both["batch_size_full"].fillna(_ASSUMED_BATCH),
            "ratio": ratio,
        }
    ).dropna()


def _tf32_cells(rows: pd.DataFrame, shares: NetworkShares) -> pd.DataFrame:
    """TF32 over FP32 of the same network in the same repository; boards of one chip count as one GPU."""
    specs, found = peaks(), []
    ours = rows.assign(repository=rows["table"].str.split(",").str[0], gpu=rows["gpu"].replace(_SAME_CHIP))
    for (repository, one, named, size), part in ours.groupby(["repository", "gpu", "network", "pixels"]):
        gpu, network, pixels = str(one), str(named), int(str(size))
        speed = part[part["precision"].isin([FP32, TF32])].groupby("precision")["images_per_s"].median()
        known = known_network(network) or _STANDS_FOR.get(network)
        if len(speed) < 2 or known is None or gpu not in specs:
            continue
        fp32_peak, tf32_peak, _ = specs[gpu]
        found.append(
            {
                "table": repository, "gpu": gpu, "network": known,
                "log_speedup": float(np.log(speed[TF32] / speed[FP32])),
                "share": shares.of(known, counts_of(known, pixels)),
                "log_ratio": float(np.log(tf32_peak / fp32_peak)),
            }
        )  # fmt: skip
    return pd.DataFrame(found)


_SAME_CHIP = {"A100-PCIE-40GB": "A100-SXM4-40GB"}
#: A network that is not known here -> one of the same layers.
_STANDS_FOR = {"IResNet-50 + ArcFace 618k": "ResNet50"}
