"""Map steps from an unprofiled GPU: the inverse of the analytical model.

Work is mapped kind by kind with the same speeds as in the forward direction. Copy, start, tails and launches are
separated as on profiled instances, with typical values of those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.latency import combined_sd, log_sd_of, smooth_max
from profet_core.transfer.carry import kind_log_speeds, log_speed_ratio
from profet_core.transfer.parts import StepParts, shares
from profet_core.transfer.step import InstanceStep, StepLaw, gpu_time_ms, least_bound_ms
from profet_core.transfer.targets import Target

#: Gaps of an unprofiled GPU indicate little about its host: if the step is GPU-bound, launches take at most this many
#: times the reference GPU's work. Chosen with one of the four instances held out as anchor.
MOST_LAUNCHES = 1.0
#: A step's work is at most this many times the work in its profile; the rest of a latency is not the GPU's. Chosen the
#: same way (1 to 1.25 do about as well).
MOST_WORK = 1.1
#: If launches bound none of the steps that an instance's model was fitted on, its gaps indicate nothing.
LEAST_FLOOR_PER_IDLE = 0.1


@dataclass(frozen=True)
class ForeignSteps:
    """Steps recorded on an unprofiled GPU.

    Attributes
    ----------
    target : the GPU and its host, as `carry` takes them.
    latency_ms : measured there, milliseconds, (profiles,); None: unknown.
    """

    target: Target
    parts: StepParts
    latency_ms: FloatArray | None


@dataclass(frozen=True)
class AsRecorded:
    """The same steps, mapped to a profiled instance.

    Attributes
    ----------
    latency_ms : there, by the analytical model alone, (profiles,). parts : predicted content of a profile there.
    kind_factors : time there over the recorded time, by kind, (kinds,).
    """

    latency_ms: FloatArray
    parts: StepParts
    kind_factors: FloatArray


@dataclass(frozen=True)
class CarriedBack:
    """Steps of another GPU, mapped to every profiled instance.

    Attributes
    ----------
    own_ms : latency on the GPU itself, measured or inferred from the profile, (profiles,). floor_ms : launches on the
        reference host, (profiles,). by_instance : profiled instance -> the steps there.
    doubt_log_sd : uncertainty from the host, the mix of kinds, and a latency that the profile does not explain,
        standard deviation in the logarithm, (profiles,).
    """

    own_ms: FloatArray
    floor_ms: FloatArray
    doubt_log_sd: FloatArray
    by_instance: Mapping[str, AsRecorded]


def carry_back(law: StepLaw, reference: str, steps: ForeignSteps) -> CarriedBack:
    """Map the steps to each instance of the analytical model.

    Parameters
    ----------
    reference : the profiled instance that the target's speed is relative to.
    """
    target, parts = steps.target, steps.parts
    fixed_ms = law.copy_factor * parts.copy_ms + law.start_ms * target.host.launch
    gpu_ms = _typical(law, lambda row: row.gpu_per_busy) * parts.busy_ms
    launch_ms = _launches_ms(law, steps)
    own_ms = smooth_max(gpu_ms + fixed_ms, launch_ms) if steps.latency_ms is None else steps.latency_ms
    launch_ms = np.minimum(launch_ms, own_ms)
    # From four fifths of the work to six of gaps, the step changes from GPU-bound to launch-bound.
    launched = np.clip((parts.idle_ms / np.maximum(parts.busy_ms, 1e-9) - 0.8) / 0.4, 0, 1)
    gpu_ms = np.minimum(gpu_time_ms(own_ms, fixed_ms), MOST_WORK * gpu_ms)
    most_ms = MOST_LAUNCHES * _work_there_ms(law, reference, steps, reference, gpu_ms)
    gpu_bound_ms = np.minimum(launch_ms, most_ms + law.start_ms)
    floor_ms = (launched * launch_ms + (1 - launched) * gpu_bound_ms) / target.host.launch
    work_ms = gpu_time_ms(gpu_ms, law.tails_ms(floor_ms, target.multiprocessors))
    there = {name: _as_recorded(law, reference, steps, name, work_ms, floor_ms) for name in law.instances}
    explained_ms = smooth_max(gpu_ms + fixed_ms, launch_ms)
    host_share = 1 - gpu_ms / (gpu_ms + np.maximum(fixed_ms, launch_ms))
    away = np.abs(parts.compute_share - law.instances[reference].benchmark_compute_share)
    assumed = np.hypot(target.host.log_sd * host_share, target.mix_log_sd * away * (1 - host_share))
    unexplained = np.log(np.maximum(own_ms / explained_ms, 1))
    return CarriedBack(own_ms, floor_ms, combined_sd(assumed, log_sd_of(unexplained)), there)


def _launches_ms(law: StepLaw, steps: ForeignSteps) -> FloatArray:
    """Launch time on the steps' own host, (profiles,), with typical values of the profiled instances."""
    parts = steps.parts
    gaps_ms = parts.idle_ms - _typical(law, lambda row: row.idle_ms)
    gaps_ms = np.maximum(gaps_ms - _typical(law, lambda row: row.idle_per_copy) * parts.copy_ms, 0)
    slowdown = _typical(law, lambda row: row.profiling_slowdown)
    start_ms = law.start_ms * steps.target.host.launch
    return least_bound_ms(
        [
            (parts.busy_ms + parts.idle_ms) / slowdown,
            start_ms + _typical(law, lambda row: row.floor_per_idle) * gaps_ms,
            parts.host_ms / slowdown,
        ]
    )


def _typical(law: StepLaw, of: Callable[[InstanceStep], float]) -> float:
    return float(np.median([of(row) for row in law.instances.values()]))


def _as_recorded(
    law: StepLaw, reference: str, steps: ForeignSteps, name: str, work_ms: FloatArray, floor_ms: FloatArray
) -> AsRecorded:
    row, host, parts = law.instances[name], law.host(name), steps.parts
    factors = _factors(law, name, reference, steps.target)
    fixed_ms = law.copy_factor * parts.copy_ms * host.copy / steps.target.host.copy + law.start_ms * host.launch
    tails_ms = law.tails_ms(floor_ms, row.multiprocessors)
    free_ms = _work_there_ms(law, reference, steps, name, work_ms) + tails_ms + fixed_ms
    kinds_ms = parts.kinds_ms * factors
    copy_ms = parts.copy_ms * host.copy / steps.target.host.copy
    # Gaps that launches leave there: between kernels, or the whole of a launch-bound step.
    launch_ms = floor_ms * host.launch
    gaps_ms = launch_ms / max(row.floor_per_idle, LEAST_FLOOR_PER_IDLE) + row.idle_ms + row.idle_per_copy * copy_ms
    idle_ms = np.maximum(gaps_ms, row.profiling_slowdown * launch_ms - kinds_ms.sum(axis=1))
    return AsRecorded(
        latency_ms=smooth_max(free_ms, launch_ms),
        parts=StepParts(kinds_ms, copy_ms, idle_ms, parts.host_ms),
        kind_factors=factors,
    )


def _work_there_ms(law: StepLaw, reference: str, steps: ForeignSteps, name: str, work_ms: FloatArray) -> FloatArray:
    """Work on a profiled instance, (profiles,): the benchmark's by its speed, others by their mix of kinds."""
    factors = _factors(law, name, reference, steps.target)
    benchmark = shares(np.array(law.instances[name].benchmark_kinds_ms) / factors)
    speed = np.exp(steps.target.log_speed + log_speed_ratio(law, name, reference))
    there_ms: FloatArray = work_ms * (shares(steps.parts.kinds_ms) @ factors) / (benchmark @ factors) * speed
    return there_ms


def _factors(law: StepLaw, name: str, reference: str, target: Target) -> FloatArray:
    """Ratio of time on a profiled instance to time on the target, (kinds,)."""
    factors: FloatArray = np.exp(kind_log_speeds(law, [name], reference, [target])[0, 0])
    return factors
