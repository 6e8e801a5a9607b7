"""Inputs and outputs of the default method's three members.

Every function takes the array module as `xp`: numpy for serving, `keras.ops` for training, so that both share one
definition. Shapes: leading axes are free; the last axis holds classes, inputs or a single value.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

#: An array of numpy or Keras: no type covers both.
Array: TypeAlias = Any

#: Launch-bound minimum of a step, milliseconds.
LAUNCH_BOUND_MS = 3.0
#: Minimum device total as a divisor, milliseconds.
LEAST_TOTAL_MS = 1e-3

HOMOGENEOUS, CLASS_RATIO, TREES = "homogeneous", "class ratio", "boosted trees"
NETWORKS = (HOMOGENEOUS, CLASS_RATIO)
MEMBERS = (*NETWORKS, TREES)


def device_total(xp: ModuleType, classes_ms: Array, device_classes: int) -> Array:
    """Sum of the device classes, (..., 1)."""
    return xp.maximum(xp.sum(classes_ms[..., :device_classes], axis=-1, keepdims=True), LEAST_TOTAL_MS)


def step_scale(xp: ModuleType, classes_ms: Array, device_classes: int, latency_ms: Array | None) -> Array:
    """The anchor's latency, or the device total if it is unknown (None), (..., 1)."""
    return device_total(xp, classes_ms, device_classes) if latency_ms is None else latency_ms


def network_inputs(
    xp: ModuleType, member: str, classes_ms: Array, device_classes: int, latency_ms: Array | None, sizes: Array | None
) -> Array:
    """Inputs of a member.

    Parameters
    ----------
    classes_ms : (..., classes). latency_ms : (..., 1) or None. sizes : (..., 2) as `size_inputs` gives them, or None.
    """
    total = device_total(xp, classes_ms, device_classes)
    if member == HOMOGENEOUS:
        scale = step_scale(xp, classes_ms, device_classes, latency_ms)
        launch = LAUNCH_BOUND_MS**2 / xp.maximum(scale, LAUNCH_BOUND_MS)
        parts = [classes_ms / scale, total / scale, xp.ones_like(scale), launch]
    elif member == TREES:
        parts = [classes_ms / total, xp.log(total)]
        if latency_ms is not None:
            parts += [xp.log(latency_ms), xp.log(total / latency_ms)]
    else:
        parts = [xp.log1p(classes_ms), xp.sqrt(classes_ms / total), xp.log(total)]
        if latency_ms is not None:
            parts += [xp.log(latency_ms), xp.log(total / latency_ms)]
    if sizes is not None:
        parts.append(sizes)
    return xp.concatenate(parts, axis=-1)


def size_inputs(xp: ModuleType, batch_size: Array, pixels: Array) -> Array:
    """Batch and pixel size as inputs, (..., 1) each -> (..., 2)."""
    return xp.concatenate([xp.log(batch_size / 64), xp.log(pixels / 128)], axis=-1)


def outputs_of(member: str, device_classes: int) -> int:
    """Number of outputs of a member."""
    return device_classes + 2 if member == CLASS_RATIO else 1


def network_latency(
    xp: ModuleType,
    member: str,
    raw: Array,
    classes_ms: Array,
    device_classes: int,
    latency_ms: Array | None,
    constants: Array,
) -> Array:
    """Latency on the target, milliseconds (..., 1), from a member's outputs, (..., outputs).

    Parameters
    ----------
    constants : of the pair, unused by the homogeneous network: the median log ratio of target to anchor time of each
        device class, (..., device classes).
    """
    if member == HOMOGENEOUS:
        return raw * step_scale(xp, classes_ms, device_classes, latency_ms)
    if member == TREES:
        # The trees correct the step in which all classes have their median ratios.
        typical = xp.sum(classes_ms[..., :device_classes] * xp.exp(constants), axis=-1, keepdims=True)
        scale = step_scale(xp, classes_ms, device_classes, latency_ms)
        return xp.exp(raw) * typical * scale / device_total(xp, classes_ms, device_classes)
    classes = class_latencies(xp, raw, classes_ms, device_classes, constants)
    # Device rows, including idle, add up to the step, up to a bounded factor and a non-negative overhead.
    step = xp.sum(classes, axis=-1, keepdims=True) * xp.exp(xp.tanh(raw[..., device_classes : device_classes + 1]))
    overhead = raw[..., device_classes + 1 :] - 1
    return step + xp.logaddexp(overhead, xp.zeros_like(overhead))


def class_latencies(xp: ModuleType, raw: Array, classes_ms: Array, device_classes: int, log_ratios: Array) -> Array:
    """Device class times on the target, (..., device classes): the anchor's times a ratio bounded to a factor of e."""
    return classes_ms[..., :device_classes] * xp.exp(log_ratios + xp.tanh(raw[..., :device_classes]))
