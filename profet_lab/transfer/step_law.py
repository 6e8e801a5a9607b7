"""Fits the law of a step, `profet_core.transfer.step.StepLaw`: GPU time, copy, start and launch floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.linear_model import QuantileRegressor

from profet_core.transfer.step import InstanceStep, StepLaw, gpu_time_ms
from profet_lab.transfer.steps import Steps, gpu_of

#: A step is bound by its GPU if the profile's busy time fills at least this share of its latency, and by launches if
#: it fills at most the second.
GPU_BOUND, LAUNCH_BOUND = 0.5, 0.8


def fit_step_law(steps: Steps, instances: Sequence[str], rows: np.ndarray) -> StepLaw:
    """Fit the law to `rows` (boolean mask) of medians on `instances`; of others nothing is read.

    Copy and start are medians over the instances, since hosts share them; the rest is fitted on each instance alone.
    The benchmark's GPU time comes from its own row, which need not be among `rows`.
    """
    shared = np.median([_copy_and_start(steps, name, rows) for name in instances], axis=0)
    copy_factor, start_ms = (float(value) for value in shared)
    slow = np.concatenate([_profiling_slowdowns(steps, name, rows) for name in instances])
    # Where launches bound no step, nothing tells: 1 makes the profiled step itself the bound.
    law = StepLaw(start_ms, copy_factor, float(np.median(slow)) if len(slow) else 1.0, {})
    alone = {name: _instance_step(steps, law, name, rows) for name in instances}
    alone = {
        name: replace(row, floor_per_idle=_slope_alone(steps, law, row, name, rows)) for name, row in alone.items()
    }
    law_alone = replace(law, instances=alone)
    # Launches are the network's, not the GPU's: of the floors that the instances' profiles show of one workload the
    # least holds, since each is an upper bound. (On a K80 gaps are mostly something else.)
    floor_ms = np.min(
        [law_alone.floor_ms(steps.with_latency[name], name, steps.latency_ms[name]) for name in instances], axis=0
    )
    agreed = {
        name: replace(row, floor_per_idle=_slope_agreed(steps, law, row, name, rows, floor_ms))
        for name, row in alone.items()
    }
    law = replace(law, instances=agreed)
    halves = {name: _own_half_width(steps, law, name, rows) for name in instances}
    return replace(law, instances={name: replace(row, own_log_half_width=halves[name]) for name, row in agreed.items()})


def _copy_and_start(steps: Steps, instance: str, rows: np.ndarray) -> tuple[float, float]:
    """Factor of the copy and the start, ms: least absolute relative error where the GPU bounds the step."""
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    chosen = rows & (parts.busy_ms > GPU_BOUND * latency_ms)
    columns = np.column_stack([parts.busy_ms, parts.copy_ms, np.ones_like(latency_ms)])
    inputs = (columns / latency_ms[:, None])[chosen]
    fit = QuantileRegressor(quantile=0.5, alpha=0, fit_intercept=False).fit(inputs, np.ones(len(inputs)))
    return max(fit.coef_[1], 0.0), max(fit.coef_[2], 0.0)


def _profiling_slowdowns(steps: Steps, instance: str, rows: np.ndarray) -> np.ndarray:
    """Profiled over unprofiled step where launches bound it."""
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    chosen = rows & (parts.idle_ms > parts.busy_ms)
    return ((parts.busy_ms + parts.idle_ms) / latency_ms)[chosen]


def _instance_step(steps: Steps, law: StepLaw, instance: str, rows: np.ndarray) -> InstanceStep:
    """All of an instance but what depends on its launch floor."""
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    gpu_ms = gpu_time_ms(latency_ms, law.fixed_ms(parts))
    bound = rows & (parts.busy_ms > LAUNCH_BOUND * latency_ms)
    benchmark = np.flatnonzero(steps.benchmark)[0]
    return InstanceStep(
        gpu=gpu_of(instance).name,
        idle_ms=float(parts.idle_ms[rows].min()),
        floor_per_idle=0.0,
        gpu_per_busy=float(np.median((gpu_ms / parts.busy_ms)[bound])),
        own_log_half_width=0.0,
        benchmark_gpu_ms=float(gpu_ms[benchmark]),
        benchmark_compute_share=float(parts.compute_share[benchmark]),
    )


def _own_half_width(steps: Steps, law: StepLaw, instance: str, rows: np.ndarray) -> float:
    own = law.own_latency_ms(steps.without_latency[instance], instance)
    return float(np.quantile(np.abs(np.log(own / steps.latency_ms[instance]))[rows], 0.9))


def _slope_alone(steps: Steps, law: StepLaw, row: InstanceStep, instance: str, rows: np.ndarray) -> float:
    """Slope of the launch floor over the gaps, from networks whose smallest step shows its floor.

    A network's floor is its shortest latency, if the GPU is not what bounds that step; its gaps are the fewest of any
    of its profiles, where the GPU hides the launches.
    """
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    floors, gaps = [], []
    for name in np.unique(steps.architectures[rows]):
        own = np.flatnonzero(rows & (steps.architectures == name))
        shortest = own[np.argmin(latency_ms[own])]
        if parts.busy_ms[shortest] < LAUNCH_BOUND * latency_ms[shortest]:
            floors.append(latency_ms[shortest])
            gaps.append(parts.idle_ms[own].min() - row.idle_ms)
    return _slope(np.array(floors), np.array(gaps), law.start_ms)


def _slope_agreed(
    steps: Steps, law: StepLaw, row: InstanceStep, instance: str, rows: np.ndarray, floor_ms: np.ndarray
) -> float:
    """The slope that brings the floors which this instance's gaps tell nearest to those agreed on."""
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    chosen = rows & (parts.busy_ms > GPU_BOUND * latency_ms)
    return _slope(floor_ms[chosen], parts.idle_ms[chosen] - row.idle_ms, law.start_ms)


def _slope(floor_ms: np.ndarray, gaps_ms: np.ndarray, start_ms: float) -> float:
    """Least absolute relative error of start + slope x gaps, slope at least 0."""
    above, gaps = (floor_ms - start_ms) / floor_ms, gaps_ms / floor_ms
    slopes = (above / np.maximum(gaps, 1e-9))[gaps > 0]
    if not len(slopes):
        return 0.0
    loss = np.abs(above[:, None] - gaps[:, None] * slopes).sum(axis=0)
    return float(max(slopes[np.argmin(loss)], 0.0))
