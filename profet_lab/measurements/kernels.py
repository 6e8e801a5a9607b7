"""Kernel speeds on other GPUs, from measured latencies (sitar-lab/NeuSight, MIT)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.transfer.law import BANDWIDTH, CONVOLUTION, PRODUCT
from profet_lab.measurements.tables import DataError

KERNELS_FILE = Path("external") / "kernel_latencies.parquet"
#: Kernels of both GPUs take at least this long, so that they are not bound by their launch, milliseconds.
_LEAST_MS = 0.2
#: A speed is the median of at least so many kernels.
_LEAST_KERNELS = 20
_REFERENCE = "Tesla V100-PCIE-32GB"
_KIND_OF = {
    CONVOLUTION: ("conv",),
    PRODUCT: ("linear",),
    BANDWIDTH: ("add", "addu", "div", "divu", "gelu", "mul", "mulu", "pow", "powu", "relu", "tanh"),
}
#: Name there -> GPUs of the catalog with the same chip at the same bandwidth. The reference counts as the SXM2's,
#: which has its memory and a tenth more clock.
_GPUS = {
    "Tesla T4": ("Tesla T4",),
    "Tesla P100-PCIE-16GB": ("Tesla P100-PCIE-16GB", "Tesla P100-SXM2-16GB"),
    "NVIDIA A100-PCIE-40GB": ("A100-PCIE-40GB", "A100-SXM4-40GB"),
    "NVIDIA A100 80GB PCIe": ("A100-PCIE-80GB", "A100-SXM4-80GB"),
    "NVIDIA L4": ("L4",),
    "NVIDIA H100 80GB HBM3": ("H100-SXM5-80GB",),
}
_SIZES = [
    "operation",
    "B",
    "M",
    "N",
    "K",
    "H",
    "input_channels",
    "output_channels",
    "kernel_size",
    "input_size",
    "stride",
    "padding",
]


def load_kernel_speeds(folder: Path) -> dict[str, dict[str, float]]:
    """Full GPU name -> kind -> how many times faster than V100 its kernels are, in the logarithm: FP32 without TF32.

    Raises
    ------
    DataError : the file is missing.
    """
    path = folder / KERNELS_FILE
    if not path.is_file():
        raise DataError(f"No {KERNELS_FILE} in {folder}: speeds by kind of operation are fitted on it.")
    table = pd.read_parquet(path)
    # One size may have been measured under several kernels' names or splits.
    latencies = table.groupby([*_SIZES, "gpu"], dropna=False)["latency_ms"].median().unstack("gpu")
    operations = latencies.index.get_level_values("operation")
    found: dict[str, dict[str, float]] = {}
    for there, names in _GPUS.items():
        speeds = {kind: _log_speed(latencies[operations.isin(of)], there) for kind, of in _KIND_OF.items()}
        for name in names:
            found[name] = {kind: speed for kind, speed in speeds.items() if speed is not None}
    return found


def _log_speed(latencies: pd.DataFrame, gpu: str) -> float | None:
    own, reference = latencies[gpu], latencies[_REFERENCE]
    both = (own > _LEAST_MS) & (reference > _LEAST_MS)
    return float(np.median(np.log((reference / own)[both].to_numpy(float)))) if both.sum() >= _LEAST_KERNELS else None


def log_bandwidth(
    kernels: Mapping[str, Mapping[str, float]], gpu: str, sheet_gb_per_s: Mapping[str, float], beside: str
) -> float:
    """Log ratio of two GPUs' bandwidth-bound speeds, from kernels if known, else from specs."""
    known = {**{name: row[BANDWIDTH] for name, row in kernels.items() if BANDWIDTH in row}, "Tesla V100-SXM2-16GB": 0.0}
    if gpu in known and beside in known:
        return known[gpu] - known[beside]
    return float(np.log(sheet_gb_per_s[gpu] / sheet_gb_per_s[beside]))
