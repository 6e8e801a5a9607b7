"""Benchmark points of unprofiled GPUs with uncertainty, from published ResNet-50 speeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from profet_core.catalog.gpus import Gpu, Gpus, load_gpus
from profet_core.transfer.law import LEAST_GPU_SHARE, StepLaw
from profet_core.transfer.model import BenchmarkPoint, TransferModel
from profet_core.transfer.speed import half_and_half, sheet_log_speed
from profet_core.transfer.targets import REFERENCE_HOST, UNKNOWN_HOST
from profet_lab.measurements.published_points import (
    OWN_POINTS,
    POINT_OF,
    PUBLISHED_GPUS,
    PublishedGpu,
    load_speeds,
    log_ratios,
    table_log_ratios,
)
from profet_lab.transfer.log_errors import root_mean_square
from profet_lab.transfer.step_law import benchmark_floor_ms
from profet_lab.transfer.steps import BENCHMARK, Steps, gpu_of

#: What two tables of one pair of GPUs differ by at least, in the logarithm: they disagree by 5 to 20 %.
LEAST_TABLE_LOG_SD = 0.08
#: Batch sizes that the published points' differ by, as far as every GPU was measured at them.
_BATCH_SIZES = (16, 64)


@dataclass(frozen=True)
class Published:
    """Published speeds of ResNet-50.

    Attributes
    ----------
    speeds : images a second of one table. tables : as `table_log_ratios` gives them.
    """

    speeds: Mapping[str, float]
    tables: Mapping[tuple[str, bool], Mapping[str, float]]

    def without(self, table: str) -> Published:
        """All but one of the tables of `tables`."""
        kept = {
            key: {name: ratio for name, ratio in rows.items() if name != table} for key, rows in self.tables.items()
        }
        return Published(self.speeds, {key: rows for key, rows in kept.items() if rows})

    def log_ratios(self, gpu: str, *, tf32: bool) -> list[float]:
        """What each table says of a GPU under its own name."""
        return log_ratios(self.speeds, self.tables, gpu, tf32=tf32)

    @property
    def names(self) -> list[str]:
        """GPUs with a point of their own, or of a GPU with the same chip."""
        return sorted({*POINT_OF, *(name for name, _ in self.tables)})


def load_published(folder: Path) -> Published:
    """Everything published of ResNet-50.

    Raises
    ------
    DataError : a file or a GPU is missing.
    """
    return Published(load_speeds(folder), table_log_ratios(folder))


def benchmark_points(
    published: Published, law: StepLaw, medians: Steps, reference: str, gpus: Gpus
) -> tuple[dict[str, BenchmarkPoint], dict[str, BenchmarkPoint]]:
    """A point of each GPU in TF32, or FP32 where it has no TF32; and the FP32 points of those that have it."""
    log_sd = point_log_sd(published, medians, reference)
    points, fp32_points = {}, {}
    for name in published.names:
        if point := _gpu_point(published, law, medians, reference, gpus[name], log_sd):
            points[name] = point
        own = published.log_ratios(name, tf32=False)
        if own and gpus[name].tf32_tensor_dense_tflops is not None:
            fp32_points[name] = _point(law, medians, reference, gpus[name], own, log_sd, name)
    return points, fp32_points


def point_of(published: Published, model: TransferModel, medians: Steps, gpu: Gpu) -> BenchmarkPoint | None:
    """The point that these tables alone give a GPU; None if none of them has it."""
    log_sd = point_log_sd(published, medians, model.reference)
    return _gpu_point(published, model.step, medians, model.reference, gpu, log_sd)


def point_log_sd(published: Published, medians: Steps, reference: str) -> float:
    """Noise of one table's point, in the logarithm: other tables, and the batch size it was measured at."""
    return math.hypot(table_log_sd(published), batch_log_sd(medians, reference))


def _gpu_point(
    published: Published, law: StepLaw, medians: Steps, reference: str, gpu: Gpu, log_sd: float
) -> BenchmarkPoint | None:
    has_tf32 = gpu.tf32_tensor_dense_tflops is not None
    own = published.log_ratios(gpu.name, tf32=has_tf32)
    if own:
        return _point(law, medians, reference, gpu, own, log_sd, gpu.name)
    if has_tf32 and gpu.name in POINT_OF:
        return _same_chip_point(published, law, medians, reference, gpu, log_sd)
    return None


def _same_chip_point(
    published: Published, law: StepLaw, medians: Steps, reference: str, gpu: Gpu, table_sd: float
) -> BenchmarkPoint:
    point = POINT_OF[gpu.name]
    there = {one.point: one for one in PUBLISHED_GPUS}[point]
    named = next(name for name, own in OWN_POINTS.items() if own == point and POINT_OF.get(name) == point)
    sheet = _sheet(gpu.fp32_tflops, gpu.bandwidth_gb_per_s, there)
    ratios = [one + sheet for one in published.log_ratios(named, tf32=True)]
    log_sd = math.hypot(table_sd, same_chip_log_sd(published, load_gpus()))
    return _point(law, medians, reference, gpu, ratios, log_sd, point.split(" (")[0])


def _point(
    law: StepLaw,
    medians: Steps,
    reference: str,
    gpu: Gpu,
    ratios: Sequence[float],
    log_sd: float,
    measured_on: str,
) -> BenchmarkPoint:
    log_throughput = float(np.mean(ratios))
    return BenchmarkPoint(
        log_speed=work_log_speed_of_step(law, medians, reference, gpu.sm_count, log_throughput),
        log_sd=log_sd / math.sqrt(len(ratios)),
        measured_on=measured_on,
        tables=len(ratios),
        log_throughput=log_throughput,
    )


def work_log_speed_of_step(
    law: StepLaw, medians: Steps, reference: str, multiprocessors: int, log_throughput: float
) -> float:
    """Speed of the benchmark's work over the reference's, in the logarithm, from the ratio of their whole steps.

    A published step may have waited for its copy and its host, as PROFET's did, or have had its batch at hand: the
    logarithm's mean of both readings. A throughput of one GPU alone needs no such choice: serving compares it with the
    reference's GPU time (`profet_core.transfer.own_gpu.work_log_speed_of_gpu_time`).

    Parameters
    ----------
    reference : instance. multiprocessors : of the GPU.
    log_throughput : how many times as fast its steps are, in the logarithm; mean of the tables.
    """
    row = np.flatnonzero(medians.benchmark)
    parts, latency_ms = medians.with_latency[reference].of(row), medians.latency_ms[reference][row]
    fixed_ms = float(law.fixed_ms(parts, reference, REFERENCE_HOST)[0])
    there_ms = float(law.fixed_ms(parts, reference, UNKNOWN_HOST)[0])
    tails_ms = float(law.tails_ms(benchmark_floor_ms(law, medians), multiprocessors)[0])
    slower, step_ms = math.exp(-log_throughput), float(latency_ms[0])
    readings_ms = (step_ms - fixed_ms) * slower - tails_ms, step_ms * slower - there_ms - tails_ms
    work_ms = [max(one, LEAST_GPU_SHARE * step_ms * slower) for one in readings_ms]
    return math.log(law.instances[reference].benchmark_work_ms) - float(np.mean(np.log(work_ms)))


def batch_log_sd(medians: Steps, reference: str) -> float:
    """How far the reference's speed beside other GPUs moves between batch 16 and 64, root mean square of the logarithm.

    The published points differ in batch size by up to a factor of ten.
    """
    table = medians.workloads
    network, pixels, _ = BENCHMARK
    small, large = (
        np.flatnonzero((table.model == network) & (table.pixels == pixels) & (table.batch_size == batch_size))
        for batch_size in _BATCH_SIZES
    )
    moved = {name: np.log(values[large] / values[small])[0] for name, values in medians.latency_ms.items()}
    return root_mean_square([value - moved[reference] for name, value in moved.items() if name != reference])


def table_log_sd(published: Published) -> float:
    """Pooled standard deviation between tables of one GPU, at least `LEAST_TABLE_LOG_SD`."""
    groups = [published.log_ratios(name, tf32=tf32) for name in published.names for tf32 in (True, False)]
    away = [np.array(one) - np.mean(one) for one in groups if len(one) > 1]
    if not away:
        return LEAST_TABLE_LOG_SD
    freedom = sum(len(one) - 1 for one in away)
    return max(float(np.sqrt(np.concatenate(away) @ np.concatenate(away) / freedom)), LEAST_TABLE_LOG_SD)


def same_chip_log_sd(published: Published, gpus: Gpus) -> float:
    """How far specs (FP32, bandwidth) miss the ratio of two GPUs of one chip: root mean square log error.

    GPUs that were published under their own names alone; those with the same memory too are one.
    """
    ratios = {name: float(np.mean(own)) for name in gpus if (own := published.log_ratios(name, tf32=True))}
    return root_mean_square(
        [
            ratios[a] - ratios[b] - half_and_half(gpus[a].fp32_tflops / gpus[b].fp32_tflops, _bandwidth(gpus, a, b))
            for a, b in combinations(ratios, 2)
            if _chip(gpus[a]) == _chip(gpus[b]) and _bandwidth(gpus, a, b) != 1
        ]
    )


def relative_log_sd(points: Mapping[str, BenchmarkPoint], gpus: Gpus) -> float:
    """How far specs miss the ratio of two chips of one compute capability: root mean square log error.

    GPUs that were published under their own names alone: others' points are made by specs.
    """
    own = [name for name, point in points.items() if point.measured_on == name]
    return root_mean_square(
        [
            points[a].log_speed - points[b].log_speed - sheet_log_speed(gpus[a], gpus[b], True)
            for a, b in combinations(own, 2)
            if gpus[a].compute_capability == gpus[b].compute_capability and _chip(gpus[a]) != _chip(gpus[b])
        ]
    )


def _chip(gpu: Gpu) -> tuple[float | None, int]:
    return gpu.compute_capability, gpu.sm_count


def _bandwidth(gpus: Gpus, name: str, other: str) -> float:
    return gpus[name].bandwidth_gb_per_s / gpus[other].bandwidth_gb_per_s


def sheet_log_sd(points: Mapping[str, BenchmarkPoint], law: StepLaw, reference: str, gpus: Gpus) -> float:
    """How far specs miss the speed over the reference's, of published and of profiled GPUs."""
    sheet, errors = gpus[law.instances[reference].gpu], []
    for name, point in points.items():
        in_tf32 = gpus[name].tf32_tensor_dense_tflops is not None
        errors.append(point.log_speed - sheet_log_speed(gpus[name], sheet, in_tf32))
    for name, row in law.instances.items():
        if name != reference:
            speed = math.log(law.instances[reference].benchmark_work_ms / row.benchmark_work_ms)
            errors.append(speed - sheet_log_speed(gpu_of(name), sheet, False))
    return root_mean_square(errors)


def _sheet(fp32_tflops: float, bandwidth_gb_per_s: float, other: PublishedGpu) -> float:
    """Log ratio of speeds by specs, to another GPU."""
    return half_and_half(fp32_tflops / other.fp32_tflops, bandwidth_gb_per_s / other.bandwidth_gb_per_s)
