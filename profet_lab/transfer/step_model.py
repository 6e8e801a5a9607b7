"""Parts of every measured step, and the analytical model fitted to them (`StepModel` of `profet_core.transfer`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace
from scipy.optimize import minimize
from sklearn.linear_model import QuantileRegressor

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import Gpu, load_gpus
from profet_core.transfer.step_model import KINDS, InstanceStep, StepModel, StepParts, gpu_time_ms, step_parts
from profet_core.transfer.targets import host_named
from profet_lab.measurements.tables import WORKLOAD, ClassBank, MeasuredRows, Measurements, class_bank


def root_mean_square(errors: np.ndarray | Sequence[float]) -> float:
    """Spread of errors about 0."""
    return float(np.sqrt(np.mean(np.square(errors))))


#: The network whose latency on a GPU gives its speed: its name, pixel and batch size. The largest batch that all four
#: ran, since published speeds are of large ones.
BENCHMARK = ("ResNet50", 224, 64)


class InstanceSteps(MeasuredRows, frozen=True):
    """Steps of the same workloads on every instance; all arrays (rows,).

    with_latency, without_latency : instance -> parts, imputed with and without the latency.
    """

    with_latency: Mapping[str, StepParts]
    without_latency: Mapping[str, StepParts]

    @property
    def benchmark(self) -> np.ndarray:
        """Rows of the benchmark network at its one size."""
        model, pixels, batch_size = BENCHMARK
        table = self.workloads
        return ((table.model == model) & (table.pixels == pixels) & (table.batch_size == batch_size)).to_numpy()

    def parts(self, anchor: str, latency_known: bool) -> StepParts:
        """Parts of every step on the anchor, with or without its latency."""
        return (self.with_latency if latency_known else self.without_latency)[anchor]


def all_steps(bank: ClassBank, workloads: pd.DataFrame) -> InstanceSteps:
    """Every run of the measurements."""
    latency_ms = dict(bank.latency_ms)
    return InstanceSteps(
        workloads=workloads,
        latency_ms=latency_ms,
        with_latency={name: step_parts(bank.classes, bank.inputs[name, True]) for name in latency_ms},
        without_latency={name: step_parts(bank.classes, bank.inputs[name, False]) for name in latency_ms},
    )


def median_steps(steps: InstanceSteps) -> InstanceSteps:
    """One row a workload: the median over its repeats."""
    groups = steps.workloads.groupby(WORKLOAD)
    index = groups.ngroup().to_numpy()

    def median(values: np.ndarray) -> np.ndarray:
        return pd.DataFrame(values).groupby(index).median().to_numpy().reshape(-1, *values.shape[1:])

    def parts(given: StepParts) -> StepParts:
        return StepParts(**{name: median(getattr(given, name)) for name in StepParts.__struct_fields__})

    return InstanceSteps(
        workloads=groups.size().index.to_frame(index=False),
        latency_ms={name: median(values) for name, values in steps.latency_ms.items()},
        with_latency={name: parts(values) for name, values in steps.with_latency.items()},
        without_latency={name: parts(values) for name, values in steps.without_latency.items()},
    )


def measured_medians(measurements: Measurements) -> InstanceSteps:
    """One row a workload of all measurements."""
    return median_steps(all_steps(class_bank(measurements), measurements.workloads))


def gpu_of(instance: str) -> Gpu:
    """The specs of an instance's GPU."""
    return load_gpus().find(load_shipped()[instance].gpu)


#: Processors of the hosts that PROFET measured, as EC2 documents them.
HOST_OF = {
    "g3s.xlarge": "broadwell",
    "g4dn.xlarge": "cascade-lake",
    "p2.xlarge": "broadwell",
    "p3.2xlarge": "broadwell",
}


#: A step is bound by its GPU if the profile's busy time fills at least this share of its latency, and by launches if
#: it fills at most the second.
GPU_BOUND, LAUNCH_BOUND = 0.5, 0.8
#: Minimum milliseconds of a kind's work, and minimum steps, to fit its speed.
_MIN_MS, _MIN_STEPS = 0.3, 5
#: Where the search for the slope of floors over gaps starts, in the logarithm, and how long it goes on.
_LOG_SLOPES = (-0.5, 0.5, 1.5)
_ITERATIONS = 1500
_MAX_LOG_SLOPE = 10.0


class StepModelSetting(Struct, frozen=True):
    """Settings chosen by leave-one-GPU-out among any three (`python -m profet_lab.transfer.weights`)."""

    tail_share: float = 0.1
    scattered_power: float = 0.3


SETTING = StepModelSetting()
#: Weight of a GPU's bandwidth, relative to the benchmark's speed, in the rate of bandwidth-bound work, where the
#: benchmark and the specs are all that is known. Chosen the same way.
BANDWIDTH_TILT = 0.5


def fit_step_model(
    steps: InstanceSteps, instances: Sequence[str], rows: np.ndarray, setting: StepModelSetting = SETTING
) -> StepModel:
    """Fit the analytical model to `rows` (boolean mask) of medians on `instances`; of others nothing is read.

    Copy and start are medians over the instances, since hosts share them; the rest is fitted on each instance alone.
    The benchmark's work comes from its own row, which need not be among `rows`.
    """
    shared = np.median([_copy_and_start(steps, name, rows) for name in instances], axis=0)
    copy_factor, start_ms = (float(value) for value in shared)
    step_model = StepModel(
        start_ms=start_ms,
        copy_factor=copy_factor,
        tail_share=setting.tail_share,
        scattered_power=setting.scattered_power,
        instances={},
    )
    floors_ms, speeds = network_floors(steps, instances, rows), _kind_log_speeds(steps, instances, rows)
    slowdown = _profiling_slowdown(steps, instances, rows)
    found = {
        name: replace(_instance_step(steps, step_model, name, rows, floors_ms, slowdown), kind_log_speeds=speeds[name])
        for name in instances
    }
    step_model = replace(step_model, instances=found)
    benchmark = np.flatnonzero(steps.benchmark)
    step_model = replace(
        step_model,
        instances={
            name: replace(row, benchmark_work_ms=benchmark_work_ms(step_model, steps, name, benchmark))
            for name, row in found.items()
        },
    )
    halves = {name: _inferred_log_half_width(steps, step_model, name, rows) for name in instances}
    found = {name: replace(row, inferred_log_half_width=halves[name]) for name, row in step_model.instances.items()}
    return replace(step_model, instances=found)


def benchmark_work_ms(step_model: StepModel, steps: InstanceSteps, instance: str, benchmark: np.ndarray) -> float:
    """The benchmark's GPU work on an instance of the analytical model."""
    parts, latency_ms = steps.with_latency[instance].of(benchmark), steps.latency_ms[instance][benchmark]
    fixed_ms = step_model.fixed_ms(parts, instance, step_model.hosts[instance])
    return float(step_model.work_ms(latency_ms, fixed_ms, benchmark_floor_ms(step_model, steps))[0])


def benchmark_floor_ms(step_model: StepModel, steps: InstanceSteps) -> np.ndarray:
    """What launches of the benchmark take on the reference host, (1,): the median over the instances' profiles."""
    rows = np.flatnonzero(steps.benchmark)
    floors = [
        step_model.floor_ms(steps.with_latency[name].of(rows), name, steps.latency_ms[name][rows])
        for name in step_model.instances
    ]
    return np.median(floors, axis=0)


def network_floors(steps: InstanceSteps, instances: Sequence[str], rows: np.ndarray) -> np.ndarray:
    """Return the launch floor of each row's network on the reference host, milliseconds.

    NaN where the GPU bounds even its shortest step. A floor is the network's: the shortest of its latencies on any of
    the instances, if launches bound that step, which then has more gaps than work.
    """
    floors_ms = np.full(len(rows), np.nan)
    for name in np.unique(steps.architectures[rows]):
        inferred_ms = np.flatnonzero(rows & (steps.architectures == name))
        shortest = [_shortest_if_launched(steps, instance, inferred_ms) for instance in instances]
        floors_ms[inferred_ms] = np.nanmin([np.inf, *shortest])
    return np.where(np.isinf(floors_ms), np.nan, floors_ms)


def _shortest_if_launched(steps: InstanceSteps, instance: str, inferred_ms: np.ndarray) -> float:
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    row = inferred_ms[np.argmin(latency_ms[inferred_ms])]
    launched = parts.idle_ms[row] > parts.busy_ms[row]
    return float(latency_ms[row]) / host_named(HOST_OF[instance]).launch if launched else np.nan


def _kind_log_speeds(
    steps: InstanceSteps, instances: Sequence[str], rows: np.ndarray
) -> Mapping[str, tuple[float, ...]]:
    """By instance and kind, over the geometric mean of the instances: medians over steps with enough of the kind."""
    logs = np.log(np.maximum([steps.with_latency[name].kinds_ms[rows] for name in instances], 1e-9))
    enough = np.exp(logs).min(axis=0) > _MIN_MS
    over_mean = logs.mean(axis=0) - logs
    typical = np.median(over_mean[:, :, 0], axis=1)
    columns = [
        np.median(over_mean[:, enough[:, kind], kind], axis=1) if enough[:, kind].sum() >= _MIN_STEPS else typical
        for kind in range(len(KINDS))
    ]
    return {name: tuple(float(column[place]) for column in columns) for place, name in enumerate(instances)}


def _copy_and_start(steps: InstanceSteps, instance: str, rows: np.ndarray) -> tuple[float, float]:
    """Return the factor of the copy and the start on the reference host, ms.

    They have the least absolute relative error where the GPU bounds the step.
    """
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    chosen = rows & (parts.busy_ms > GPU_BOUND * latency_ms)
    columns = np.column_stack([parts.busy_ms, parts.copy_ms, np.ones_like(latency_ms)])
    inputs = (columns / latency_ms[:, None])[chosen]
    fit = QuantileRegressor(quantile=0.5, alpha=0, fit_intercept=False).fit(inputs, np.ones(len(inputs)))
    return max(fit.coef_[1], 0.0), max(fit.coef_[2], 0.0) / host_named(HOST_OF[instance]).launch


def _profiling_slowdown(steps: InstanceSteps, instances: Sequence[str], rows: np.ndarray) -> float:
    """Profiled over unprofiled step where launches bound it: the median over all instances."""
    slow = []
    for name in instances:
        parts, latency_ms = steps.with_latency[name], steps.latency_ms[name]
        chosen = rows & (parts.idle_ms > parts.busy_ms)
        slow.append(((parts.busy_ms + parts.idle_ms) / latency_ms)[chosen])
    found = np.concatenate(slow)
    # Without launch-bound steps, 1 makes the profiled step itself the bound.
    return float(np.median(found)) if len(found) else 1.0


def _instance_step(
    steps: InstanceSteps,
    step_model: StepModel,
    instance: str,
    rows: np.ndarray,
    floors_ms: np.ndarray,
    slowdown: float,
) -> InstanceStep:
    """All of an instance but speeds by kind, the benchmark's work and how far its own profiles miss its latency."""
    parts, latency_ms = steps.with_latency[instance], steps.latency_ms[instance]
    benchmark = np.flatnonzero(steps.benchmark)[0]
    row = InstanceStep(
        gpu=gpu_of(instance).name,
        host=HOST_OF[instance],
        idle_ms=float(parts.idle_ms[rows].min()),
        idle_per_copy=0.0,
        floor_per_idle=0.0,
        profiling_slowdown=slowdown,
        gpu_per_busy=1.0,
        inferred_log_half_width=0.0,
        kind_log_speeds=(),
        benchmark_work_ms=1.0,
        benchmark_kinds_ms=tuple(float(value) for value in parts.kinds_ms[benchmark]),
    )
    alone = replace(step_model, instances={instance: row})
    gpu_ms = gpu_time_ms(latency_ms, alone.fixed_ms(parts, instance, alone.hosts[instance]))
    bound = rows & (parts.busy_ms > LAUNCH_BOUND * latency_ms)
    row = replace(row, gpu_per_busy=float(np.median((gpu_ms / parts.busy_ms)[bound])))
    judged = rows & np.isfinite(floors_ms)
    return _with_floor(steps, step_model, row, instance, judged, floors_ms) if judged.any() else row


def _with_floor(
    steps: InstanceSteps,
    step_model: StepModel,
    row: InstanceStep,
    instance: str,
    judged: np.ndarray,
    floors_ms: np.ndarray,
) -> InstanceStep:
    """The coefficients of gaps whose floor, as it is served, is nearest to the networks': least absolute log error.

    Every network weighs the same. The slowdown stays within a factor of two of what all instances show.
    """
    weights = 1 / pd.Series(judged).groupby(steps.architectures).transform("sum").to_numpy(float)[judged]
    parts = steps.with_latency[instance].of(judged)
    latency_ms, true_ms = steps.latency_ms[instance][judged], floors_ms[judged]

    def of(values: np.ndarray) -> InstanceStep:
        idle_ms, idle_per_copy, log_slope, log_slower = (float(value) for value in values)
        return replace(
            row,
            idle_ms=max(idle_ms, 0.0),
            idle_per_copy=max(idle_per_copy, 0.0),
            floor_per_idle=math.exp(min(log_slope, _MAX_LOG_SLOPE)),
            profiling_slowdown=row.profiling_slowdown * math.exp(min(max(log_slower, -math.log(2)), math.log(2))),
        )

    def error(values: np.ndarray) -> float:
        found_ms = replace(step_model, instances={instance: of(values)}).floor_ms(parts, instance, latency_ms)
        return float((weights * np.abs(np.log(found_ms / true_ms))).sum())

    tried = [
        minimize(error, [row.idle_ms, 0.1, start, 0.0], method="Nelder-Mead", options={"maxiter": _ITERATIONS})
        for start in _LOG_SLOPES
    ]
    return of(min(tried, key=lambda one: one.fun).x)


def _inferred_log_half_width(steps: InstanceSteps, step_model: StepModel, instance: str, rows: np.ndarray) -> float:
    inferred_ms = step_model.inferred_anchor_ms(steps.without_latency[instance], instance)
    return float(np.quantile(np.abs(np.log(inferred_ms / steps.latency_ms[instance]))[rows], 0.9))
