"""Speed of a custom GPU from a measured step latency."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from profet_core.catalog import Catalog
from profet_core.catalog.custom_gpus import CustomGpu, SpeedPoint, with_offers_of
from profet_core.catalog.gpus import FP32, TF32
from profet_core.errors import InputError
from profet_core.latency import StepTime
from profet_core.prediction.models import Models
from profet_core.prediction.predict import predict
from profet_core.transfer.custom_gpu import speed_bounds, with_custom_gpus
from profet_core.units import format_ms, format_significant, positive_number
from profet_recorder.profiles.record import Profile

#: Repeatability of a step's median latency (0.6 to 2.5% in the measurements' own runs).
STEP_LOG_SD = 0.03
_HALVINGS = 40


def speed_of_step(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    own: CustomGpu,
    measured_ms: float,
    *,
    latency_ms: float | None = None,
    tf32: bool = True,
) -> SpeedPoint:
    """Speed at which the prediction for `profile` on `own` equals the measured latency.

    Parameters
    ----------
    profile, anchor, tf32 : as `predict` takes them.
    latency_ms, measured_ms : milliseconds per step on the anchor, None if unknown, and on `own`.

    Raises
    ------
    InputError : no speed within its specs gives such a step.
    the same as `predict`.
    """
    positive_number("A step's latency", measured_ms)
    transfer = models.transfer
    priced = with_offers_of(catalog, [own])

    # Without TF32 cores the precision is FP32 in any case.
    precision = TF32 if tf32 and own.gpu.tf32_tensor_dense_tflops is not None else FP32

    def step(log_speed: float) -> StepTime:
        at = replace(own, point=SpeedPoint(math.exp(log_speed), STEP_LOG_SD, precision))
        there = models.with_transfer(with_custom_gpus(transfer, [at]))
        found = predict(
            there,
            priced,
            profile,
            anchor,
            latency_ms=latency_ms,
            targets=[own.instance],
            trust_latency=True,
            precision=TF32 if tf32 else FP32,
        )
        return found.predictions[-1]

    slowest, fastest = (math.log(times) for times in speed_bounds(transfer, own.gpu))
    _check_within(own, measured_ms, step(slowest), step(fastest))
    log_speed = _where(lambda value: _latency_ms(step(value)) > measured_ms, slowest, fastest)
    return SpeedPoint(float(f"{math.exp(log_speed):.6g}"), STEP_LOG_SD, precision)


def _check_within(own: CustomGpu, measured_ms: float, slow: StepTime, fast: StepTime) -> None:
    fast_ms, slow_ms = _latency_ms(fast), _latency_ms(slow)
    if fast_ms < measured_ms < slow_ms:
        return
    if fast.limited_by_host and measured_ms <= fast_ms:
        raise InputError(
            f"{own.name}: CPU launch overhead alone takes {format_ms(fast_ms)}, so {format_ms(measured_ms)} "
            "doesn't show the GPU's speed. Measure a larger batch."
        )
    raise InputError(
        f"{own.name}: {format_ms(measured_ms)} per step is not plausible: its specs allow "
        f"{format_significant(fast_ms)} to {format_ms(slow_ms)}. Check that it is in milliseconds, for this "
        "network at this size."
    )


def _where(is_slower: Callable[[float], bool], low: float, high: float) -> float:
    """Bisect for the point at which a function turns from true to false."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_slower(middle) else (low, middle)
    return high


def _latency_ms(step: StepTime) -> float:
    return positive_number(f"The latency of {step.instance}", step.latency_ms)
