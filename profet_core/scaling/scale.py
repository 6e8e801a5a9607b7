"""Interpolate between latencies at the smallest and largest batch or pixel size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.errors import InputError
from profet_core.scaling.axes import axis_range, check_ends, check_size
from profet_core.scaling.context import ScaleContext
from profet_core.scaling.fitted import FittedScalers
from profet_core.scaling.learned import LearnedScaler

#: "profet": the documented polynomial; "default": the more accurate of the two.
SCALE_METHODS = ("default", "profet")


@dataclass(frozen=True, slots=True)
class ScaledLatency:
    """Latency of one instance at one size between the endpoints."""

    instance: str | None
    axis: str
    at: int
    latency_ms: float


def scale(
    models: FittedScalers,
    instance: str | None,
    axis: str,
    min_ms: float,
    max_ms: float,
    at: int,
    *,
    method: str = "default",
    context: ScaleContext | None = None,
) -> ScaledLatency:
    """Latency at size `at`, from the latencies at the axis' smallest and largest size.

    Parameters
    ----------
    instance : a measured one, or None for an unprofiled one: the default curve is then the part shared by all measured
        instances. The documented polynomial needs an instance.
    axis : "batch" (16 to 256 images per step) or "pixels" (32 to 256 per side).
    min_ms, max_ms : step latency at the smallest and at the largest size, milliseconds.
    at : whole number within the axis range.
    method : "profet" for PROFET's documented polynomial; "default" for the more accurate curve (`LearnedScaler`), or
        the polynomial if the models have none.
    context : optional inputs, used by "default". Along "pixels" the curve is for networks whose classes grow with the
        pixels, as in the measurements, unless `fixed_classes` is set.

    Raises
    ------
    InputError : unknown instance, axis or method, size out of range, or the largest latency is not above the smallest.
    """
    latency_ms = scale_curve(models, instance, axis, min_ms, max_ms, [at], method=method, context=context)[0]
    return ScaledLatency(instance, axis, int(at), float(latency_ms))


def scale_curve(
    models: FittedScalers,
    instance: str | None,
    axis: str,
    min_ms: float,
    max_ms: float,
    sizes: Sequence[int] | None = None,
    *,
    method: str = "default",
    context: ScaleContext | None = None,
) -> np.ndarray:
    """Latencies at many sizes (every whole size of the axis if None), milliseconds, shape (sizes,).

    Source of "profet": min-max scaled latency of PROFET's scaler, arXiv:2208.05130. Takes and raises what `scale` does.
    """
    smallest, largest = axis_range(axis)
    if method not in SCALE_METHODS:
        raise InputError(f"Unknown method {method!r}: use {' or '.join(SCALE_METHODS)}.")
    learned = models.learned_scaler(axis) if method == "default" else None
    scaler = learned or models.scaler(instance, axis)
    if learned and instance is not None:
        models.scaler(instance, axis)  # InputError for an unknown instance
    low, high = check_ends(axis, min_ms, max_ms)
    wanted = range(smallest, largest + 1) if sizes is None else [check_size(axis, size) for size in sizes]
    if isinstance(scaler, LearnedScaler):
        every_size = scaler.scaled(instance or "", low, high, *_known(context or ScaleContext()))
        scaled = every_size[np.fromiter(wanted, int) - smallest]
    else:
        scaled = scaler.scaled(np.fromiter(wanted, float))
    # Adding a share of the span is non-decreasing in the share, unlike a weighted mean, which may round down. Both
    # endpoints are returned exactly as given.
    return np.where(scaled == 1, high, np.minimum(low + scaled * (high - low), high))


def _known(context: ScaleContext) -> tuple[float, float]:
    """Size on the other axis and share of the head as the learned scaler takes them, NaN if unknown.

    A head with a fixed number of classes scales like the body, as if there were none.
    """
    share = 0.0 if context.fixed_classes else context.head_share
    return _or_nan(context.other_size), _or_nan(share)


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else float(value)
