"""Transfer steps to other GPUs by kind of work; add host time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.latency import combined_sd, smooth_max
from profet_core.transfer.known import KnownSteps
from profet_core.transfer.parts import BANDWIDTH, KINDS, SCATTERED, shares
from profet_core.transfer.step import InstanceStep, StepLaw
from profet_core.transfer.targets import Target

LEAST_FREE_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class KernelWeights:
    """Weights of known latencies in the geometric mean of their transfer estimates.

    weight = free share ** free_share_power * exp(-nearness * |log speed|): the share of the step that launches don't
    hide, times an exponential kernel of the distance between the two GPUs' speeds. These are not inverse variances: the
    setting was chosen by leave-one-GPU-out on any three GPUs (`python -m profet_lab.transfer.weights`).
    """

    free_share_power: float = 1.0
    nearness: float = 3.0


WEIGHTS = KernelWeights()


@dataclass(frozen=True)
class StepsThere:
    """Steps on other GPUs; arrays of shape (targets, profiles).

    Attributes
    ----------
    free_ms : latency without the host's limit. launch_ms : CPU launch overhead of the step.
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


class Targets(tuple[Target, ...]):
    """Targets of many steps; values that `carry` needs are shared by all steps and cached."""

    @cached_property
    def columns(self) -> FloatArray:
        """Columns of host, GPU and speed, (columns, targets, 1), to broadcast over profiles."""
        rows = [(one.host.launch, one.host.log_sd, one.multiprocessors, one.mix_log_sd, one.log_sd) for one in self]
        return np.array(rows, float).reshape(-1, 5).T[..., None]

    def speeds(self, law: StepLaw, names: tuple[str, ...], reference: str) -> tuple[FloatArray, FloatArray]:
        """`instance_log_speeds`, and time ratios by kind of work to instances, (targets, instances, kinds)."""
        key = id(law), names, reference
        if key not in self._speeds:
            speeds = instance_log_speeds(law, names, reference, self)
            # The model is stored with the result, so that no other object reuses its id.
            self._speeds[key] = law, speeds, np.exp(-kind_log_speeds(law, names, reference, self))
        return self._speeds[key][1:]

    @cached_property
    def _speeds(self) -> dict[tuple[int, tuple[str, ...], str], tuple[StepLaw, FloatArray, FloatArray]]:
        return {}


def carry(known: KnownSteps, reference: str, targets: Sequence[Target], weights: KernelWeights = WEIGHTS) -> StepsThere:
    """Transfer steps to each target.

    Work is the weighted geometric mean of transferred work; tails, copy, start and launches are added.

    Parameters
    ----------
    reference : the profiled instance that speeds are relative to; all but `known`'s anchor may lack a latency.
    """
    law, names = known.law, tuple(known.latencies)
    targets = targets if isinstance(targets, Targets) else Targets(targets)
    log_speeds, times = targets.speeds(law, names, reference)
    log_work = np.log(np.array([known.work_ms[name] for name in names]))
    log_carried = log_work + _log_times(known, times, log_speeds)
    weight = _normalised_weights(known, log_speeds, weights)
    work_ms = np.exp((weight * log_carried).sum(axis=1))

    launch, host_sd, multiprocessors, mix_sd, own = targets.columns
    gpu_ms = work_ms + law.tails_ms(known.floor_ms, 1) * multiprocessors
    by_host = {host: law.fixed_ms(known.parts, known.anchor, host) for host in {one.host for one in targets}}
    fixed_ms = np.array([by_host[one.host] for one in targets])
    launch_ms = known.floor_ms * launch

    known_sd = (weight * np.array([known.latencies[name].log_sd for name in names])).sum(axis=1)
    host_share = 1 - work_ms / (gpu_ms + np.maximum(fixed_ms, launch_ms))
    away = np.abs(known.parts.compute_share - law.instances[known.anchor].benchmark_compute_share)
    assumed = np.hypot(host_sd * host_share, mix_sd * away * (1 - host_share))
    return StepsThere(
        free_ms=gpu_ms + fixed_ms,
        launch_ms=launch_ms,
        log_sd=combined_sd(own, known_sd, assumed),
        weights=weight,
    )


def _column(values: Iterable[float]) -> FloatArray:
    """One value per target, (targets, 1), to broadcast over profiles."""
    return np.array(list(values), float)[:, None]


def log_speed_ratio(law: StepLaw, name: str, reference: str) -> float:
    """Log speedup of the reference over an instance on the benchmark's work."""
    return math.log(law.instances[name].benchmark_work_ms / law.instances[reference].benchmark_work_ms)


def instance_log_speeds(law: StepLaw, names: Sequence[str], reference: str, targets: Sequence[Target]) -> FloatArray:
    """Log speedups of targets over instances on the benchmark's work, (targets, instances)."""
    known: FloatArray = np.array([log_speed_ratio(law, name, reference) for name in names])
    return _column(one.log_speed for one in targets) + known


def kind_log_speeds(law: StepLaw, names: Sequence[str], reference: str, targets: Sequence[Target]) -> FloatArray:
    """Log speedups by kind of work, (targets, instances, kinds).

    Convolutions and products share the benchmark's speed; bandwidth-bound work is between that and the bandwidth.
    """
    speeds = instance_log_speeds(law, names, reference, targets)
    found = np.repeat(speeds[:, :, None], len(KINDS), axis=2)
    of = KINDS.index(BANDWIDTH)
    base = law.instances[reference].kind_log_speeds[of]
    away = np.array([base - law.instances[name].kind_log_speeds[of] for name in names])
    bandwidths = _column(one.log_bandwidth for one in targets) + away
    found[:, :, of] += law.bandwidth_tilt * (bandwidths - speeds)
    found[:, :, KINDS.index(SCATTERED)] = law.scattered_power * speeds
    return found


def _log_times(known: KnownSteps, times: FloatArray, log_speeds: FloatArray) -> FloatArray:
    """Log ratio of work on targets to work on instances, (targets, instances, profiles).

    The benchmark's work follows its speed; the mix of kinds only matters where it differs from the benchmark's.
    `times`, `log_speeds`: as `Targets.speeds` gives them.
    """
    law, names, anchor = known.law, list(known.latencies), known.law.instances[known.anchor]
    there = np.array([kinds_there(anchor, law.instances[name], known.parts.kinds_ms) for name in names])
    own_kinds = np.array(anchor.benchmark_kinds_ms)
    benchmark = np.array([kinds_there(anchor, law.instances[name], own_kinds) for name in names])
    times = times[..., None]
    steps = (shares(there) @ times)[..., 0]
    own: FloatArray = shares(benchmark)[:, None, :] @ times
    return np.log(steps / own[..., 0]) - log_speeds[..., None]


def kinds_there(anchor: InstanceStep, other: InstanceStep, kinds_ms: FloatArray) -> FloatArray:
    """Work by kind on another profiled instance, up to a factor, from the anchor's recording, (..., kinds)."""
    times: FloatArray = np.exp(np.array(anchor.kind_log_speeds) - np.array(other.kind_log_speeds))
    return kinds_ms * times


def _normalised_weights(known: KnownSteps, log_speeds: FloatArray, weights: KernelWeights) -> FloatArray:
    """Normalized weights, (targets, instances, profiles); `log_speeds`: (targets, instances)."""
    free = np.array([_free_share(known, name) for name in known.latencies])
    found = free[None] ** weights.free_share_power * np.exp(-weights.nearness * np.abs(log_speeds))[:, :, None]
    total: FloatArray = found.sum(axis=1, keepdims=True)
    return found / total


def _free_share(known: KnownSteps, name: str) -> FloatArray:
    """Share of a step that launches don't hide, (profiles,)."""
    launch_ms = known.floor_ms * known.law.host(name).launch
    free: FloatArray = np.clip(1 - launch_ms / known.latencies[name].latency_ms, LEAST_FREE_SHARE, 1)
    return free
