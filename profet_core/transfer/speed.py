"""How fast a GPU runs the benchmark network beside the reference GPU: from a published point, or from data sheets."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.transfer.model import BenchmarkPoint, OwnPoint, TransferModel

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
    assumed = _ASSUMED.format(n=model.spread.gpus)
    sheet = math.log(gpu.fp32_tflops / model.gpus[model.reference_gpu].fp32_tflops)
    benchmark = _benchmark(model, gpu)
    if benchmark is None:
        return Speed(sheet, model.sheet_spread.log_half_width(), f"no published benchmark: data sheet alone; {assumed}")
    point, source = benchmark
    if gpu.tf32_tensor_dense_tflops is not None and not tf32:
        half = model.sheet_spread.log_half_width(point.log_sd)
        return Speed(min(point.log_speed, sheet), half, f"FP32 by data sheet, {source}; {assumed}")
    precision = "TF32" if gpu.tf32_tensor_dense_tflops else "FP32"
    return Speed(point.log_speed, model.spread.log_half_width(point.log_sd), f"{precision}, {source}; {assumed}")


def _benchmark(model: TransferModel, gpu: Gpu) -> tuple[BenchmarkPoint, str] | None:
    """The GPU's own published point or a relative's carried over, and where it is from in words; None if neither is."""
    if point := model.points.get(gpu.name):
        return point, point.source
    relative = _relative(model, gpu)
    if relative is None:
        return None
    theirs = model.points[relative]
    log_speed = theirs.log_speed + _sheet_ratio(gpu, model.gpus[relative])
    source = f"no published benchmark: that of {theirs.measured_on} carried over by data sheet"
    return BenchmarkPoint(log_speed, model.relative_log_sd, theirs.measured_on), source


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
        for name, point in model.points.items()
        if name in model.gpus
        and model.gpus[name].compute_capability == gpu.compute_capability
        and not isinstance(point, OwnPoint)
    ]
    return min(same, key=lambda name: abs(math.log(model.gpus[name].sm_count / gpu.sm_count)), default=None)


def _sheet_ratio(gpu: Gpu, other: Gpu) -> float:
    peaks = [one.tf32_tensor_dense_tflops or one.fp32_tflops for one in (gpu, other)]
    return half_and_half(peaks[0] / peaks[1], gpu.bandwidth_gb_per_s / other.bandwidth_gb_per_s)


def half_and_half(arithmetic: float, bandwidth: float) -> float:
    """Log ratio of two GPUs' speeds, half by their peak arithmetic and half by their bandwidth."""
    return (math.log(arithmetic) + math.log(bandwidth)) / 2
