"""Transfers steps between GPUs, kind of work by kind of work, and adds what their hosts take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

import numpy as np
from msgspec import Struct

from profet_core.latency import SMOOTH_MAX_POWER, Estimate, FloatArray, combined_sd, log_sd_of, smooth_max
from profet_core.transfer.step_model import (
    BANDWIDTH,
    GROUP_KINDS,
    KINDS,
    SCATTERED,
    InstanceStep,
    StepModel,
    StepParts,
    gpu_time_ms,
    host_share,
    launches_ms,
    shares,
)
from profet_core.transfer.targets import Host, HostColumns, Target


class AnchorSteps(Struct, frozen=True):
    """Steps recorded on one anchor.

    Attributes
    ----------
    latency_ms : measured there, milliseconds, (profiles,); None: unknown.
    floor_ms : launch time on the reference host, (profiles,), if known from another source than the parts.
    """

    anchor: str
    parts: StepParts
    latency_ms: np.ndarray | None
    floor_ms: np.ndarray | None = None


class KnownSteps(Struct, frozen=True):
    """Known facts about steps recorded on one anchor.

    Attributes
    ----------
    latencies : profiled instance -> latencies there, the anchor's last.
    floor_ms : launch time on the reference host, (profiles,).
    work_ms : profiled instance -> the GPU's work there, (profiles,).
    """

    step_model: StepModel
    anchor: str
    parts: StepParts
    latencies: Mapping[str, Estimate]
    floor_ms: np.ndarray
    work_ms: Mapping[str, np.ndarray]


def known_steps(step_model: StepModel, recorded: AnchorSteps, others: Mapping[str, Estimate]) -> KnownSteps:
    """Known facts about `recorded`, which was recorded on one of `step_model.instances`.

    Parameters
    ----------
    others : other profiled instances -> latencies there, predicted or measured.
    """
    anchor, parts = recorded.anchor, recorded.parts
    if recorded.latency_ms is not None:
        here = Estimate(latency_ms=recorded.latency_ms, log_sd=np.zeros(recorded.latency_ms.shape))
    else:
        inferred_ms = step_model.inferred_anchor_ms(parts, anchor)
        log_sd = log_sd_of(step_model.instances[anchor].inferred_log_half_width)
        here = Estimate(latency_ms=inferred_ms, log_sd=np.full(inferred_ms.shape, log_sd))
    latencies = {**others, anchor: here}
    # Launches belong to the network: its step takes at least this long on any host.
    least_ms = np.minimum.reduce([row.latency_ms / step_model.hosts[name].launch for name, row in latencies.items()])
    floor_ms = recorded.floor_ms
    if floor_ms is None:
        floor_ms = step_model.floor_ms(parts, anchor, recorded.latency_ms)
    floor_ms = np.minimum(floor_ms, least_ms)
    work_ms = {
        name: step_model.work_ms(row.latency_ms, step_model.fixed_ms(parts, anchor, step_model.hosts[name]), floor_ms)
        for name, row in latencies.items()
    }
    # A launch-bound latency on the anchor gives no information on the work, but the profile does.
    profiled_ms = step_model.instances[anchor].gpu_per_busy * parts.busy_ms
    work_ms[anchor] = np.minimum(work_ms[anchor], profiled_ms)
    return KnownSteps(step_model, anchor, parts, latencies, floor_ms, work_ms)


MIN_FREE_SHARE = 0.02
#: Part of the work that is left when the host has launched everything, and how sharp a step turns from launches to
#: work: a larger batch of a launch-bound step takes a little longer, and a large step hides its launches.
LEFT_AFTER_LAUNCHES, RUN_AHEAD_POWER = 0.3, 8.0


class KernelWeights(Struct, frozen=True):
    """Weights of known latencies in the geometric mean of their transfer estimates.

    weight = free share ** free_share_power * exp(-nearness * |log speed|): the share of the step that launches don't
    hide, times an exponential kernel of the distance between the two GPUs' speeds. These are not inverse variances: the
    setting was chosen by leave-one-GPU-out on any three GPUs (`python -m profet_lab.transfer.weights`).
    """

    free_share_power: float = 1.0
    nearness: float = 3.0


WEIGHTS = KernelWeights()


class StepsThere(Struct, frozen=True):
    """Steps on other GPUs; arrays of shape (targets, profiles).

    Attributes
    ----------
    free_ms : latency without the host's limit.
    launch_ms : what launches and copies bound it to.
    log_sd : of the latency, in the logarithm.
    weights : (targets, instances, profiles), power of each known latency.
    """

    free_ms: FloatArray
    launch_ms: FloatArray
    log_sd: FloatArray
    weights: FloatArray

    @property
    def latency_ms(self) -> FloatArray:
        """Smooth maximum of both."""
        found: FloatArray = smooth_max(self.free_ms, self.launch_ms)
        return found


class TargetSpeeds(Struct, frozen=True):
    """Targets over profiled instances, the same for every step of one anchor.

    Attributes
    ----------
    names : profiled instances.
    hosts : of the targets.
    log_sd, runs_ahead : as in `Target`, (targets, 1).
    tails : kernel tails over the reference's, (targets, 1).
    distances : between speeds, (targets, instances).
    times : time ratios by kind of work, (targets, instances, kinds, 1).
    kinds_there : time by kind on an instance over that on the anchor, (instances, 1, kinds).
    """

    names: tuple[str, ...]
    hosts: HostColumns
    log_sd: FloatArray
    runs_ahead: np.ndarray
    tails: FloatArray
    distances: FloatArray
    times: FloatArray
    kinds_there: FloatArray


def target_speeds(
    step_model: StepModel, anchor: str, names: tuple[str, ...], reference: str, targets: Sequence[Target]
) -> TargetSpeeds:
    """Speeds over `names` for steps recorded on `anchor`; `reference` is the instance that rates are relative to."""
    here = step_model.instances[anchor]
    known = np.array([log_speed_ratio(step_model, name, reference) for name in names])
    return TargetSpeeds(
        names=names,
        hosts=HostColumns.of(one.host for one in targets),
        log_sd=_column(one.log_sd for one in targets),
        runs_ahead=np.array([one.runs_ahead for one in targets], bool)[:, None],
        tails=_column(map(tails_factor, targets)),
        distances=np.abs(_column(one.nearness for one in targets) + known),
        times=np.exp(-log_factors(step_model, names, reference, targets))[..., None],
        kinds_there=np.array([kinds_there(here, step_model.instances[name]) for name in names])[:, None, :],
    )


def transfer_steps(
    known: KnownSteps, reference: str, targets: Sequence[Target], weights: KernelWeights = WEIGHTS
) -> StepsThere:
    """Transfer steps to each target, whose rates are relative to the profiled instance `reference`."""
    speeds = target_speeds(known.step_model, known.anchor, tuple(known.latencies), reference, targets)
    return transfer_at(known, speeds, weights)


def transfer_at(known: KnownSteps, speeds: TargetSpeeds, weights: KernelWeights = WEIGHTS) -> StepsThere:
    """Transfer steps to targets.

    Work is the weighted geometric mean of transferred work; tails, copy, start and launches are added.

    Parameters
    ----------
    speeds : of the targets over `known.latencies`.
    """
    step_model, names, hosts = known.step_model, speeds.names, speeds.hosts
    latency_ms = np.array([known.latencies[name].latency_ms for name in names])
    launches_ms = np.array([known.floor_ms * step_model.hosts[name].launch for name in names])
    # The share of a step that launches don't hide.
    free = np.clip(1 - launches_ms / latency_ms, MIN_FREE_SHARE, 1)
    weight = free**weights.free_share_power * np.exp(-weights.nearness * speeds.distances)[:, :, None]
    weight /= weight.sum(axis=1, keepdims=True)
    times = (shares(known.parts.kinds_ms * speeds.kinds_there) @ speeds.times)[..., 0]
    log_work = np.log(np.array([known.work_ms[name] for name in names]))
    work_ms = np.exp((weight * (log_work + np.log(times))).sum(axis=1))

    gpu_ms = work_ms + step_model.tail_share * known.floor_ms * speeds.tails
    start_ms, copy_ms = step_model.start_ms * hosts.launch, step_model.copy_ms(known.parts, known.anchor, hosts)
    fixed_ms = np.where(speeds.runs_ahead, 0.0, start_ms + copy_ms)
    launch_ms = known.floor_ms * hosts.launch
    # If the host runs ahead of the GPU, copies run beside the work. What is beyond the work alone is the host's bound,
    # so that other sizes and precisions, which scale the work, keep it.
    host_ms = launch_ms + copy_ms
    left_ms = host_ms + LEFT_AFTER_LAUNCHES * gpu_ms
    ahead_ms = (gpu_ms**RUN_AHEAD_POWER + left_ms**RUN_AHEAD_POWER) ** (1 / RUN_AHEAD_POWER)
    alone_ms = gpu_ms * (1 + LEFT_AFTER_LAUNCHES**RUN_AHEAD_POWER) ** (1 / RUN_AHEAD_POWER)
    bound_ms = np.minimum(_without(ahead_ms, alone_ms), (1 + LEFT_AFTER_LAUNCHES) * host_ms)
    free_ms = np.where(speeds.runs_ahead, _without(ahead_ms, bound_ms), gpu_ms + fixed_ms)
    launch_ms = np.where(speeds.runs_ahead, bound_ms, launch_ms)

    known_sd = (weight * np.array([known.latencies[name].log_sd for name in names])).sum(axis=1)
    assumed = hosts.log_sd * host_share(free_ms, fixed_ms, launch_ms)
    return StepsThere(
        free_ms=free_ms,
        launch_ms=launch_ms,
        log_sd=combined_sd(speeds.log_sd, known_sd, assumed),
        weights=weight,
    )


def _without(joined_ms: FloatArray, part_ms: FloatArray) -> FloatArray:
    """The other part of a smooth maximum."""
    beyond = np.maximum(joined_ms**SMOOTH_MAX_POWER - part_ms**SMOOTH_MAX_POWER, 0.0)
    found: FloatArray = beyond ** (1 / SMOOTH_MAX_POWER)
    return found


def _column(values: Iterable[float]) -> FloatArray:
    """One value per target, (targets, 1), to broadcast over profiles."""
    return np.array(list(values), float)[:, None]


def log_speed_ratio(step_model: StepModel, name: str, reference: str) -> float:
    """Log speedup of the reference over an instance on the benchmark's work."""
    return math.log(step_model.instances[name].benchmark_work_ms / step_model.instances[reference].benchmark_work_ms)


def log_factors(step_model: StepModel, names: Sequence[str], reference: str, targets: Sequence[Target]) -> FloatArray:
    """Log speedups of targets over instances by kind of work, (targets, instances, kinds)."""
    rates = np.array([target_log_rates(step_model, reference, one) for one in targets]).reshape(-1, len(KINDS))
    known = np.array([step_model.log_rates(name, reference) for name in names])
    # What few kernels tell of a depthwise gradient's speed on an instance is left aside.
    known[:, KINDS.index(SCATTERED)] = [
        -step_model.scattered_power * log_speed_ratio(step_model, name, reference) for name in names
    ]
    found: FloatArray = rates[:, None, :] - known[None]
    return found


def tails_factor(target: Target) -> float:
    """Kernel tails over the reference GPU's: kernels of a faster generation end sooner."""
    return min(math.exp(-target.nearness), 1.0) if target.runs_ahead else 1.0


def target_log_rates(step_model: StepModel, reference: str, target: Target) -> FloatArray:
    """Log rates of a target by kind over the reference's, (kinds,)."""
    rates = np.full(len(KINDS), target.compute)
    rates[KINDS.index(BANDWIDTH)] = target.bandwidth
    base = step_model.instances[reference].benchmark_kinds_ms
    compute = (base[0] + base[1]) / sum(base)
    speed = -math.log(compute * math.exp(-target.compute) + (1 - compute) * math.exp(-target.bandwidth))
    rates[KINDS.index(SCATTERED)] = step_model.scattered_power * speed
    return rates


def kinds_there(anchor: InstanceStep, other: InstanceStep) -> FloatArray:
    """Time by kind of work on another profiled instance over that on the anchor, up to a factor, (kinds,)."""
    times: FloatArray = np.exp(np.array(anchor.kind_log_speeds) - np.array(other.kind_log_speeds))
    return times


def other_host_log_sd(
    step_model: StepModel, recorded: AnchorSteps, latency_ms: FloatArray, host: Host | HostColumns
) -> FloatArray:
    """Log standard deviation of a latency known on the same GPU in another host, or in many, (..., profiles).

    The host's speed of launches and copies is not measured.
    """
    fixed_ms = step_model.fixed_ms(recorded.parts, recorded.anchor, host)
    floor_ms = recorded.floor_ms
    if floor_ms is None:
        floor_ms = step_model.floor_ms(recorded.parts, recorded.anchor, recorded.latency_ms)
    free_ms = gpu_time_ms(latency_ms, fixed_ms) + fixed_ms
    return host.log_sd * host_share(free_ms, fixed_ms, host.launch * floor_ms)


# Work is mapped kind by kind with the same speeds as in the forward direction. Copy, start, tails and launches are
# separated as on profiled instances, with typical values of those.

#: Gaps of an unprofiled GPU indicate little about its host: if the step is GPU-bound, launches take at most this many
#: times the reference GPU's work. Chosen with one of the four instances held out as anchor.
MAX_LAUNCHES = 0.7
#: A step's work is at most this many times the work in its profile; the rest of a latency is not the GPU's. Chosen the
#: same way (1 to 1.1 do about as well).
MAX_WORK = 1.05
#: If launches bound none of the steps that an instance's model was fitted on, its gaps indicate nothing.
MIN_FLOOR_PER_IDLE = 0.1


class UnprofiledSteps(Struct, frozen=True):
    """Steps recorded on an unprofiled GPU.

    Attributes
    ----------
    target : the GPU and its host, as `transfer_steps` takes them.
    latency_ms : measured there, milliseconds, (profiles,); None: unknown.
    """

    target: Target
    parts: StepParts
    latency_ms: FloatArray | None


class AsRecorded(Struct, frozen=True):
    """The same steps, mapped to a profiled instance.

    Attributes
    ----------
    latency_ms : there, by the analytical model alone, (profiles,).
    parts : predicted content of a profile there.
    kind_factors : time there over the recorded time, by kind, (kinds,).
    """

    latency_ms: FloatArray
    parts: StepParts
    kind_factors: FloatArray


class MappedSteps(Struct, frozen=True):
    """Steps of another GPU, mapped to every profiled instance.

    Attributes
    ----------
    anchor_ms : latency on the GPU itself, measured or inferred from the profile, (profiles,).
    floor_ms : launches on the reference host, (profiles,).
    by_instance : profiled instance -> the steps there.
    doubt_log_sd : uncertainty from the host, and a latency that the profile does not explain,
        standard deviation in the logarithm, (profiles,).
    """

    anchor_ms: FloatArray
    floor_ms: FloatArray
    doubt_log_sd: FloatArray
    by_instance: Mapping[str, AsRecorded]


def map_to_profiled(step_model: StepModel, reference: str, steps: UnprofiledSteps) -> MappedSteps:
    """Map the steps to each instance of the analytical model.

    Parameters
    ----------
    reference : the profiled instance that the target's speed is relative to.
    """
    target, parts = steps.target, steps.parts
    fixed_ms = np.zeros(parts.copy_ms.shape)
    if not target.runs_ahead:
        fixed_ms = step_model.copy_factor * parts.copy_ms + step_model.start_ms * target.host.launch
    gpu_ms = _typical(step_model, lambda row: row.gpu_per_busy) * parts.busy_ms
    launch_ms = _launches_ms(step_model, steps)
    anchor_ms = smooth_max(gpu_ms + fixed_ms, launch_ms) if steps.latency_ms is None else steps.latency_ms
    launch_ms = np.minimum(launch_ms, anchor_ms)
    # From four fifths of the work to six of gaps, the step changes from GPU-bound to launch-bound.
    launched = np.clip((parts.idle_ms / np.maximum(parts.busy_ms, 1e-9) - 0.8) / 0.4, 0, 1)
    gpu_ms = np.minimum(gpu_time_ms(anchor_ms, fixed_ms), MAX_WORK * gpu_ms)
    most_ms = MAX_LAUNCHES * _work_there_ms(step_model, reference, steps, reference, gpu_ms)
    gpu_bound_ms = np.where(np.isfinite(parts.host_ms), launch_ms, np.minimum(launch_ms, most_ms + step_model.start_ms))
    floor_ms = (launched * launch_ms + (1 - launched) * gpu_bound_ms) / target.host.launch
    work_ms = gpu_time_ms(gpu_ms, step_model.tail_share * floor_ms * tails_factor(target))
    there = {name: _as_recorded(step_model, reference, steps, name, work_ms, floor_ms) for name in step_model.instances}
    explained_ms = smooth_max(gpu_ms + fixed_ms, launch_ms)
    assumed = target.host.log_sd * host_share(gpu_ms + fixed_ms, fixed_ms, launch_ms)
    unexplained = np.log(np.maximum(anchor_ms / explained_ms, 1))
    return MappedSteps(anchor_ms, floor_ms, combined_sd(assumed, log_sd_of(unexplained)), there)


def _launches_ms(step_model: StepModel, steps: UnprofiledSteps) -> FloatArray:
    """Launch time on the steps' own host, (profiles,), with typical values of the profiled instances."""
    parts = steps.parts
    gaps_ms = parts.idle_ms - _typical(step_model, lambda row: row.idle_ms)
    gaps_ms = np.maximum(gaps_ms - _typical(step_model, lambda row: row.idle_per_copy) * parts.copy_ms, 0)
    slowdown = _typical(step_model, lambda row: row.profiling_slowdown)
    start_ms = step_model.start_ms * steps.target.host.launch
    return launches_ms(parts, slowdown, start_ms + _typical(step_model, lambda row: row.floor_per_idle) * gaps_ms)


def _typical(step_model: StepModel, of: Callable[[InstanceStep], float]) -> float:
    return median([of(row) for row in step_model.instances.values()])


def _as_recorded(
    step_model: StepModel, reference: str, steps: UnprofiledSteps, name: str, work_ms: FloatArray, floor_ms: FloatArray
) -> AsRecorded:
    row, host, parts = step_model.instances[name], step_model.hosts[name], steps.parts
    factors = _factors(step_model, name, reference, steps.target)
    fixed_ms = (
        step_model.copy_factor * parts.copy_ms * host.copy / steps.target.host.copy + step_model.start_ms * host.launch
    )
    free_ms = _work_there_ms(step_model, reference, steps, name, work_ms) + step_model.tail_share * floor_ms + fixed_ms
    kinds_ms = parts.kinds_ms * factors
    copy_ms = parts.copy_ms * host.copy / steps.target.host.copy
    # Gaps that launches leave there: between kernels, or the whole of a launch-bound step.
    launch_ms = floor_ms * host.launch
    gaps_ms = launch_ms / max(row.floor_per_idle, MIN_FLOOR_PER_IDLE) + row.idle_ms + row.idle_per_copy * copy_ms
    idle_ms = np.maximum(gaps_ms, row.profiling_slowdown * launch_ms - kinds_ms.sum(axis=1))
    return AsRecorded(
        latency_ms=smooth_max(free_ms, launch_ms),
        parts=StepParts(kinds_ms, copy_ms, idle_ms, parts.host_ms, parts.groups_ms * factors[GROUP_KINDS]),
        kind_factors=factors,
    )


def _work_there_ms(
    step_model: StepModel, reference: str, steps: UnprofiledSteps, name: str, work_ms: FloatArray
) -> FloatArray:
    """Work on a profiled instance, (profiles,), by the mix of kinds."""
    there_ms: FloatArray = work_ms * (
        shares(steps.parts.kinds_ms) @ _factors(step_model, name, reference, steps.target)
    )
    return there_ms


def _factors(step_model: StepModel, name: str, reference: str, target: Target) -> FloatArray:
    """Ratio of time on a profiled instance to time on the target, (kinds,)."""
    factors: FloatArray = np.exp(log_factors(step_model, [name], reference, [target])[0, 0])
    return factors
