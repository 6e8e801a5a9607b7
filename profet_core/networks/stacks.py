"""Run one member of the default method on many profiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.networks.members import network_inputs, network_latency
from profet_core.operations.classes import ClassTimes
from profet_core.operations.repair import repair_factor

#: An unknown kernel is transferred at this power of the typical ratio of device times between two instances: between
#: "equal times" (0, launch-bound) and "like all others" (1).
UNKNOWN_POWER = 0.5
#: Minimum share of a step that remains without its unknown operations.
LEAST_KNOWN_SHARE = 0.2


@dataclass(frozen=True)
class StepInputs:
    """Profiles as inputs of the default method's networks.

    Every array has one row per profile.

    Attributes
    ----------
    classes_ms : (profiles, classes), imputed, without unknown operations.
    unknown_ms : (profiles, 1), device time of unknown operations.
    latency_ms : (profiles, 1), the anchor's, without the part of unknown operations; None if unknown.
    sizes : (profiles, 2) as `members.size_inputs` gives them; None if unknown.
    repaired : (profiles,), factor by which truncated profiles were scaled up; 1 for the others.
    doubt : (profiles,), standard deviation of the logarithm of the imputed step; 0 for the others.
    """

    classes_ms: FloatArray
    unknown_ms: FloatArray
    latency_ms: FloatArray | None
    sizes: FloatArray | None
    repaired: FloatArray
    doubt: FloatArray

    def of_rows(self, rows: np.ndarray, sizes: FloatArray | None) -> StepInputs:
        """A subset of profiles, by index, with the given sizes."""
        return StepInputs(
            classes_ms=self.classes_ms[rows],
            unknown_ms=self.unknown_ms[rows],
            latency_ms=None if self.latency_ms is None else self.latency_ms[rows],
            sizes=sizes,
            repaired=self.repaired[rows],
            doubt=self.doubt[rows],
        )


def step_inputs(
    times: ClassTimes,
    device_classes: int,
    idle_column: int,
    latency_ms: FloatArray | None,
    sizes: FloatArray | None,
    unseen: np.ndarray | None = None,
) -> StepInputs:
    """Prepare class times for the networks.

    Parameters
    ----------
    latency_ms : (profiles,) or None.
    unseen : (classes,) boolean, device classes absent from the training profiles; their time counts as unknown.
    """
    device_total = times.times_ms[:, :device_classes].sum(axis=1) + times.unknown_ms
    factor, doubt = repair_factor(
        device_total,
        times.times_ms[:, idle_column],
        times.host_total_ms,
        times.truncated,
        times.severely,
        latency_ms,
    )
    scaled = np.ones_like(times.times_ms)
    scaled[:, :device_classes] = factor[:, None]
    scaled[:, idle_column] = 1.0
    classes, unknown = without_unseen(times.times_ms * scaled, (times.unknown_ms * factor)[:, None], unseen)
    known = None if latency_ms is None else known_part(latency_ms, unknown)
    return StepInputs(classes, unknown, known, sizes, factor, doubt)


def without_unseen(
    classes_ms: FloatArray, unknown_ms: FloatArray, unseen: np.ndarray | None
) -> tuple[FloatArray, FloatArray]:
    """Class times (profiles, classes) and unknown time (profiles, 1), with unseen classes (boolean) as unknown."""
    if unseen is None or not unseen.any():
        return classes_ms, unknown_ms
    return np.where(unseen, 0.0, classes_ms), unknown_ms + classes_ms[:, unseen].sum(axis=1, keepdims=True)


def known_part(latency_ms: FloatArray, unknown_ms: FloatArray) -> FloatArray:
    """Latencies (profiles,) minus the part of unknown operations (profiles, 1), (profiles, 1)."""
    return np.maximum(latency_ms[:, None] - unknown_ms, LEAST_KNOWN_SHARE * latency_ms[:, None])


def member_latency(
    member: str,
    run: Callable[[FloatArray], FloatArray],
    inputs: StepInputs,
    device_classes: int,
    constants: FloatArray,
    typical_log_ratio: FloatArray,
) -> FloatArray:
    """Latency on each target, milliseconds, shape (targets, profiles).

    Parameters
    ----------
    run : the stacked network, (profiles, inputs) -> (targets, profiles, outputs).
    constants : per target, as `members.network_latency` takes them, (targets, 1, ...).
    typical_log_ratio : (targets,), the median over classes of the log ratio of device times.
    """
    seen = network_inputs(np, member, inputs.classes_ms, device_classes, inputs.latency_ms, inputs.sizes)
    raw = run(seen)
    known = network_latency(np, member, raw, inputs.classes_ms, device_classes, inputs.latency_ms, constants)
    ratio: FloatArray = np.exp(UNKNOWN_POWER * np.asarray(typical_log_ratio))[:, None, None]
    latency_ms: FloatArray = known + inputs.unknown_ms * ratio
    return latency_ms[..., 0]
