"""How fast a GPU runs the benchmark network beside the reference GPU: from a published point, or from data sheets."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.transfer.model import TransferModel

#: A network that computes more or less than the benchmark gains more or less from a GPU whose arithmetic grew faster
#: than its bandwidth. A data sheet's roofline would say by how much; half of it counts as one standard deviation. As a
#: correction it gained nothing in leave-one-GPU-out.
MIX_SHARE = 0.5

_ASSUMED = "90 % if errors are log-normal and spread as on the GPUs left out (Student's t, {n} GPUs)"


@dataclass(frozen=True, slots=True)
class Speed:
    """Benchmark speed of a GPU over the reference's, in the logarithm; the interval's half width; where it is from."""

    log_speed: float
    log_half_width: float
    note: str


def known_speed(model: TransferModel, gpu: Gpu, tf32: bool) -> Speed:
    """The best that is known of a GPU: its own published point, a relative's by data sheet, or data sheets alone.

    Points of GPUs with TF32 are TF32. For FP32 the data sheets count, never above the point.
    """
    point = model.points.get(gpu.name)
    relative = None if point else _relative(model, gpu)
    assumed = _ASSUMED.format(n=model.spread.gpus)
    sheet = math.log(gpu.fp32_tflops / model.gpus[model.reference_gpu].fp32_tflops)
    slower = gpu.tf32_tensor_dense_tflops is not None and not tf32
    if point is None and relative is None:
        return Speed(sheet, model.sheet_spread.log_half_width(), f"no published benchmark: data sheet alone; {assumed}")
    if point:
        log_speed, doubt = point.log_speed, point.log_sd
        note = f"published ResNet-50 training speed of {point.measured_on}"
    else:
        other = model.gpus[relative]
        log_speed = model.points[relative].log_speed + _sheet_ratio(gpu, other)
        doubt = model.relative_log_sd
        note = f"no published benchmark: that of {model.points[relative].measured_on} carried over by data sheet"
    if slower:
        half = model.sheet_spread.log_half_width(doubt)
        return Speed(min(log_speed, sheet), half, f"FP32 by data sheet, {note}; {assumed}")
    precision = "TF32" if gpu.tf32_tensor_dense_tflops else "FP32"
    return Speed(log_speed, model.spread.log_half_width(doubt), f"{precision}, {note}; {assumed}")


def mix_log_sd(model: TransferModel, gpu: Gpu, tf32: bool, away: np.ndarray) -> np.ndarray:
    """Spread from the mix of operations; `away`: compute share less the benchmark's, (profiles,)."""
    reference = model.gpus[model.reference_gpu]
    peak = gpu.tf32_tensor_dense_tflops if tf32 and gpu.tf32_tensor_dense_tflops else gpu.fp32_tflops
    grew = math.log(peak / reference.fp32_tflops) - math.log(gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s)
    return MIX_SHARE * abs(grew) * np.abs(away)


def _relative(model: TransferModel, gpu: Gpu) -> str | None:
    """A GPU of the same compute capability with a point: the one nearest in number of SMs."""
    same = [
        name
        for name in model.points
        if name in model.gpus and model.gpus[name].compute_capability == gpu.compute_capability
    ]
    return min(same, key=lambda name: abs(math.log(model.gpus[name].sm_count / gpu.sm_count)), default=None)


def _sheet_ratio(gpu: Gpu, other: Gpu) -> float:
    peaks = [one.tf32_tensor_dense_tflops or one.fp32_tflops for one in (gpu, other)]
    return half_and_half(peaks[0] / peaks[1], gpu.bandwidth_gb_per_s / other.bandwidth_gb_per_s)


def half_and_half(arithmetic: float, bandwidth: float) -> float:
    """Log ratio of two GPUs' speeds, half by their peak arithmetic and half by their bandwidth."""
    return (math.log(arithmetic) + math.log(bandwidth)) / 2
