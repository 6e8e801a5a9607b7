"""Custom GPUs: specs, and what a user states of their speed."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec.structs import replace

from profet_core.catalog.custom_gpus import CustomGpu, SpeedPoint, ThroughputPoint
from profet_core.catalog.gpus import FP32, PLAIN, TF32, Gpu, host_named, load_gpus
from profet_core.errors import InputError
from profet_core.layers.gpu_effects import STATED, effects_by_specs, effects_by_steps, known_step
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of, network_name, shared_name
from profet_core.layers.rates import (
    GpuEffects,
    Mode,
    RateModel,
    UserEffects,
    has_rates,
    mode_of,
    rate_model_of,
)
from profet_core.prediction.models import Models
from profet_profiles.units import format_significant

#: GPU that a speed is relative to, and the step by which: network, pixels and batch size.
REFERENCE_GPU = "Tesla V100-SXM2-16GB"
_BENCHMARK = "resnet50", 224, 64
#: Networks that a form offers; any other that is known by name counts, too.
NETWORKS = ("ResNet50", "ResNet18", "ResNet34", "VGG11", "VGG13", "VGG16", "VGG19", "InceptionV3")
#: Smaller batches wait for the host, which differs.
BATCH_RANGE = (16, 4096)
PIXEL_RANGE = (128, 320)
#: Forward, and backward to inputs and to weights.
_PASSES = 3
#: Maximum and minimum share of the specs' peak in a step (fast convolution algorithms need fewer operations than are
#: counted), and maximum factor between a known speed and one from specs.
_MAX_PEAK_SHARE, _MIN_PEAK_SHARE, _SPECS_FACTOR = 3.0, 0.001, 10.0


def with_custom_gpus(models: Models, own: Iterable[CustomGpu]) -> Models:
    """Add specs and speeds of custom GPUs to the models; other GPUs stay unchanged.

    Raises
    ------
    InputError : a throughput is impossible, or of an unknown network; see `check_custom_gpu`.
    """
    rows = tuple(own)
    if not rows:
        return models
    transfer = models.transfer
    other = models.with_transfer(replace(transfer, gpus=transfer.gpus.with_custom(row.gpu for row in rows)))
    if has_rates(models):
        rates = rate_model_of(models)
        # Measured steps count more than what is stated.
        stated = {row.name: _custom_effects(rates, row) for row in rows if row.name not in rates.calibrated}
        other.__dict__["rates"] = rates.with_gpus(stated)
    return other


def check_custom_gpu(models: Models, own: CustomGpu) -> None:
    """Reject a speed that is impossible with the specs.

    Raises
    ------
    InputError : one line that names the GPU.
    """
    with_custom_gpus(models, [own])


def speed_bounds(gpu: Gpu) -> tuple[float, float]:
    """Minimum and maximum speed over the reference GPU's that its specs allow."""
    low, high = _specs_range(gpu)
    return low / _SPECS_FACTOR, high * _SPECS_FACTOR


def _custom_effects(model: RateModel, own: CustomGpu) -> GpuEffects:
    gpu, point = own.gpu, own.point
    if point is None:
        return effects_by_specs(model, gpu)
    if point.precision == TF32 and gpu.tf32_tensor_dense_tflops is None:
        raise InputError(f"{own.name} has no TF32: use fp32.")
    if isinstance(point, SpeedPoint):
        _check_speed(gpu, point.times_reference)
        return _scaled_effects(model, own, point)
    try:
        network, counts = _checked_network(point)
    except InputError as error:
        raise InputError(f"{own.name}: {error}") from None
    _check_throughput(gpu, point, counts)
    _check_speed(gpu, _work_ms(model, load_gpus()[REFERENCE_GPU], counts, point.batch_size, FP32) / point.step_ms)
    mode, host = mode_of(gpu, point.precision, PLAIN), host_named("", gpu.compute_capability)
    step = known_step(model, shared_name(network), counts, point.batch_size, mode, (gpu, host), point.step_ms)
    effects = effects_by_steps(model, gpu, [step], STATED)
    return _stated(
        effects,
        f"{format_significant(point.images_per_s)} images/s of {point.network} in {point.precision.upper()}, "
        f"{point.pixels} pixels, batch {point.batch_size}: {own.source}",
    )


def _scaled_effects(model: RateModel, own: CustomGpu, point: SpeedPoint) -> UserEffects:
    """Effects by the specs, all kinds of work faster or slower by one factor, so that the benchmark has its speed."""
    name, pixels, batch_size = _BENCHMARK
    gpu, counts, effects = own.gpu, counts_of(name, pixels), effects_by_specs(model, own.gpu)
    wanted_ms = _work_ms(model, load_gpus()[REFERENCE_GPU], counts, batch_size, FP32) / point.times_reference
    by_specs_ms = _work_ms(model.with_gpus({gpu.name: effects}), gpu, counts, batch_size, point.precision)
    log_costs = effects.log_costs + math.log(wanted_ms / by_specs_ms)
    times = format_significant(point.times_reference, 2)
    statement = f"{times} times {REFERENCE_GPU}, in {point.precision.upper()}: {own.source}"
    return _stated(GpuEffects(log_costs, point.times_log_sd, 1), statement)


def _stated(effects: GpuEffects, statement: str) -> UserEffects:
    return UserEffects(effects.log_costs, effects.log_sd, effects.rows, statement=statement)


def _work_ms(model: RateModel, gpu: Gpu, counts: Counts, batch_size: int, precision: str) -> float:
    """GPU time of a step; launches and its start aside."""
    mode: Mode = mode_of(gpu, precision, PLAIN)
    work_ms, _, _ = model.parts_ms(counts, batch_size, (gpu, host_named("", gpu.compute_capability)), mode)
    return float(work_ms.sum())


def _checked_network(point: ThroughputPoint) -> tuple[str, Counts]:
    for what, value, (least, most) in (
        ("batch_size", point.batch_size, BATCH_RANGE),
        ("pixels", point.pixels, PIXEL_RANGE),
    ):
        if not least <= value <= most:
            raise InputError(
                f"{what} must be {least} to {most}, not {value}: there are no measurements to compare with."
            )
    name = network_name(point.network)
    return name, counts_of(name, point.pixels)


def _check_throughput(gpu: Gpu, point: ThroughputPoint, counts: Counts) -> None:
    """Check that the throughput is within possible shares of the specs' peak."""
    tf32_tflops = gpu.tf32_tensor_dense_tflops if point.precision == TF32 else None
    peak = max(gpu.fp32_tflops, tf32_tflops or 0.0)
    per_s = 1e12 * peak / (_PASSES * counts.flops.all)
    if not _MIN_PEAK_SHARE * per_s <= point.images_per_s <= _MAX_PEAK_SHARE * per_s:
        raise InputError(
            f"{gpu.name}: {point.images_per_s:,.6g} images/s of {point.network} is not plausible: {peak:g} TFLOP/s "
            f"allow {format_significant(_MIN_PEAK_SHARE * per_s, 2)} to "
            f"{format_significant(_MAX_PEAK_SHARE * per_s, 2)}. Check that it is for one GPU, training, in FP32 or "
            "TF32."
        )


def _check_speed(gpu: Gpu, times_reference: float) -> None:
    slowest, fastest = speed_bounds(gpu)
    # Tolerance so that the bounds themselves are accepted.
    if not 0.999 * slowest <= times_reference <= 1.001 * fastest:
        low, high = _specs_range(gpu)
        raise InputError(
            f"{gpu.name}: {format_significant(times_reference, 2)} times {REFERENCE_GPU} is far from the "
            f"{format_significant(low, 2)} to {format_significant(high, 2)} that its specs allow: check both."
        )


def _specs_range(gpu: Gpu) -> tuple[float, float]:
    """Minimum and maximum ratio of the specs to the reference's."""
    reference = load_gpus()[REFERENCE_GPU]
    ratios = [
        gpu.fp32_tflops / reference.fp32_tflops,
        (gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops) / reference.fp32_tflops,
        gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s,
    ]
    return min(ratios), max(ratios)
