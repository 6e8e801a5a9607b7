"""Custom GPUs: specs, and the speed that one throughput gives."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.custom_gpus import CustomGpu, SpeedPoint, ThroughputPoint
from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.shipped import shipped_text
from profet_core.transfer.model import TransferModel, benchmark_log_speed
from profet_core.transfer.rates import GpuRates, log_tf32_peak
from profet_profiles.units import format_significant

REFERENCE_STEPS_NAME = "transfer/reference_steps.csv"
#: Network that defines a GPU's speed.
BENCHMARK = "ResNet50"

#: Minimum batch size: smaller ones wait for the host, which differs. Beyond the largest measured batch (128 or 256), a
#: step is assumed proportional to its batch.
BATCH_RANGE = (16, 4096)
#: Between 128, 224 and 256 pixels a step scales as a power of its area; above, with its area (Inception v3 has 299
#: pixels).
PIXEL_RANGE = (128, 320)
#: Deviation between others' published throughputs of the reference GPU and its steps here (framework, input and batch),
#: and between the speeds that another network and ResNet-50 give for the same GPU at the same source
#: (`python -m profet_lab.transfer.reference_steps` prints both).
THROUGHPUT_LOG_SD, OTHER_NETWORK_LOG_SD = 0.13, 0.17


#: Of a step: its start, milliseconds, its copy over that in the profile, and its GPU time at least.
_START_MS, _COPY, _MIN_GPU_SHARE = 1.87, 1.15, 0.1


class ReferenceStep(Struct, frozen=True):
    """A step measured on the reference GPU (V100, TensorFlow 2.5, FP32; median of nine runs).

    Attributes
    ----------
    copy_ms : batch copy in its profile.
    gflop_per_image : 10^9 operations of a training step, forward and backward; a multiply-add counts as two.
    """

    network: str
    pixels: int
    batch_size: int
    latency_ms: float
    copy_ms: float
    gflop_per_image: float


class ReferenceSteps:
    """The reference's steps by network, pixel and batch size."""

    def __init__(self, steps: Iterable[ReferenceStep]) -> None:
        self._steps: dict[str, dict[int, list[ReferenceStep]]] = {}
        for step in steps:
            self._steps.setdefault(step.network, {}).setdefault(step.pixels, []).append(step)

    @property
    def networks(self) -> tuple[str, ...]:
        """Networks that throughputs can refer to."""
        return tuple(self._steps)

    def gpu_ms(self, network: str, pixels: int, batch_size: int) -> float:
        """GPU time of a step, milliseconds."""
        by_pixels = [(size, self._at_batch(steps, batch_size)) for size, steps in sorted(self._steps[network].items())]
        largest, largest_ms = by_pixels[-1]
        if pixels > largest:
            return largest_ms * (pixels / largest) ** 2
        sizes, times_ms = zip(*by_pixels, strict=True)
        return math.exp(np.interp(math.log(pixels), np.log(sizes), np.log(times_ms)))

    def gflop_per_image(self, network: str, pixels: int) -> float:
        """Operations of a training step per image."""
        steps = self._steps[network]
        nearest = min(steps, key=lambda size: abs(size - pixels))
        return steps[nearest][0].gflop_per_image * (pixels / nearest) ** 2

    def _at_batch(self, steps: list[ReferenceStep], batch_size: int) -> float:
        ordered = sorted(steps, key=lambda step: step.batch_size)
        # Copy and start are relative to the reference's host.
        fixed_ms = np.array([_COPY * step.copy_ms + _START_MS for step in ordered])
        steps_ms = np.array([step.latency_ms for step in ordered])
        times_ms = np.maximum(steps_ms - fixed_ms, _MIN_GPU_SHARE * steps_ms)
        largest = ordered[-1].batch_size
        if batch_size > largest:
            return float(times_ms[-1]) * batch_size / largest
        return math.exp(
            np.interp(math.log(batch_size), np.log([step.batch_size for step in ordered]), np.log(times_ms))
        )


@lru_cache(maxsize=1)
def load_reference_steps() -> ReferenceSteps:
    """Load the shipped steps."""
    text = shipped_text(REFERENCE_STEPS_NAME)
    return ReferenceSteps(
        ReferenceStep(
            network=row["network"],
            pixels=int(row["pixels"]),
            batch_size=int(row["batch_size"]),
            latency_ms=float(row["latency_ms"]),
            copy_ms=float(row["copy_ms"]),
            gflop_per_image=float(row["gflop_per_image"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


def check_size(steps: ReferenceSteps, point: ThroughputPoint) -> None:
    """Reject a throughput without a comparable step.

    Raises
    ------
    InputError : another network, or a size out of range.
    """
    if point.network not in steps.networks:
        raise InputError(f"network must be one of {', '.join(steps.networks)}, not {point.network!r}.")
    for what, value, (least, most) in (
        ("batch_size", point.batch_size, BATCH_RANGE),
        ("pixels", point.pixels, PIXEL_RANGE),
    ):
        if not least <= value <= most:
            raise InputError(
                f"{what} must be {least} to {most}, not {value}: there are no measurements to compare with."
            )


def throughput_log_sd(point: ThroughputPoint) -> float:
    """Log standard deviation of the speed that a throughput gives."""
    return THROUGHPUT_LOG_SD if point.network == BENCHMARK else math.hypot(THROUGHPUT_LOG_SD, OTHER_NETWORK_LOG_SD)


def log_times_reference(steps: ReferenceSteps, point: ThroughputPoint) -> float:
    """Log speedup of a throughput over the reference GPU.

    Published throughputs use images that are already in GPU memory, so a step is GPU time.

    Raises
    ------
    InputError : there is no comparable step.
    """
    check_size(steps, point)
    return math.log(steps.gpu_ms(point.network, point.pixels, point.batch_size) / point.step_ms)


#: Maximum and minimum share of the specs' peak in a step (fast convolution algorithms need fewer operations than are
#: counted).
MAX_PEAK_SHARE, MIN_PEAK_SHARE = 3.0, 0.001
#: Maximum factor between a measured speed and one from specs.
_SHEET_FACTOR = 10.0


def with_custom_gpus(model: TransferModel, own: Iterable[CustomGpu]) -> TransferModel:
    """Add specs and speeds of custom GPUs to the model.

    Other GPUs stay unchanged.

    Raises
    ------
    InputError : a throughput is impossible, or has no comparison; see `check_custom_gpu`.
    """
    rows = tuple(own)
    known = {row.name: _custom_rates(model, row) for row in rows if row.point is not None}
    # A GPU without a point follows from its specs, whatever a shipped one of that name is known by.
    others = {name: row for name, row in model.rates.gpus.items() if name not in {one.name for one in rows}}
    return replace(
        model,
        gpus=model.gpus.with_custom(row.gpu for row in rows),
        rates=replace(model.rates, gpus=MappingProxyType({**others, **known})),
    )


def check_custom_gpu(model: TransferModel, own: CustomGpu) -> None:
    """Reject a speed that is impossible with the specs.

    Raises
    ------
    InputError : one line that names the GPU.
    """
    with_custom_gpus(model, [own])


def _custom_rates(model: TransferModel, own: CustomGpu) -> GpuRates:
    """Rates by the specs, all faster or slower by the same factor, so that the known speed follows."""
    point, steps = own.point, load_reference_steps()
    assert point is not None
    if point.precision == "tf32" and own.gpu.tf32_tensor_dense_tflops is None:
        raise InputError(f"{own.name} has no TF32: use fp32.")
    if isinstance(point, SpeedPoint):
        log_speed, log_sd = math.log(point.times_reference), point.times_log_sd
        statement = f"{format_significant(point.times_reference, 2)} times {model.reference_gpu}: {own.source}"
    else:
        try:
            log_speed = log_times_reference(steps, point)
        except InputError as error:
            raise InputError(f"{own.name}: {error}") from None
        _check_throughput(own.gpu, point, steps.gflop_per_image(point.network, point.pixels))
        log_sd = throughput_log_sd(point)
        statement = (
            f"{format_significant(point.images_per_s)} images/s of {point.network}, {point.pixels} pixels, batch "
            f"{point.batch_size}: {own.source}"
        )
    _check_speed(model, own.gpu, log_speed)
    from_specs = model.rates.from_specs
    rates = from_specs.rates(own.gpu, model.gpus[model.reference_gpu])
    compute = rates.compute_in(point.precision == "tf32")
    faster = log_speed - benchmark_log_speed(model, compute, rates.bandwidth)
    other_log_sd = math.hypot(log_sd, from_specs.tf32_log_sd if log_tf32_peak(own.gpu) else 0.0)
    in_fp32 = point.precision == "fp32" and own.gpu.tf32_tensor_dense_tflops is not None
    return replace(
        rates,
        compute=rates.compute + faster,
        fp32_compute=rates.fp32_compute + faster,
        bandwidth=rates.bandwidth + faster,
        log_sd=other_log_sd if in_fp32 else log_sd,
        fp32_log_sd=log_sd if in_fp32 else other_log_sd,
        statement=f"estimated from FP32, {statement}" if in_fp32 else statement,
        fp32_statement=statement,
    )


def _check_throughput(gpu: Gpu, point: ThroughputPoint, gflop_per_image: float) -> None:
    """Check that the throughput is within possible shares of the specs' peak."""
    tf32_tflops = gpu.tf32_tensor_dense_tflops if point.precision == "tf32" else None
    peak = max(gpu.fp32_tflops, tf32_tflops or 0.0)
    per_s = 1_000 * peak / gflop_per_image
    if not MIN_PEAK_SHARE * per_s <= point.images_per_s <= MAX_PEAK_SHARE * per_s:
        raise InputError(
            f"{gpu.name}: {point.images_per_s:,.6g} images/s of {point.network} is not plausible: {peak:g} TFLOP/s "
            f"allow {format_significant(MIN_PEAK_SHARE * per_s, 2)} to "
            f"{format_significant(MAX_PEAK_SHARE * per_s, 2)}. Check that it is for one GPU, training, in FP32 or "
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
