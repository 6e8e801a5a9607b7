"""Splits a training step into what its GPU computes, what is copied from the host, and what the host needs to launch.

step = max(GPU time + copy x factor + start, launch floor). Only the GPU time changes with the GPU. In a profile
`_Send` and `_Recv` hold the copy of the batch; gaps between kernels (`Device_IDLE`) grow with the number of launches,
which is what the floor is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profet_core.networks.stacks import step_inputs
from profet_core.operations.classes import IDLE_CLASS, ClassTimes, OperationClasses, load_operation_classes
from profet_core.profiles.record import Profile

COPY_CLASSES = ("copy",)
#: Classes that a data sheet's arithmetic peak bounds; memory bandwidth bounds the rest.
COMPUTE_CLASSES = ("convolution", "convolution filter gradient", "convolution input gradient", "matrix product")
#: However small a step, the GPU works for at least this share of it.
LEAST_GPU_SHARE = 0.1


@dataclass(frozen=True)
class StepParts:
    """Device time of profiles by what bounds it, milliseconds of one step as recorded; all of shape (profiles,).

    Attributes
    ----------
    compute_share : convolutions and matrix products, as a share of `busy_ms`.
    """

    busy_ms: np.ndarray
    copy_ms: np.ndarray
    idle_ms: np.ndarray
    compute_share: np.ndarray


@dataclass(frozen=True, slots=True)
class InstanceStep:
    """How profiles of one instance tell the parts of its step, fitted on it.

    Attributes
    ----------
    gpu : its full name.
    idle_ms : gaps in the profile of a network with hardly any launches.
    floor_per_idle : milliseconds of launch floor for each millisecond of gaps above that.
    gpu_per_busy : GPU time of an unprofiled step over the profile's busy time, median.
    own_log_half_width : 90 % of steps are told by their own profile within this, in the logarithm.
    benchmark_gpu_ms : GPU time of the benchmark (ResNet-50, 224 pixels, batch 32).
    benchmark_compute_share : compute share of its profile.
    """

    gpu: str
    idle_ms: float
    floor_per_idle: float
    gpu_per_busy: float
    own_log_half_width: float
    benchmark_gpu_ms: float
    benchmark_compute_share: float


@dataclass(frozen=True, slots=True)
class StepLaw:
    """What a step takes beside its GPU time, and how it is told from a profile.

    Attributes
    ----------
    start_ms : once a step, on any host. copy_factor : time of the copy over what the profile shows of it.
    profiling_slowdown : a step bound by launches takes this many times as long while it is profiled.
    instances : profiled instance -> how its profiles are read.
    """

    start_ms: float
    copy_factor: float
    profiling_slowdown: float
    instances: Mapping[str, InstanceStep]

    def fixed_ms(self, parts: StepParts) -> np.ndarray:
        """Copy and start, (profiles,)."""
        return self.copy_factor * parts.copy_ms + self.start_ms

    def gpu_ms(self, latency_ms: np.ndarray, fixed_ms: np.ndarray) -> np.ndarray:
        """GPU time in a latency, (profiles,)."""
        return np.maximum(latency_ms - fixed_ms, LEAST_GPU_SHARE * latency_ms)

    def floor_ms(self, parts: StepParts, anchor: str, latency_ms: np.ndarray | None) -> np.ndarray:
        """What launches alone take on a host like the anchor's, (profiles,).

        The least of three: the latency itself if it is known (it can't be shorter than its launches), the profiled step
        over the slowdown (likewise), and what the gaps tell where the GPU hides its launches.
        """
        step = self.instances[anchor]
        gaps = np.maximum(parts.idle_ms - step.idle_ms, 0)
        bounds = [
            (parts.busy_ms + parts.idle_ms) / self.profiling_slowdown,
            self.start_ms + step.floor_per_idle * gaps,
        ]
        return np.minimum.reduce(bounds if latency_ms is None else [*bounds, latency_ms])

    def own_latency_ms(self, parts: StepParts, anchor: str) -> np.ndarray:
        """The anchor's latency as its own profile tells it, (profiles,), where nobody measured it."""
        gpu = self.instances[anchor].gpu_per_busy * parts.busy_ms
        return np.maximum(gpu + self.fixed_ms(parts), self.floor_ms(parts, anchor, None))


def parts_of_profiles(profiles: Sequence[Profile], latencies_ms: np.ndarray | None) -> StepParts:
    """Parts of any profiles. `latencies_ms`, (profiles,), sharpens the repair of profiles that were cut short."""
    classes = load_operation_classes()
    times, _ = classes.encode(profiles)
    return step_parts(classes, times, latencies_ms)


def step_parts(classes: OperationClasses, times: ClassTimes, latencies_ms: np.ndarray | None) -> StepParts:
    """Parts of class times, repaired as the default method repairs them."""
    device, idle = len(classes.device), classes.names.index(IDLE_CLASS)
    inputs = step_inputs(times, device, idle, latencies_ms, None)
    columns = {name: inputs.classes_ms[:, column] for column, name in enumerate(classes.device)}
    unknown_ms = inputs.unknown_ms[:, 0]
    busy_ms = sum(value for name, value in columns.items() if name not in (*COPY_CLASSES, IDLE_CLASS)) + unknown_ms
    compute_ms = sum(columns[name] for name in COMPUTE_CLASSES)
    return StepParts(
        busy_ms=busy_ms,
        copy_ms=sum(columns[name] for name in COPY_CLASSES),
        idle_ms=columns[IDLE_CLASS],
        compute_share=compute_ms / np.maximum(busy_ms, 1e-9),
    )
