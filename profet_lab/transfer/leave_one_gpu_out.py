"""Leave-one-GPU-out: of the target the data sheet is known, and at most the benchmark's latency at one batch size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from profet_core.catalog.gpus import Gpu
from profet_core.transfer.estimate import transfer
from profet_core.transfer.known import AnchorSteps, KnownSteps, Latencies, known_steps
from profet_core.transfer.model import Spread
from profet_core.transfer.speed import MIX_SHARE
from profet_core.transfer.step import StepLaw, StepParts, gpu_time_ms
from profet_lab.transfer.log_errors import root_mean_square
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import BENCHMARK, Steps, gpu_of

#: (anchor, instance, anchor's latency known) -> latencies on the instance, (rows,).
KnownLatencies = Callable[[str, str, bool], Latencies]


@dataclass(frozen=True)
class TargetGpu:
    """What may be known of the GPU that is left out.

    Attributes
    ----------
    benchmark_ms : the benchmark's step latency on it; None: the data sheet alone.
    published : instead of that latency, an instance and how many times faster than its GPU a published benchmark is, in
        the logarithm.
    """

    gpu: Gpu
    benchmark_ms: float | None
    published: tuple[str, float] | None = None


def log_speeds(law: StepLaw, target: TargetGpu, benchmark_fixed_ms: float) -> dict[str, float]:
    """How many times faster the GPU is than each known instance's, in the logarithm."""
    if target.published:
        reference, log_speed = target.published
        reference_ms = law.instances[reference].benchmark_gpu_ms
        return {name: log_speed + math.log(row.benchmark_gpu_ms / reference_ms) for name, row in law.instances.items()}
    if target.benchmark_ms is None:
        return {name: math.log(target.gpu.fp32_tflops / gpu_of(name).fp32_tflops) for name in law.instances}
    gpu_ms = float(gpu_time_ms(np.array(target.benchmark_ms), np.array(benchmark_fixed_ms)))
    return {name: math.log(row.benchmark_gpu_ms / gpu_ms) for name, row in law.instances.items()}


def benchmark_fixed_ms(law: StepLaw, medians: Steps) -> float:
    """Copy and start of the benchmark: the median over the known instances' profiles."""
    row = np.flatnonzero(medians.benchmark)[0]
    return float(np.median([law.fixed_ms(medians.with_latency[name])[row] for name in law.instances]))


def known_of(law: StepLaw, steps: Steps, anchor: str, known: KnownLatencies, latency_known: bool) -> KnownSteps:
    """What is known of each step, its anchor's latency included or not."""
    parts = steps.parts(anchor, latency_known)
    others = {name: known(anchor, name, latency_known) for name in law.instances if name != anchor}
    return known_steps(law, AnchorSteps(anchor, parts, steps.latency_ms[anchor] if latency_known else None), others)


def predict_target(
    law: StepLaw, known: KnownSteps, target: TargetGpu, speeds: Mapping[str, float], log_half_width: float
) -> Latencies:
    """Latencies on the left-out GPU with their intervals as they are served, (rows,)."""
    return transfer(known, speeds, log_half_width, mix_spread(law, known.parts, known.anchor, target.gpu))


def mix_spread(law: StepLaw, parts: StepParts, anchor: str, gpu: Gpu) -> np.ndarray:
    """Spread from the mix of operations, (rows,), beside the fastest known GPU."""
    fastest = gpu_of(min(law.instances, key=lambda name: law.instances[name].benchmark_gpu_ms))
    grew = math.log(gpu.fp32_tflops / fastest.fp32_tflops)
    grew -= math.log(gpu.bandwidth_gb_per_s / fastest.bandwidth_gb_per_s)
    return MIX_SHARE * abs(grew) * np.abs(parts.compute_share - law.instances[anchor].benchmark_compute_share)


def spread(medians: Steps, instances: Sequence[str], rows: np.ndarray, *, sheet_only: bool) -> Spread:
    """Log errors on the GPUs of `instances`, each left out in turn; latencies on the others known.

    Parameters
    ----------
    rows : boolean mask of the workloads to fit on and to judge by; the benchmark network is not judged.
    """
    judged = rows & (medians.architectures != BENCHMARK[0])
    means, variances = [], []
    for left_out in instances:
        others = [name for name in instances if name != left_out]
        law = fit_step_law(medians, others, rows)
        target = profiled_target(medians, left_out, sheet_only=sheet_only)
        speeds = log_speeds(law, target, benchmark_fixed_ms(law, medians))
        known = [known_of(law, medians, anchor, measured_latencies(medians), True) for anchor in others]
        errors = [np.log(transfer(one, speeds, 0.0, 0.0).latency_ms / medians.latency_ms[left_out]) for one in known]
        means.append(np.mean(np.array(errors)[:, judged]))
        variances.append(np.var(np.array(errors)[:, judged]))
    return Spread(
        between=root_mean_square(means),
        within=float(np.sqrt(np.mean(variances))),
        gpus=len(instances),
        # Two-sided 90 %: the spread of so few GPUs is badly known.
        t90=float(stats.t.ppf(0.95, len(instances) - 1)),
    )


def measured_latencies(steps: Steps) -> KnownLatencies:
    """Known latencies that are the measured ones, and exact."""

    return lambda anchor, instance, latency_known: Latencies.measured(steps.latency_ms[instance])


def profiled_target(medians: Steps, instance: str, *, sheet_only: bool) -> TargetGpu:
    """One of the profiled GPUs as if only its data sheet and the benchmark were known."""
    benchmark_ms = float(medians.latency_ms[instance][medians.benchmark][0])
    return TargetGpu(gpu_of(instance), None if sheet_only else benchmark_ms)
