"""Splits a training step into what its GPU computes, what is copied from the host, and what the host needs to launch.

step = max(GPU time + copy x factor + start, launch floor). Only the GPU time changes with the GPU. In a profile
`_Send` and `_Recv` hold the copy of the batch; gaps between kernels (`Device_IDLE`) grow with the number of launches,
which is what the floor is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from profet_core.networks.stacks import StepInputs
from profet_core.operations.classes import COPY_CLASS, IDLE_CLASS, OperationClasses

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

    def of(self, rows: np.ndarray) -> StepParts:
        """Those of some profiles."""
        return StepParts(self.busy_ms[rows], self.copy_ms[rows], self.idle_ms[rows], self.compute_share[rows])


@dataclass(frozen=True, slots=True)
class InstanceStep:
    """How the parts of a step are read from profiles of one instance, fitted on it.

    Attributes
    ----------
    gpu : its full name.
    idle_ms : gaps in the profile of a network with hardly any launches. idle_per_copy : milliseconds of gaps for each
        millisecond of copy, in which the GPU waits for the batch: these grow with it, launches don't.
    floor_per_idle : milliseconds of launch floor for each millisecond of gaps above both.
    gpu_per_busy : GPU time of an unprofiled step over the profile's busy time, median.
    own_log_half_width : 90 % of steps lie within this of what their own profile gives, in the logarithm.
    benchmark_gpu_ms : GPU time of the benchmark (ResNet-50, 224 pixels, batch 32).
    benchmark_compute_share : compute share of its profile.
    """

    gpu: str
    idle_ms: float
    idle_per_copy: float
    floor_per_idle: float
    gpu_per_busy: float
    own_log_half_width: float
    benchmark_gpu_ms: float
    benchmark_compute_share: float

    def launch_gaps_ms(self, parts: StepParts) -> np.ndarray:
        """Gaps between kernels that launches leave, (profiles,)."""
        return np.maximum(parts.idle_ms - self.idle_ms - self.idle_per_copy * parts.copy_ms, 0)


@dataclass(frozen=True, slots=True)
class StepLaw:
    """What a step takes beside its GPU time, and how that is read from a profile.

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

    def floor_ms(self, parts: StepParts, anchor: str, latency_ms: np.ndarray | None) -> np.ndarray:
        """What launches alone take on a host like the anchor's, (profiles,).

        The least of three: the latency itself if it is known (it can't be shorter than its launches), the profiled step
        over the slowdown (likewise), and what the gaps give where the GPU hides its launches.
        """
        step = self.instances[anchor]
        bounds = [
            (parts.busy_ms + parts.idle_ms) / self.profiling_slowdown,
            self.start_ms + step.floor_per_idle * step.launch_gaps_ms(parts),
        ]
        return np.minimum.reduce(bounds if latency_ms is None else [*bounds, latency_ms])

    def own_latency_ms(self, parts: StepParts, anchor: str) -> np.ndarray:
        """The anchor's latency by its own profile, (profiles,), where nobody measured it."""
        gpu = self.instances[anchor].gpu_per_busy * parts.busy_ms
        return np.maximum(gpu + self.fixed_ms(parts), self.floor_ms(parts, anchor, None))


def gpu_time_ms(latency_ms: np.ndarray, fixed_ms: np.ndarray) -> np.ndarray:
    """GPU time in a latency, which copy and start leave, (profiles,)."""
    return np.maximum(latency_ms - fixed_ms, LEAST_GPU_SHARE * latency_ms)


def step_parts(classes: OperationClasses, inputs: StepInputs) -> StepParts:
    """Parts of steps whose class times are repaired as the default method repairs them."""
    columns = {name: inputs.classes_ms[:, column] for column, name in enumerate(classes.device)}
    busy_ms = (
        _total([value for name, value in columns.items() if name not in (COPY_CLASS, IDLE_CLASS)])
        + inputs.unknown_ms[:, 0]
    )
    return StepParts(
        busy_ms=busy_ms,
        copy_ms=columns[COPY_CLASS],
        idle_ms=columns[IDLE_CLASS],
        compute_share=_total([columns[name] for name in COMPUTE_CLASSES]) / np.maximum(busy_ms, 1e-9),
    )


def _total(columns: Sequence[np.ndarray]) -> np.ndarray:
    return reduce(np.add, columns)
