"""Custom GPUs in the transfer model: specs, and speed from one throughput."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from profet_core.catalog.gpus import Gpu
from profet_core.catalog.own_gpus import OwnGpu, SpeedPoint, ThroughputPoint
from profet_core.errors import InputError
from profet_core.latency import log_sd_of
from profet_core.transfer.model import OwnPoint, TransferModel
from profet_core.transfer.published import (
    load_reference_steps,
    log_times_reference,
    throughput_log_sd,
    work_log_speed_of_gpu_time,
)
from profet_core.units import format_significant

#: Gain and uncertainty of TF32 speed inferred from FP32 throughput: published networks gain 1.1 to 1.8 times.
TF32_LOG_GAIN = math.log(1.4)
TF32_LOG_SD = log_sd_of(math.log(1.8 / 1.1) / 2)
#: Maximum and minimum share of the specs' peak in a step (fast convolution algorithms need fewer operations than are
#: counted).
MOST_OF_PEAK, LEAST_OF_PEAK = 3.0, 0.001
#: Maximum factor between a measured speed and one from specs.
_SHEET_FACTOR = 10.0


def with_own_gpus(model: TransferModel, own: Iterable[OwnGpu]) -> TransferModel:
    """Add specs and speeds of custom GPUs to the model.

    Other GPUs stay unchanged.

    Raises
    ------
    InputError : a throughput is impossible, or has no comparison; see `check_own_gpu`.
    """
    rows = tuple(own)
    told = {row.name: (row, _own_point(model, row)) for row in rows if row.point is not None}
    in_fp32 = {name: point for name, (row, point) in told.items() if _is_fp32_beside_tf32(row)}
    points = {name: _in_tf32(point) if name in in_fp32 else point for name, (_, point) in told.items()}
    return replace(
        model,
        gpus=model.gpus.with_own(row.gpu for row in rows),
        points=MappingProxyType({**model.points, **points}),
        fp32_points=MappingProxyType({**model.fp32_points, **in_fp32}),
    )


def check_own_gpu(model: TransferModel, own: OwnGpu) -> None:
    """Reject a speed that is impossible with the specs.

    Raises
    ------
    InputError : one line that names the GPU.
    """
    with_own_gpus(model, [own])


def _own_point(model: TransferModel, own: OwnGpu) -> OwnPoint:
    """Known speed, in the precision in which it is known."""
    point, steps = own.point, load_reference_steps()
    assert point is not None
    if point.precision == "tf32" and own.gpu.tf32_tensor_dense_tflops is None:
        raise InputError(f"{own.name} has no TF32: use fp32.")
    if isinstance(point, SpeedPoint):
        log_speed = log_times = math.log(point.times_reference)
        log_sd = point.log_sd
        said = f"{format_significant(point.times_reference, 2)} times {model.reference_gpu}: {own.source}"
    else:
        try:
            log_times = log_times_reference(steps, model.step, point)
        except InputError as error:
            raise InputError(f"{own.name}: {error}") from None
        _check_throughput(own.gpu, point, steps.gflop_per_image(point.network, point.pixels))
        log_speed = work_log_speed_of_gpu_time(steps, model, own.gpu.sm_count, log_times)
        log_sd = throughput_log_sd(point)
        said = (
            f"{format_significant(point.images_per_s)} images/s of {point.network}, {point.pixels} pixels, batch "
            f"{point.batch_size}: {own.source}"
        )
    _check_speed(model, own.gpu, log_times)
    return OwnPoint(log_speed, log_sd, own.name, 1, log_times, said)


def _is_fp32_beside_tf32(own: OwnGpu) -> bool:
    """Whether its speed is known in FP32 although it has TF32."""
    return own.point is not None and own.point.precision == "fp32" and own.gpu.tf32_tensor_dense_tflops is not None


def _in_tf32(point: OwnPoint) -> OwnPoint:
    """Estimate the same point in TF32."""
    return replace(
        point,
        log_speed=point.log_speed + TF32_LOG_GAIN,
        log_sd=math.hypot(point.log_sd, TF32_LOG_SD),
        log_throughput=point.log_throughput + TF32_LOG_GAIN,
        said=f"estimated from FP32, {point.said}",
    )


def _check_throughput(gpu: Gpu, point: ThroughputPoint, gflop_per_image: float) -> None:
    """Check that the throughput is within possible shares of the specs' peak."""
    tf32_tflops = gpu.tf32_tensor_dense_tflops if point.precision == "tf32" else None
    peak = max(gpu.fp32_tflops, tf32_tflops or 0.0)
    per_s = 1_000 * peak / gflop_per_image
    if not LEAST_OF_PEAK * per_s <= point.images_per_s <= MOST_OF_PEAK * per_s:
        raise InputError(
            f"{gpu.name}: {point.images_per_s:,.6g} images/s of {point.network} is not plausible: {peak:g} TFLOP/s "
            f"allow {format_significant(LEAST_OF_PEAK * per_s, 2)} to "
            f"{format_significant(MOST_OF_PEAK * per_s, 2)}. Check that it is for one GPU, training, in FP32 or "
            "TF32."
        )


def speed_bounds(model: TransferModel, gpu: Gpu) -> tuple[float, float]:
    """Minimum and maximum speed over the reference that its specs allow."""
    low, high = _sheet_range(model, gpu)
    return low / _SHEET_FACTOR, high * _SHEET_FACTOR


def _check_speed(model: TransferModel, gpu: Gpu, log_speed: float) -> None:
    slowest, fastest = speed_bounds(model, gpu)
    # Tolerance so that the bounds themselves are accepted.
    if not 0.999 * slowest <= math.exp(log_speed) <= 1.001 * fastest:
        low, high = _sheet_range(model, gpu)
        raise InputError(
            f"{gpu.name}: {format_significant(math.exp(log_speed), 2)} times {model.reference_gpu} is far from the "
            f"{format_significant(low, 2)} to {format_significant(high, 2)} that its specs allow: check both."
        )


def _sheet_range(model: TransferModel, gpu: Gpu) -> tuple[float, float]:
    """Minimum and maximum ratio of the specs to the reference's."""
    reference = model.gpus[model.reference_gpu]
    ratios = [
        gpu.fp32_tflops / reference.fp32_tflops,
        (gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops) / reference.fp32_tflops,
        gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s,
    ]
    return min(ratios), max(ratios)
