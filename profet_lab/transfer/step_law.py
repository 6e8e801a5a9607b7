"""Fits the law of a step, `profet_core.transfer.step.StepLaw`: GPU time, copy, start and launch floor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from sklearn.linear_model import QuantileRegressor

from profet_core.transfer.step import InstanceStep, StepLaw, gpu_time_ms
from profet_lab.transfer.steps import Steps, gpu_of

#: A step is bound by its GPU if the profile's busy time fills at least this share of its latency, and by launches if
#: it fills at most the second.
GPU_BOUND, LAUNCH_BOUND = 0.5, 0.8
#: Where the search for the slope of floors over gaps starts, in the logarithm, and how long it goes on.
_LOG_SLOPES = (-0.5, 0.5, 1.5)
_ITERATIONS = 600


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
    floors_ms = network_floors(steps, instances, rows)
    found = {name: _instance_step(steps, law, name, rows, floors_ms) for name in instances}
    law = replace(law, instances=found)
    halves = {name: _own_half_width(steps, law, name, rows) for name in instances}
    return replace(law, instances={name: replace(row, own_log_half_width=halves[name]) for name, row in found.items()})


def network_floors(steps: Steps, instances: Sequence[str], rows: np.ndarray) -> np.ndarray:
    """The launch floor of each row's network, milliseconds: NaN where the GPU bounds even its shortest step.

    A floor is the network's: the shortest of its latencies on any of the instances, if launches bound that step, which
    then has more gaps than work.
    """
    floors_ms = np.full(len(rows), np.nan)
    for name in np.unique(steps.architectures[rows]):
        own = np.flatnonzero(rows & (steps.architectures == name))
        shortest = [_shortest_if_launched(steps, instance, own) for instance in instances]
        floors_ms[own] = np.nanmin([np.inf, *shortest])
    return np.where(np.isinf(floors_ms), np.nan, floors_ms)


def _shortest_if_launched(steps: Steps, instance: str, own: np.ndarray) -> float:
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    row = own[np.argmin(latency_ms[own])]
    return float(latency_ms[row]) if parts.idle_ms[row] > parts.busy_ms[row] else np.nan


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


def _instance_step(steps: Steps, law: StepLaw, instance: str, rows: np.ndarray, floors_ms: np.ndarray) -> InstanceStep:
    """All of an instance but how far its own profiles miss its latency."""
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    gpu_ms = gpu_time_ms(latency_ms, law.fixed_ms(parts))
    bound = rows & (parts.busy_ms > LAUNCH_BOUND * latency_ms)
    benchmark = np.flatnonzero(steps.benchmark)[0]
    row = InstanceStep(
        gpu=gpu_of(instance).name,
        idle_ms=float(parts.idle_ms[rows].min()),
        idle_per_copy=0.0,
        floor_per_idle=0.0,
        gpu_per_busy=float(np.median((gpu_ms / parts.busy_ms)[bound])),
        own_log_half_width=0.0,
        benchmark_gpu_ms=float(gpu_ms[benchmark]),
        benchmark_compute_share=float(parts.compute_share[benchmark]),
    )
    judged = rows & np.isfinite(floors_ms)
    return _with_floor(steps, law, row, instance, judged, floors_ms) if judged.any() else row


def _with_floor(
    steps: Steps, law: StepLaw, row: InstanceStep, instance: str, judged: np.ndarray, floors_ms: np.ndarray
) -> InstanceStep:
    """The coefficients of gaps whose floor, as it is served, is nearest to the networks': least absolute log error.

    Every network weighs the same.
    """
    weights = 1 / pd.Series(judged).groupby(steps.architectures).transform("sum").to_numpy(float)[judged]
    parts = steps.with_latency[instance].of(judged)
    latency_ms, true_ms = steps.latency_ms[instance][judged], floors_ms[judged]

    def of(values: np.ndarray) -> InstanceStep:
        idle_ms, idle_per_copy, log_slope = (float(value) for value in values)
        return replace(
            row,
            idle_ms=max(idle_ms, 0.0),
            idle_per_copy=max(idle_per_copy, 0.0),
            floor_per_idle=math.exp(log_slope),
        )

    def error(values: np.ndarray) -> float:
        found_ms = replace(law, instances={instance: of(values)}).floor_ms(parts, instance, latency_ms)
        return float((weights * np.abs(np.log(found_ms / true_ms))).sum())

    tried = [
        minimize(error, [row.idle_ms, 0.1, start], method="Nelder-Mead", options={"maxiter": _ITERATIONS})
        for start in _LOG_SLOPES
    ]
    return of(min(tried, key=lambda one: one.fun).x)


def _own_half_width(steps: Steps, law: StepLaw, instance: str, rows: np.ndarray) -> float:
    own = law.own_latency_ms(steps.without_latency[instance], instance)
    return float(np.quantile(np.abs(np.log(own / steps.latency_ms[instance]))[rows], 0.9))
