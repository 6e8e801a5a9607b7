"""Published pairs: the same GPU, network and table in two precisions, as logarithms of the speed-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_core.layers.networks import counts_of
from profet_core.precision.names import AMP, FP32, TF32, canonical
from profet_lab.measurements.published_points import POINTS_FILE, THROUGHPUT_FILE
from profet_lab.measurements.tables import DataError, Measurements
from profet_lab.precision.shares import SHARES_OF, NetworkShares, known_network

MORE_POINTS_FILE = Path("external") / "resnet50_points_more.csv"
PEAKS_FILE = Path(__file__).with_name("tensor_peaks.csv")
#: The table of the points, which have one network.
POINTS_TABLE = "lambdal/deeplearning-benchmark, PyTorch"
#: GPUs under the names of tables -> as specs have them.
_SAME_GPU = {
    "GeForce RTX 2070 with Max-Q Design": "GeForce RTX 2070 Max-Q",
    "GeForce RTX 2080 with Max-Q Design": "GeForce RTX 2080 Max-Q",
    "GeForce RTX 2080 Super with Max-Q Design": "GeForce RTX 2080 Super Max-Q",
    "V100-SXM2-16GB": "Tesla V100-SXM2-16GB",
    "V100-32GB (workstation)": "Tesla V100-PCIE-32GB",
    "A10 (PCIe; not A10G)": "A10",
    "RTX 6000 Ada (AD102 as L40S; 142 SM)": "RTX 6000 Ada Generation",
    "B200-SXM-192GB": "B200",
}
#: Half precision may run up to twice the batch, as tables do that fill the memory.
_MOST_BATCH_RATIO = 2.3
#: Where a table states no batch size.
_ASSUMED_BATCH = 64
#: On tensor cores a run that takes this many times as long in AMP has failed; so has a table's GPU whose median does.
_FAILED_RUN, _FAILED_GPU = 2.0, 1.25
#: Minimum number of networks for a table to show a GPU's kinds of work.
MANY_NETWORKS = 6


@dataclass(frozen=True)
class Pairs:
    """Published pairs.

    Attributes
    ----------
    amp : of AMP over FP32 or TF32 on tensor cores: table, gpu, network, pixels, over, log_speedup, base_ms, share,
        layers, peak_ratio, batch_ratio. plain : the same of GPUs without tensor cores.
    tf32 : of TF32 over FP32: table, gpu, network, log_speedup, share, log_ratio (of the peaks).
    failed : pairs left out, since tensor cores were not used.
    """

    amp: pd.DataFrame
    plain: pd.DataFrame
    tf32: pd.DataFrame
    failed: int


def has_pairs(folder: Path, measurements: Measurements) -> bool:
    """Whether all tables are there, and profiles of the instance that shares are read from."""
    files = (THROUGHPUT_FILE, POINTS_FILE, MORE_POINTS_FILE)
    return SHARES_OF in measurements.instances and all((folder / name).is_file() for name in files)


def load_pairs(folder: Path, shares: NetworkShares) -> Pairs:
    """The pairs of all tables in a data folder, on one GPU each.

    Raises
    ------
    DataError : a file is missing.
    """
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
    for name in (THROUGHPUT_FILE, POINTS_FILE, MORE_POINTS_FILE):
        if not (folder / name).is_file():
            raise DataError(f"No {name} in {folder}: the precision model is fitted on it.")
    tables = pd.read_csv(folder / THROUGHPUT_FILE)
    xla = tables["framework_version"].fillna("").str.contains("XLA") & tables["source_repo"].str.startswith("lambdal")
    framework = tables["framework"].str.split().str[0].where(~xla, tables["framework"].str.split().str[0] + " XLA")
    tables["table"] = tables["source_repo"] + ", " + framework
    # A table on eight GPUs is the only one that has TF32 and FP32 of one GPU in one place.
    tables = tables[(tables["gpus"] == 1) | tables["source_repo"].str.startswith("deepinsight")]
    points = pd.concat([pd.read_csv(folder / POINTS_FILE), pd.read_csv(folder / MORE_POINTS_FILE)])
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


def capability_of(name: str) -> float:
    """Compute capability of a GPU of the pairs."""
    gpus = load_gpus()
    if name in gpus and (capability := gpus[name].compute_capability) is not None:
        return capability
    table = pd.read_csv(PEAKS_FILE)
    return float(table.loc[table["gpu"] == name, "compute_capability"].iloc[0])


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
                    "share": shares.of(known, counts), "layers": counts.layers, **shares.of_classes(known, counts),
                    "fp16_tflops": fp16_peak, "peak_ratio": fp16_peak / peak,
                }
            )  # fmt: skip
    return pd.DataFrame(found)


def _paired(half: pd.DataFrame, full: pd.DataFrame) -> pd.DataFrame:
    """Rows of the same version at the same batch, or at up to about twice of it in half precision."""
    both = half.merge(full, on="version", suffixes=("_half", "_full"))
    ratio = (both["batch_size_half"] / both["batch_size_full"]).fillna(1.0)
    both = both[(ratio >= 0.99) & (ratio <= _MOST_BATCH_RATIO)]
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
