"""Leave-one-GPU-out: the target's specs and at most its benchmark latency are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from profet_core.catalog.gpus import Gpu
from profet_core.latency import Estimate, quantile
from profet_core.transfer.model import Spread
from profet_core.transfer.rates import log_speed as log_speed_of
from profet_core.transfer.step_model import StepModel, WorkReader, floor_of, gpu_time_ms
from profet_core.transfer.steps import (
    WEIGHTS,
    AnchorSteps,
    KernelWeights,
    KnownSteps,
    UnprofiledSteps,
    known_steps,
    map_to_profiled,
    transfer_steps,
)
from profet_core.transfer.targets import Host, Target, host_named
from profet_lab.transfer.step_model import (
    BANDWIDTH_TILT,
    BENCHMARK,
    HOST_OF,
    InstanceSteps,
    benchmark_floor_ms,
    fit_step_model,
    gpu_of,
    root_mean_square,
)

#: (anchor, instance, anchor's latency known) -> latencies on the instance, (rows,).
KnownLatencies = Callable[[str, str, bool], Estimate]


class TargetGpu(Struct, frozen=True):
    """Known facts of the held-out GPU.

    benchmark_ms : the benchmark's step latency on it; None: the specs alone.
    published : instead of that latency, an instance and how many times faster than its GPU a published benchmark is, in
        the logarithm.
    """

    gpu: Gpu
    host: Host
    benchmark_ms: float | None
    published: tuple[str, float] | None = None


def reference_of(step_model: StepModel) -> str:
    """The fastest of the known instances, the reference of speeds."""
    return min(step_model.instances, key=lambda name: step_model.instances[name].benchmark_work_ms)


def target_of(step_model: StepModel, medians: InstanceSteps, target: TargetGpu, log_sd: float) -> Target:
    """The held-out GPU as the analytical model takes it: rates that give the benchmark's speed."""
    reference = reference_of(step_model)
    known, log_speed = gpu_of(reference), _log_speed(step_model, medians, target, reference)
    log_bandwidth = math.log(target.gpu.bandwidth_gb_per_s / known.bandwidth_gb_per_s)
    bandwidth = log_speed + BANDWIDTH_TILT * (log_bandwidth - log_speed)
    share = step_model.instances[reference].benchmark_compute_share
    # As the measured instances, whose steps wait for the copy of the batch.
    plain = log_speed_of((share, 1 - share), (log_speed, bandwidth)) - log_speed
    return Target(
        host=target.host,
        compute=log_speed - plain,
        bandwidth=bandwidth - plain,
        nearness=log_speed,
        log_sd=log_sd,
        runs_ahead=False,
    )


def _log_speed(step_model: StepModel, medians: InstanceSteps, target: TargetGpu, reference: str) -> float:
    """How many times faster it does the benchmark's work than the reference, in the logarithm."""
    if target.published:
        instance, log_speed = target.published
        rows = step_model.instances
        return log_speed + math.log(rows[reference].benchmark_work_ms / rows[instance].benchmark_work_ms)
    if target.benchmark_ms is None:
        return plain_specs_log_speed(target.gpu, gpu_of(reference))
    row = np.flatnonzero(medians.benchmark)
    fixed = [
        step_model.fixed_ms(medians.with_latency[name].of(row), name, target.host) for name in step_model.instances
    ]
    gpu_ms = gpu_time_ms(np.array([target.benchmark_ms]), np.median(fixed, axis=0))
    work_ms = gpu_time_ms(gpu_ms, step_model.tail_share * benchmark_floor_ms(step_model, medians))
    return math.log(step_model.instances[reference].benchmark_work_ms / float(work_ms[0]))


def plain_specs_log_speed(gpu: Gpu, other: Gpu) -> float:
    """Log ratio of two GPUs' speeds by a rule that nothing is fitted for: half FP32 peak, half bandwidth."""
    peaks, bandwidths = gpu.fp32_tflops / other.fp32_tflops, gpu.bandwidth_gb_per_s / other.bandwidth_gb_per_s
    return math.log(peaks * bandwidths) / 2


def known_of(
    step_model: StepModel,
    steps: InstanceSteps,
    anchor: str,
    known: KnownLatencies,
    latency_known: bool,
    readers: Mapping[str, WorkReader] | None = None,
) -> KnownSteps:
    """What is known of each step, its anchor's latency included or not.

    Parameters
    ----------
    readers : of kernels; None: launches by idle time alone.
    """
    parts, latency_ms = steps.parts(anchor, latency_known), steps.latency_ms[anchor] if latency_known else None
    floor_ms = None if readers is None else floor_of(step_model, readers[anchor], anchor, parts, latency_ms)
    others = {name: known(anchor, name, latency_known) for name in step_model.instances if name != anchor}
    return known_steps(step_model, AnchorSteps(anchor, parts, latency_ms, floor_ms), others)


def predict_target(
    step_model: StepModel, known: KnownSteps, target: Target, weights: KernelWeights = WEIGHTS
) -> Estimate:
    """Latencies on the held-out GPU with their intervals as they are served, (rows,)."""
    found = transfer_steps(known, reference_of(step_model), [target], weights)
    return Estimate(latency_ms=found.latency_ms[0], log_sd=found.log_sd[0])


def spread(medians: InstanceSteps, instances: Sequence[str], rows: np.ndarray) -> Spread:
    """Log errors on the GPUs of `instances`, each held out in turn; latencies on the others known.

    rows : boolean mask of the workloads to fit on and to judge by; the benchmark network is not judged.
    """
    judged = rows & (medians.architectures != BENCHMARK[0])
    errors = []
    for held_out in instances:
        others = [name for name in instances if name != held_out]
        step_model = fit_step_model(medians, others, rows)
        target = target_of(step_model, medians, profiled_target(medians, held_out, sheet_only=False), 0.0)
        known = [known_of(step_model, medians, anchor, measured_latencies(medians), True) for anchor in others]
        found = [predict_target(step_model, one, target).latency_ms for one in known]
        errors.append(np.log(np.array(found) / medians.latency_ms[held_out])[:, judged])
    return _spread_of(errors)


def anchor_spread(medians: InstanceSteps, instances: Sequence[str], rows: np.ndarray) -> Spread:
    """Log errors of the analytical model alone from each of `instances`, held out as anchor, to the others.

    rows : as `spread` takes them.
    """
    judged = rows & (medians.architectures != BENCHMARK[0])
    errors = []
    for held_out in instances:
        step_model, steps = foreign_steps(medians, instances, held_out, rows)
        back = map_to_profiled(step_model, reference_of(step_model), steps)
        found = [np.log(one.latency_ms / medians.latency_ms[name]) for name, one in back.by_instance.items()]
        errors.append(np.array(found)[:, judged])
    return _spread_of(errors)


def foreign_steps(
    medians: InstanceSteps, instances: Sequence[str], held_out: str, rows: np.ndarray
) -> tuple[StepModel, UnprofiledSteps]:
    """The analytical model of the others, and all steps recorded on the one that is held out as anchor."""
    step_model = fit_step_model(medians, [name for name in instances if name != held_out], rows)
    target = target_of(step_model, medians, profiled_target(medians, held_out, sheet_only=False), 0.0)
    return step_model, UnprofiledSteps(target, medians.with_latency[held_out], medians.latency_ms[held_out])


def _spread_of(errors: Sequence[np.ndarray]) -> Spread:
    """Log errors of each held-out GPU, (others, rows)."""
    return Spread(
        between=root_mean_square([np.mean(one) for one in errors]),
        within=float(np.sqrt(np.mean([_spread_within(one) for one in errors]))),
        gpus=len(errors),
    )


def _spread_within(errors: np.ndarray) -> float:
    """Variance of a normal distribution with the same middle 90 %, robust to outlier networks."""
    return float(np.quantile(np.abs(errors - errors.mean()), 0.9) / quantile()) ** 2


def measured_latencies(steps: InstanceSteps) -> KnownLatencies:
    """Known latencies that are the measured ones, and exact."""
    return lambda anchor, instance, latency_known: Estimate(
        latency_ms=steps.latency_ms[instance], log_sd=np.zeros(len(steps.latency_ms[instance]))
    )


def profiled_target(medians: InstanceSteps, instance: str, *, sheet_only: bool) -> TargetGpu:
    """One of the profiled GPUs as if only its specs and the benchmark were known."""
    benchmark_ms = float(medians.latency_ms[instance][medians.benchmark][0])
    return TargetGpu(gpu_of(instance), host_named(HOST_OF[instance]), None if sheet_only else benchmark_ms)
