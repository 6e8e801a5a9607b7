"""Benchmark points of GPUs that nobody profiled, from published ResNet-50 speeds, and how sure each is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from profet_core.catalog.gpus import load_gpus
from profet_core.transfer.model import BenchmarkPoint
from profet_core.transfer.speed import half_and_half
from profet_lab.measurements.published_points import POINT_OF, PUBLISHED_GPUS, REFERENCE_POINT, PublishedGpu
from profet_lab.transfer.log_errors import root_mean_square
from profet_lab.transfer.steps import BENCHMARK, Steps

#: Batch sizes that the published points' differ by, as far as every GPU was measured at them.
_BATCH_SIZES = (16, 64)


def benchmark_points(speeds: Mapping[str, float], medians: Steps, reference: str) -> dict[str, BenchmarkPoint]:
    """A point for each GPU of `POINT_OF`, relative to the reference GPU."""
    published = {gpu.point: gpu for gpu in PUBLISHED_GPUS}
    batch_sd = batch_log_sd(medians, reference)
    chip_sd = same_chip_log_sd(speeds)
    gpus = load_gpus()
    found = {}
    for name, point in POINT_OF.items():
        gpu = gpus[name]
        sheet = _sheet(gpu.fp32_tflops, gpu.bandwidth_gb_per_s, published[point])
        own = name == point
        found[name] = BenchmarkPoint(
            log_speed=math.log(speeds[point] / speeds[REFERENCE_POINT]) + (0.0 if own else sheet),
            log_sd=batch_sd if own else math.hypot(batch_sd, chip_sd),
            measured_on=point.split(" (")[0],
        )
    return found


def batch_log_sd(medians: Steps, reference: str) -> float:
    """How far the reference's speed beside other GPUs moves between batch 16 and 64, root mean square of the logarithm.

    The published points differ in batch size by up to a factor of ten, and in framework.
    """
    table = medians.workloads
    network, pixels, _ = BENCHMARK
    small, large = (
        np.flatnonzero((table.model == network) & (table.pixels == pixels) & (table.batch_size == batch_size))
        for batch_size in _BATCH_SIZES
    )
    moved = {name: np.log(values[large] / values[small])[0] for name, values in medians.latency_ms.items()}
    away = [value - moved[reference] for name, value in moved.items() if name != reference]
    return root_mean_square(away)


def same_chip_log_sd(speeds: Mapping[str, float]) -> float:
    """How far data sheets (FP32, bandwidth) miss the ratio of two points of one chip: root mean square log error."""
    pairs = [(a, b) for a, b in combinations(PUBLISHED_GPUS, 2) if a.chip == b.chip]
    return root_mean_square(
        [_log_ratio(speeds, a, b) - _sheet(a.fp32_tflops, a.bandwidth_gb_per_s, b) for a, b in pairs]
    )


def other_chip_log_sd(speeds: Mapping[str, float]) -> float:
    """The same of two chips, by TF32 peak and bandwidth as `transfer.speed` carries a point over."""
    pairs = [(a, b) for a, b in combinations(PUBLISHED_GPUS, 2) if a.chip != b.chip]
    return root_mean_square(
        [
            _log_ratio(speeds, a, b)
            - half_and_half(a.tf32_tflops / b.tf32_tflops, a.bandwidth_gb_per_s / b.bandwidth_gb_per_s)
            for a, b in pairs
        ]
    )


def _log_ratio(speeds: Mapping[str, float], gpu: PublishedGpu, other: PublishedGpu) -> float:
    return math.log(speeds[gpu.point] / speeds[other.point])


def _sheet(fp32_tflops: float, bandwidth_gb_per_s: float, other: PublishedGpu) -> float:
    """Log ratio of speeds by data sheets, to another GPU."""
    return half_and_half(fp32_tflops / other.fp32_tflops, bandwidth_gb_per_s / other.bandwidth_gb_per_s)
