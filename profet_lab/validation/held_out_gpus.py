"""Transfer accuracy on held-out GPUs, including A10G and P100 by another source."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpus, load_gpus
from profet_core.latency import Estimate
from profet_core.transfer.law import StepLaw
from profet_core.transfer.model import BenchmarkPoint, Spread
from profet_core.transfer.targets import host_named
from profet_lab.cases import CASES, WITH_LATENCY
from profet_lab.measurements.epoch_times import DERIVED
from profet_lab.measurements.tables import WORKLOAD, Pair
from profet_lab.tasks import run_tasks
from profet_lab.transfer.leave_one_gpu_out import (
    Kernels,
    TargetGpu,
    known_of,
    plain_specs_log_speed,
    predict_target,
    profiled_target,
    spread,
    target_of,
)
from profet_lab.transfer.log_errors import root_mean_square
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import BENCHMARK, Steps
from profet_lab.validation.ensemble_latencies import EnsembleLatencies

#: Prefix of the figures -> whether of the held-out GPU only the specs are known.
_SHEET_ONLY = {"": False, "sheet_only_": True}


def predict_unseen(
    steps: Steps,
    medians: Steps,
    kernels: Kernels,
    ensemble: EnsembleLatencies,
    laws: Mapping[str, StepLaw],
    anchor: str,
    target: TargetGpu,
    latency_known: bool,
    log_sd: Mapping[str, float],
) -> Estimate:
    """Out-of-fold predictions for every row: neither GPU nor architecture seen, but for the benchmark's point.

    Parameters
    ----------
    laws, log_sd : held-out architecture -> the model, and its error with the GPU held out too.
    """
    latency_ms, log_sds = np.empty(len(steps.workloads)), np.empty(len(steps.workloads))
    for name, law in laws.items():
        rows = steps.architectures == name
        known = known_of(law, steps, anchor, ensemble.known(name), latency_known)
        found = predict_target(law, known, target_of(law, medians, kernels, target, log_sd[name]))
        latency_ms[rows], log_sds[rows] = found.latency_ms[rows], found.log_sd[rows]
    return Estimate(latency_ms=latency_ms, log_sd=log_sds)


def laws_held_out(medians: Steps, instances: Sequence[str]) -> dict[str, StepLaw]:
    """One analytical model an architecture held out, fitted on `instances` alone."""
    return {
        str(name): fit_step_law(medians, instances, medians.architectures != name)
        for name in np.unique(medians.architectures)
    }


def spreads_held_out(medians: Steps, kernels: Kernels, instances: Sequence[str]) -> dict[str, Spread]:
    """By architecture held out: leave-one-GPU-out inside `instances` alone."""
    return {
        str(name): spread(medians, kernels, instances, medians.architectures != name)
        for name in np.unique(medians.architectures)
    }


def log_sds_of(spreads: Mapping[str, Spread], *more: float) -> dict[str, float]:
    """Half-width by architecture held out; `more`: standard deviations that come to a GPU's own error."""
    return {name: row.log_sd(*more) for name, row in spreads.items()}


def plain_specs_log_sd(points: Mapping[str, BenchmarkPoint], law: StepLaw, reference: str, gpus: Gpus) -> float:
    """How far `plain_specs_log_speed` misses published and profiled GPUs' speeds: root mean square."""
    sheet, rows = gpus[law.instances[reference].gpu], law.instances
    measured = {row.gpu: math.log(rows[reference].benchmark_work_ms / row.benchmark_work_ms) for row in rows.values()}
    known = {**{name: point.published for name, point in points.items()}, **measured}
    return root_mean_square(
        [speed - plain_specs_log_speed(gpus[name], sheet) for name, speed in known.items() if name != sheet.name]
    )


def profiled_gpus(
    steps: Steps, medians: Steps, kernels: Kernels, ensemble: EnsembleLatencies, sheet_log_sd: float
) -> dict:
    """The 12 directions: error, misses of the interval, and what one plain constant gives.

    Parameters
    ----------
    sheet_log_sd : error of a speed that specs alone indicate.
    """
    tasks = [(steps, medians, kernels, ensemble, sheet_log_sd, held_out) for held_out in steps.instances]
    found = run_tasks(_to_held_out, tasks)
    directions = [row for rows, _ in found for row in rows]
    predicted_ms = {pair: values for _, one in found for pair, values in one.items()}
    return {
        "directions": directions,
        "mean": _over(directions, np.mean),
        "worst": _over(directions, np.max, "mape"),
        "by_gpu": {
            name: _over([row for row in directions if row["target"] == name], np.mean) for name in steps.instances
        },
        "by_model": {str(name): _model_mape(steps, predicted_ms, name) for name in np.unique(steps.architectures)},
    }


def _to_held_out(
    steps: Steps, medians: Steps, kernels: Kernels, ensemble: EnsembleLatencies, sheet_log_sd: float, held_out: str
) -> tuple[list[dict], dict[Pair, np.ndarray]]:
    """Rows of the directions to one GPU, and what was predicted there with everything known."""
    directions, predicted_ms = [], {}
    others = [name for name in steps.instances if name != held_out]
    laws = laws_held_out(medians, others)
    spreads = spreads_held_out(medians, kernels, others)
    widths = {False: log_sds_of(spreads), True: log_sds_of(spreads, sheet_log_sd)}
    for anchor in others:
        row: dict = {"anchor": anchor, "target": held_out, "n": len(steps.workloads)}
        for prefix, sheet_only in _SHEET_ONLY.items():
            target = profiled_target(medians, held_out, sheet_only=sheet_only)
            for known, case in CASES.items():
                found = predict_unseen(
                    steps, medians, kernels, ensemble, laws, anchor, target, known, widths[sheet_only]
                )
                row |= _figures(found, steps.latency_ms[held_out], steps.architectures, f"{prefix}{{}}_{case}")
                if known and not sheet_only:
                    predicted_ms[anchor, held_out] = found.latency_ms
        row["one_constant"] = _one_constant(steps, medians, anchor, held_out)
        directions.append(row)
    return directions, predicted_ms


def _model_mape(steps: Steps, predicted_ms: Mapping[tuple[str, str], np.ndarray], architecture: str) -> float:
    """Mean over the directions."""
    rows = steps.architectures == architecture
    return float(
        np.mean([_mape(values, steps.latency_ms[target], rows) for (_, target), values in predicted_ms.items()])
    )


def other_gpus(
    medians: Steps,
    kernels: Kernels,
    ensemble: EnsembleLatencies,
    epochs: pd.DataFrame,
    step_ms: np.ndarray,
    points: Mapping[str, BenchmarkPoint],
    reference: str,
    sheet_log_sd: float,
) -> list[dict]:
    """Errors on A10G and P100, known by specs and the benchmark's corrected step.

    GPUs with a published point are also predicted from it, as unmeasured GPUs are.

    Parameters
    ----------
    ensemble : one row a workload. step_ms : corrected steps of the rows of `epochs`.
    points : published, relative to the `reference` instance.
    """
    instances = medians.instances
    laws = laws_held_out(medians, instances)
    spreads = spreads_held_out(medians, kernels, instances)
    widths_of = {False: log_sds_of(spreads), True: log_sds_of(spreads, sheet_log_sd)}
    found = []
    for source, gpu in DERIVED.items():
        true_ms = _true_ms(medians, epochs.assign(step_ms=step_ms)[(epochs.instance == source).to_numpy()])
        has = np.isfinite(true_ms)
        sheet = load_gpus()[gpu]
        ways = {
            prefix: (
                TargetGpu(
                    sheet,
                    host_named("", sheet.compute_capability),
                    None if sheet_only else float(true_ms[medians.benchmark][0]),
                ),
                widths_of[sheet_only],
            )
            for prefix, sheet_only in _SHEET_ONLY.items()
        }
        if gpu in points:
            ways["published_"] = (
                TargetGpu(sheet, host_named("", sheet.compute_capability), None, (reference, points[gpu].log_speed)),
                log_sds_of(spreads, points[gpu].log_sd),
            )
        for anchor in instances:
            row: dict = {"anchor": anchor, "target": gpu, "n": int(has.sum())}
            for prefix, (target, widths) in ways.items():
                predicted = predict_unseen(medians, medians, kernels, ensemble, laws, anchor, target, True, widths)
                row |= _figures_of(predicted, true_ms, medians, has, f"{prefix}{{}}_{WITH_LATENCY}")
            found.append(row)
    return found


def _true_ms(medians: Steps, rows: pd.DataFrame) -> np.ndarray:
    """Corrected step of each workload, NaN where the source has none, (rows,)."""
    return medians.workloads.merge(rows[[*WORKLOAD, "step_ms"]], on=WORKLOAD, how="left").step_ms.to_numpy()


def _figures_of(found: Estimate, true_ms: np.ndarray, medians: Steps, has: np.ndarray, name: str) -> dict[str, float]:
    kept = Estimate(latency_ms=found.latency_ms[has], log_sd=found.log_sd[has])
    return _figures(kept, true_ms[has], medians.architectures[has], name)


def _figures(found: Estimate, true_ms: np.ndarray, architectures: np.ndarray, name: str) -> dict[str, float]:
    """Figures of one direction; `name`: format of their keys."""
    everything = np.ones(len(true_ms), bool)
    away = np.log(found.latency_ms / true_ms)
    inside = np.abs(away) <= found.log_half_width
    return {
        name.format("bias"): float(100 * (np.exp(away.mean()) - 1)),
        name.format("mape"): _mape(found.latency_ms, true_ms, everything),
        name.format("mape_without_resnet50"): _mape(found.latency_ms, true_ms, architectures != BENCHMARK[0]),
        name.format("missed_90"): float(100 * (1 - inside.mean())),
        name.format("median_interval_pct"): float(100 * np.median(np.exp(found.log_half_width) - 1)),
    }


def _one_constant(steps: Steps, medians: Steps, anchor: str, target: str) -> float:
    """Error of the anchor's latency times the benchmark's ratio, what any method has to beat."""
    row = np.flatnonzero(medians.benchmark)[0]
    ratio = medians.latency_ms[target][row] / medians.latency_ms[anchor][row]
    everything = np.ones(len(steps.workloads), bool)
    return _mape(ratio * steps.latency_ms[anchor], steps.latency_ms[target], everything)


def _mape(predicted_ms: np.ndarray, true_ms: np.ndarray, rows: np.ndarray) -> float:
    return float(100 * np.mean(np.abs(predicted_ms / true_ms - 1)[rows]))


def _over(rows: list[dict], how: Callable[[list[float]], float], only: str = "") -> dict[str, float]:
    """Mean or the like of every figure whose name holds `only`."""
    keys = [key for key in rows[0] if key not in ("anchor", "target", "n") and only in key]
    return {key: float(how([row[key] for row in rows])) for key in keys}
