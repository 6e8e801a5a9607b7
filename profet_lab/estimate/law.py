"""Fit each measured GPU's cost per unit of each kind of work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from profet_core.catalog import load_gpus, load_shipped
from profet_core.from_layers.costs import WORK, GpuCosts, StepAmounts, step_amounts
from profet_core.latency import SMOOTH_MAX_POWER, smooth_max
from profet_core.layers.networks import counts_of
from profet_core.transfer.targets import host_named
from profet_lab.estimate.rows import BENCHMARK, EstimateRows

#: Typical costs, a weak prior where the rows don't determine a cost.
_TYPICAL_MS = dict(zip(WORK, (1e-9, 1e-8, 1e-9, 1e-7, 1e-7, 1e-7, 0.1), strict=True))
_TYPICAL_HOST_MS = {"layer_ms": 0.05, "convolution_ms": 0.05, "start_ms": 1.5, "value_ms": 1e-6}
_TYPICAL_WEIGHT = 0.02
#: Log errors beyond this count less: steps that nearly fill a memory take several times as long.
_ROBUST = 0.15


def fit_costs(rows: EstimateRows) -> dict[str, GpuCosts]:
    """Costs on each instance of the rows, with log speeds from the benchmark's work.

    The fastest instance is the reference of speeds.
    """
    fitted = {name: _fit_one(name, rows.of(rows.instances == name)) for name in rows.on}
    return with_speeds(fitted)


def with_speeds(costs: dict[str, GpuCosts]) -> dict[str, GpuCosts]:
    """The same, with speeds at the benchmark's work relative to the fastest one's."""
    work_ms = {name: float(one.parts_ms(BENCHMARK_AMOUNTS).sum()) for name, one in costs.items()}
    least = min(work_ms.values())
    return {name: replace(one, log_speed=float(np.log(least / work_ms[name]))) for name, one in costs.items()}


def _fit_one(instance: str, rows: EstimateRows) -> GpuCosts:
    entry = load_shipped()[instance]
    host = host_named(entry.host)
    amounts, log_ms = rows.amounts, np.log(rows.latency_ms)
    units = np.concatenate(
        [
            amounts.work,
            (host.launch * np.stack([amounts.layers, amounts.convolutions])).T,
            np.full((len(rows), 1), host.launch),
            host.copy * amounts.image_values[:, None],
        ],
        axis=1,
    )
    typical = np.log([*_TYPICAL_MS.values(), *_TYPICAL_HOST_MS.values()])
    kinds = len(WORK)

    def parts(log_costs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        each = units * np.exp(log_costs)
        work, launch = each[:, :kinds].sum(axis=1), each[:, kinds : kinds + 2].sum(axis=1)
        joined = smooth_max(work, launch)
        return each, work, launch, joined

    def errors(log_costs: np.ndarray) -> np.ndarray:
        each, _, _, joined = parts(log_costs)
        latency_ms = joined + each[:, kinds + 2 :].sum(axis=1)
        return np.concatenate([np.log(latency_ms) - log_ms, _TYPICAL_WEIGHT * (log_costs - typical)])

    def slopes(log_costs: np.ndarray) -> np.ndarray:
        each, work, launch, joined = parts(log_costs)
        latency_ms = joined + each[:, kinds + 2 :].sum(axis=1)
        by_part = np.ones_like(each)
        by_part[:, :kinds] = ((work / joined) ** (SMOOTH_MAX_POWER - 1))[:, None]
        by_part[:, kinds : kinds + 2] = ((launch / joined) ** (SMOOTH_MAX_POWER - 1))[:, None]
        return np.concatenate([each * by_part / latency_ms[:, None], _TYPICAL_WEIGHT * np.eye(len(log_costs))])

    found = np.exp(least_squares(errors, typical, slopes, loss="soft_l1", f_scale=_ROBUST).x).tolist()
    layer_ms, convolution_ms, start_ms, value_ms = found[kinds:]
    gpu = load_gpus().find(entry.gpu, entry.gpu_memory_gib).name
    return GpuCosts(gpu, entry.host, tuple(found[:kinds]), layer_ms, convolution_ms, start_ms, value_ms)


def benchmark_log_speed(costs: dict[str, GpuCosts], benchmark_ms: float, host: str) -> float:
    """How many times faster than the reference a GPU does the benchmark's work, by the benchmark's latency on it.

    Launches, copy and start are those of the measured GPU nearest to it in speed.
    """
    found = []
    for one in costs.values():
        there = host_named(host)
        fixed_ms = float(one.fixed_ms(BENCHMARK_AMOUNTS, there)[0])
        launch_ms = float(one.launch_ms(BENCHMARK_AMOUNTS, there)[0])
        gpu_ms = max(benchmark_ms - fixed_ms, 0.1 * benchmark_ms)
        power = SMOOTH_MAX_POWER
        work_ms = max(gpu_ms**power - launch_ms**power, (0.3 * gpu_ms) ** power) ** (1 / power)
        gain = float(np.log(one.parts_ms(BENCHMARK_AMOUNTS).sum() / work_ms))
        found.append((abs(gain), one.log_speed + gain))
    return min(found)[1]


def _benchmark_amounts() -> StepAmounts:
    network, pixels, batch_size = BENCHMARK
    return step_amounts([counts_of(network, pixels)], [batch_size])


BENCHMARK_AMOUNTS = _benchmark_amounts()
