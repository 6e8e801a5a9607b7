"""Parts of a training step other than GPU work: copy, start, kernel tails, and launches by the host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from profet_core.ensemble.classes import COPY_CLASS, IDLE_CLASS, OperationClasses
from profet_core.ensemble.members import StepInputs
from profet_core.files import JsonObject, finite_number
from profet_core.latency import SMOOTH_MAX_POWER, FloatArray
from profet_core.transfer.targets import Host, HostColumns, host_named

CONVOLUTION, PRODUCT, SCATTERED, BANDWIDTH = "convolution", "matrix product", "depthwise gradient", "bandwidth"
#: Kinds of GPU work with equal speedups between GPUs. The filter gradient of a depthwise convolution is its own kind:
#: its kernels don't fill any GPU, so a T4 takes 1.2 times V100's time for it and 3 times for everything else.
KINDS = (CONVOLUTION, PRODUCT, SCATTERED, BANDWIDTH)
_KIND_OF_CLASS = {
    "convolution": CONVOLUTION,
    "convolution filter gradient": CONVOLUTION,
    "convolution input gradient": CONVOLUTION,
    "matrix product": PRODUCT,
    "depthwise filter gradient": SCATTERED,
}

#: Groups of classes whose times are read; others are no work.
GROUPS = (
    ("convolution",),
    ("convolution filter gradient",),
    ("convolution input gradient",),
    ("matrix product",),
    ("depthwise", "depthwise filter gradient", "depthwise input gradient"),
    ("batch norm", "batch norm gradient"),
    ("pooling", "pooling gradient"),
    ("activation", "activation gradient", "bias gradient"),
    ("addition", "elementwise", "rest"),
    ("weight update",),
    ("data movement",),
)


class StepParts(Struct, frozen=True):
    """Device time of profiles by bottleneck, milliseconds of one step as recorded.

    Attributes
    ----------
    kinds_ms : GPU work by kind, (profiles, kinds) in the order of `KINDS`.
    copy_ms, idle_ms : (profiles,).
    host_ms : CPU time of the step's operations, (profiles,); infinity if the profile doesn't indicate it.
    groups_ms : GPU work by `GROUPS`, (profiles, groups).
    """

    kinds_ms: FloatArray
    copy_ms: FloatArray
    idle_ms: FloatArray
    host_ms: FloatArray
    groups_ms: FloatArray

    @property
    def busy_ms(self) -> FloatArray:
        """All GPU work, (profiles,)."""
        total: FloatArray = self.kinds_ms.sum(axis=1)
        return total

    def of(self, rows: np.ndarray) -> StepParts:
        """A subset of profiles."""
        return StepParts(*(values[rows] for values in astuple(self)))


def step_parts(classes: OperationClasses, inputs: StepInputs, host_ms: FloatArray | None = None) -> StepParts:
    """Parts of steps from imputed class times of the default method.

    Operations without a class count as bandwidth-bound, like most operations.

    Parameters
    ----------
    host_ms : as in `StepParts`; None if no profile indicates it.
    """
    device = tuple(classes.device)
    kinds_ms = inputs.classes_ms[:, : len(device)] @ _kind_sums(device)
    kinds_ms[:, KINDS.index(BANDWIDTH)] += inputs.unknown_ms[:, 0]
    return StepParts(
        kinds_ms=kinds_ms,
        copy_ms=inputs.classes_ms[:, device.index(COPY_CLASS)],
        idle_ms=inputs.classes_ms[:, device.index(IDLE_CLASS)],
        host_ms=np.full(len(kinds_ms), np.inf) if host_ms is None else host_ms,
        groups_ms=inputs.classes_ms[:, : len(device)] @ _group_sums(device),
    )


def kind_of_class(name: str) -> str:
    """Kind of a class of operations: bandwidth-bound unless listed."""
    return _KIND_OF_CLASS.get(name, BANDWIDTH)


#: Of `GROUPS`, the place in `KINDS`.
GROUP_KINDS = [KINDS.index(kind_of_class(group[0])) for group in GROUPS]


def shares(kinds_ms: Sequence[float] | FloatArray) -> FloatArray:
    """Times by kind as shares of their sum, along the last axis."""
    values: FloatArray = np.asarray(kinds_ms, float)
    total: FloatArray = values.sum(axis=-1, keepdims=True)
    return values / np.maximum(total, 1e-9)


@cache
def _kind_sums(device: tuple[str, ...]) -> FloatArray:
    """Indicator of GPU class in kind of work, 0 or 1, (classes, kinds)."""
    sums = np.zeros((len(device), len(KINDS)))
    for row, name in enumerate(device):
        if name not in (COPY_CLASS, IDLE_CLASS):
            sums[row, KINDS.index(kind_of_class(name))] = 1.0
    return sums


@cache
def _group_sums(device: tuple[str, ...]) -> FloatArray:
    """Indicator of GPU class in group, 0 or 1, (classes, groups)."""
    return np.array([[float(name in group) for group in GROUPS] for name in device])


# step = max(work + tails + copy + start, launches). Work scales with the GPU, kind by kind (`rates.py`); copy, start
# and launches scale with the host (`targets.py`). Tails are the ends of kernels, when part of the GPU is idle. Their
# number is the number of kernels, which the launch time counts: larger GPUs are harder to fill, but finish each part
# sooner. Gaps between kernels (`Device_IDLE`) grow with the number of launches, which determines the launch time.

#: Minimum share of GPU work in a step.
MIN_GPU_SHARE = 0.1


class InstanceStep(Struct, frozen=True, dict=True):
    """Model that reads the parts of a step from profiles of one instance, fitted on it.

    Attributes
    ----------
    gpu : its full name.
    host : name of the host CPU.
    idle_ms : gaps in the profile of a network with hardly any launches.
    idle_per_copy : gaps per millisecond of copy, in which the GPU waits for the batch: these grow with it, launches
        don't.
    floor_per_idle : launch time in milliseconds per millisecond of gaps above both.
    profiling_slowdown : factor on a launch-bound step while it is profiled.
    gpu_per_busy : GPU time of an unprofiled step over the profile's work, median.
    inferred_log_half_width : 90% of steps are within this of the latency inferred from their profile, in the logarithm.
    kind_log_speeds : by kind, over the geometric mean of all instances fitted together, in the logarithm.
    benchmark_work_ms : work of the benchmark (ResNet-50, 224 pixels, batch 64).
    benchmark_kinds_ms : by kind, in its profile here.
    """

    gpu: str
    host: str
    idle_ms: float
    idle_per_copy: float
    floor_per_idle: float
    profiling_slowdown: float
    gpu_per_busy: float
    inferred_log_half_width: float
    kind_log_speeds: tuple[float, ...]
    benchmark_work_ms: float
    benchmark_kinds_ms: tuple[float, ...]

    @cached_property
    def benchmark_compute_share(self) -> float:
        """Share of convolutions and products in the benchmark's profiled work."""
        return (self.benchmark_kinds_ms[0] + self.benchmark_kinds_ms[1]) / sum(self.benchmark_kinds_ms)


class StepModel(Struct, frozen=True, dict=True):
    """Analytical model of a step beyond its work, with its parameters for reading profiles.

    Attributes
    ----------
    start_ms : per step, on the reference host.
    copy_factor : time of the copy over its time in the profile.
    tail_share : tails as a share of the launch time on the reference host.
    scattered_power : power of the benchmark's speed that gives the speed of a depthwise filter gradient.
    instances : profiled instance -> model for its profiles.
    """

    start_ms: float
    copy_factor: float
    tail_share: float
    scattered_power: float
    instances: Mapping[str, InstanceStep]

    @cached_property
    def hosts(self) -> Mapping[str, Host]:
        """Profiled instance -> its host."""
        return {name: host_named(row.host) for name, row in self.instances.items()}

    def log_rates(self, name: str, reference: str) -> FloatArray:
        """Log rates of an instance by kind over the reference's, (kinds,), which give its benchmark's work."""
        row, base = self.instances[name], self.instances[reference]
        rates = np.subtract(row.kind_log_speeds, base.kind_log_speeds)
        log_speed = math.log(base.benchmark_work_ms / row.benchmark_work_ms)
        found: FloatArray = rates + log_speed - self.benchmark_log_speed(rates, reference)
        return found

    def benchmark_log_speed(self, log_rates: FloatArray, reference: str) -> float:
        """Log speed of the benchmark over the reference's, from rates by kind over the reference's."""
        return -math.log(float(shares(self.instances[reference].benchmark_kinds_ms) @ np.exp(-log_rates)))

    def fixed_ms(self, parts: StepParts, anchor: str, host: Host | HostColumns) -> FloatArray:
        """Copy and start, on a host, of a step recorded on `anchor`, (profiles,); on many: (hosts, profiles)."""
        return self.copy_ms(parts, anchor, host) + self.start_ms * host.launch

    def copy_ms(self, parts: StepParts, anchor: str, host: Host | HostColumns) -> FloatArray:
        """Copy of the batch alone, shaped as `fixed_ms`."""
        found: FloatArray = self.copy_factor * parts.copy_ms * host.copy / self.hosts[anchor].copy
        return found

    def floor_ms(self, parts: StepParts, anchor: str, latency_ms: FloatArray | None) -> FloatArray:
        """Launch time alone on the reference host, (profiles,).

        It is at most the latency itself if known: a step can't be shorter than its launches.
        """
        step, launch = self.instances[anchor], self.hosts[anchor].launch
        # Gaps between kernels that launches leave.
        gaps_ms = np.maximum(parts.idle_ms - step.idle_ms - step.idle_per_copy * parts.copy_ms, 0)
        gaps_ms = self.start_ms * launch + step.floor_per_idle * gaps_ms
        least_ms = launches_ms(parts, step.profiling_slowdown, gaps_ms)
        return (least_ms if latency_ms is None else np.minimum(least_ms, latency_ms)) / launch

    def work_ms(self, latency_ms: FloatArray, fixed_ms: FloatArray, floor_ms: FloatArray) -> FloatArray:
        """GPU work in a latency, without copy, start and tails, (profiles,)."""
        return gpu_time_ms(gpu_time_ms(latency_ms, fixed_ms), self.tail_share * floor_ms)

    def inferred_anchor_ms(self, parts: StepParts, anchor: str) -> FloatArray:
        """The anchor's latency inferred from its own profile, (profiles,), if not measured."""
        host = self.hosts[anchor]
        gpu_ms = self.instances[anchor].gpu_per_busy * parts.busy_ms
        return np.maximum(gpu_ms + self.fixed_ms(parts, anchor, host), self.floor_ms(parts, anchor, None) * host.launch)


def launches_ms(parts: StepParts, slowdown: float, gaps_ms: FloatArray) -> FloatArray:
    """Launch time on the profile's own host, (profiles,), at most the profiled step over the slowdown.

    It is the host's own time over the slowdown where the trace has it: ResNet-50's on V100 gives 42 ms for Broadwell
    and 30 ms for an A100's host, on which others publish 30 ms in FP16 at batch 12. Else it follows from the gaps by
    a smooth minimum, which jumps less between two sizes of one network than a sharper one and errs as much.

    Parameters
    ----------
    gaps_ms : launch time inferred from the gaps where the GPU hides its launches.
    """
    step_ms = (parts.busy_ms + parts.idle_ms) / slowdown
    with np.errstate(divide="ignore"):
        inferred_ms = 1 / (1 / step_ms + 1 / gaps_ms)
    return np.where(np.isfinite(parts.host_ms), np.minimum(parts.host_ms / slowdown, step_ms), inferred_ms)


def host_share(free_ms: FloatArray, fixed_ms: FloatArray, launch_ms: FloatArray) -> FloatArray:
    """Relative change of a step with a relative change of its host's times: the derivative of the smooth maximum.

    Parameters
    ----------
    free_ms : without the host's limit, of which `fixed_ms` are copy and start.
    launch_ms : of all launches.
    """
    free, launch = free_ms**SMOOTH_MAX_POWER, launch_ms**SMOOTH_MAX_POWER
    launched = launch / (free + launch)
    return launched + (1 - launched) * fixed_ms / free_ms


def gpu_time_ms(latency_ms: FloatArray, fixed_ms: FloatArray) -> FloatArray:
    """GPU time in a latency, without copy and start, (profiles,)."""
    return np.maximum(latency_ms - fixed_ms, MIN_GPU_SHARE * latency_ms)


# The work of a step, its number of kernels among it, follows from the times of a profile's classes.

#: Added to shares of groups before their logarithm.
_SHARE_AT_LEAST = 0.01
#: Inputs beyond so many standard deviations of those that were learned from are no more different.
_FARTHEST = 4.0


class WorkReader(Struct, frozen=True):
    """Infers the work of steps that were profiled on one anchor.

    Attributes
    ----------
    mean, scale : of the inputs, (inputs,).
    centers : standardized inputs of typical steps, (centers, inputs).
    width : how far from a center a step is like it.
    typical : kind of work, as `layers.rates` names it -> typical amount per millisecond.
    weights : of a constant, inputs, and nearness to centers, (1 + inputs + centers, kinds + 1); the last output is the
        logarithm of the number of kernels.
    launch_ms : of one kernel on the reference host.
    """

    mean: FloatArray
    scale: FloatArray
    centers: FloatArray
    width: float
    typical: Mapping[str, float]
    weights: FloatArray
    launch_ms: float

    def _outputs(self, groups_ms: FloatArray) -> FloatArray:
        inputs = (work_inputs(groups_ms) - self.mean) / self.scale
        found: FloatArray = regressors(inputs, self.centers, self.width) @ self.weights
        return found

    def kernels(self, groups_ms: FloatArray) -> FloatArray:
        """Number of kernels, (profiles,), from the times of `GROUPS`."""
        found: FloatArray = np.exp(self._outputs(groups_ms)[:, -1])
        return found

    def launches_ms(self, groups_ms: FloatArray) -> FloatArray:
        """Launches of all kernels on the reference host, (profiles,)."""
        return self.launch_ms * self.kernels(groups_ms)

    def amounts(self, groups_ms: FloatArray) -> Mapping[str, FloatArray]:
        """Kind of work -> amount, (profiles,)."""
        over_typical = np.maximum(np.exp(self._outputs(groups_ms)[:, :-1]) - AMOUNT_AT_LEAST, 0.0)
        total_ms = groups_ms.sum(axis=1)
        return {name: over_typical[:, n] * one * total_ms for n, (name, one) in enumerate(self.typical.items())}


#: Added to amounts over typical ones before their logarithm.
AMOUNT_AT_LEAST = 0.1


def work_inputs(groups_ms: FloatArray) -> FloatArray:
    """Inputs of a reader, (profiles, inputs): shares of the groups, and their sum, as logarithms."""
    total = np.maximum(groups_ms.sum(axis=1, keepdims=True), 1e-6)
    return np.column_stack([np.log(groups_ms / total + _SHARE_AT_LEAST), np.log(total)])


def regressors(inputs: FloatArray, centers: FloatArray, width: float) -> FloatArray:
    """Columns that the logarithms of amounts are sums of, (profiles, columns), from standardized inputs."""
    inputs = np.clip(inputs, -_FARTHEST, _FARTHEST)
    apart = (inputs**2).sum(axis=1)[:, None] - 2 * inputs @ centers.T + (centers**2).sum(axis=1)
    return np.column_stack([np.ones(len(inputs)), inputs, np.exp(-apart / (2 * width**2))])


#: Weight of the number of kernels beside idle time in a step that its GPU bounds, and from and to which idle time over
#: busy time it falls to zero: a step that waits for its launches shows them. Chosen by leave-one-GPU-out
#: (`profet validate --gpus`).
KERNELS_SHARE, GPU_BOUND, LAUNCH_BOUND = 0.5, 0.2, 1.0


def floor_of(
    step_model: StepModel, reader: WorkReader, anchor: str, parts: StepParts, latency_ms: FloatArray | None
) -> FloatArray:
    """Launch time on the reference host, (profiles,), by idle time and by the number of kernels.

    In a step that hides its launches idle time is mostly noise: two profiles of one step differ. Where a profile has
    the host's own time, that says all. It is at most the latency on the anchor, if known.
    """
    floor_ms = step_model.floor_ms(parts, anchor, latency_ms)
    idle = parts.idle_ms / np.maximum(parts.busy_ms, 1e-9)
    share = KERNELS_SHARE * np.clip((LAUNCH_BOUND - idle) / (LAUNCH_BOUND - GPU_BOUND), 0, 1)
    share = np.where(np.isfinite(parts.host_ms), 0.0, share)
    found: FloatArray = floor_ms ** (1 - share) * reader.launches_ms(parts.groups_ms) ** share
    return found if latency_ms is None else np.minimum(found, latency_ms / step_model.hosts[anchor].launch)


def readers_of(content: JsonObject) -> Mapping[str, WorkReader]:
    """Readers of a file's content by anchor; raises `ValueError` or similar for invalid content."""
    readers, inputs = {}, len(GROUPS) + 1
    for anchor, row in content.items():
        mean, scale, centers, weights = (np.array(row[name], float) for name in ("mean", "scale", "centers", "weights"))
        typical = {str(name): finite_number(value) for name, value in row["typical"].items()}
        shapes = mean.shape, scale.shape, centers.shape[1:], weights.shape
        if shapes != ((inputs,), (inputs,), (inputs,), (1 + inputs + len(centers), 1 + len(typical))):
            raise ValueError("a reader's arrays don't belong together")
        if not all(np.isfinite(each).all() for each in (mean, centers, weights)) or not (scale > 0).all():
            raise ValueError("a reader's arrays hold numbers")
        width, launch_ms = finite_number(row["width"]), finite_number(row["launch_ms"])
        of_kinds = MappingProxyType(typical)
        readers[str(anchor)] = WorkReader(mean, scale, centers, width, of_kinds, weights, launch_ms)
    return MappingProxyType(readers)
