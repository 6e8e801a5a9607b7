"""Accuracy of transfer on GPUs left out: the profiled ones, and A10G and P100 by the other source's corrected steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_core.transfer.model import BenchmarkPoint
from profet_core.transfer.step import StepLaw
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.folds import left_out_folds, predict_folds
from profet_lab.classes.member_weights import least_error, summed_errors
from profet_lab.measurements.data import pairs
from profet_lab.measurements.epoch_times import DERIVED, WORKLOAD
from profet_lab.transfer.gpu_left_out import (
    LeftOutGpu,
    benchmark_fixed_ms,
    half_width,
    log_speeds,
    measured_target,
    predict_left_out,
    spread,
)
from profet_lab.transfer.steps import BENCHMARK, Steps, fit_step_law
from profet_lab.validation.default import CASES, Progress

LEVEL = 0.9


@dataclass(frozen=True)
class LeftOutNetworks:
    """Latencies on profiled instances as the default method predicts them of networks it never saw.

    Attributes
    ----------
    latency_ms : (anchor, target, latency given) -> (rows,).
    log_half_width : (anchor, target, latency given, architecture) -> 90 % of the log errors of all other architectures.
    """

    latency_ms: Mapping[tuple[str, str, bool], np.ndarray]
    log_half_width: Mapping[tuple[str, str, bool, str], float]


def left_out_networks(bank: ClassBank, *, seed: int, steps: int, progress: Progress = None) -> LeftOutNetworks:
    """Fit the default method once an architecture and pair, with and without the anchor's latency.

    The members' weights come from the errors on all other architectures, whose models had seen the one that is judged.
    """
    wanted, names = pairs(bank.instances), np.unique(bank.architectures)
    latency_ms, halves = {}, {}
    for given in CASES:
        said = predict_folds(
            bank,
            left_out_folds(bank.architectures, wanted),
            latency_known=given,
            seed=seed,
            steps=steps,
            progress=progress,
        )
        errors_of = {
            str(name): sum(
                summed_errors(said.said[pair, str(name)], bank.latency_ms[pair[1]][bank.architectures == name])
                for pair in wanted
            )
            for name in names
        }
        weights = {
            name: least_error(errors for other, errors in errors_of.items() if other != name) for name in errors_of
        }
        for pair in wanted:
            values = np.empty(len(bank.architectures))
            for name in names:
                values[bank.architectures == name] = said.joined(pair, str(name), weights[str(name)])
            latency_ms[*pair, given] = values
            errors = np.abs(np.log(values / bank.latency_ms[pair[1]]))
            for name in names:
                halves[*pair, given, str(name)] = float(np.quantile(errors[bank.architectures != name], LEVEL))
    return LeftOutNetworks(latency_ms, halves)


def median_networks(networks: LeftOutNetworks, steps: Steps) -> LeftOutNetworks:
    """One row a workload, as `transfer_steps.median_steps` has them."""
    index = steps.workloads.groupby(WORKLOAD).ngroup().to_numpy()
    medians = {key: pd.Series(values).groupby(index).median().to_numpy() for key, values in networks.latency_ms.items()}
    return LeftOutNetworks(medians, networks.log_half_width)


@dataclass(frozen=True)
class Answer:
    """One direction's answers; both (rows,)."""

    latency_ms: np.ndarray
    log_half_width: np.ndarray


def answer_left_out(
    steps: Steps,
    medians: Steps,
    networks: LeftOutNetworks,
    laws: Mapping[str, StepLaw],
    anchor: str,
    target: LeftOutGpu,
    given: bool,
    log_half_width: Mapping[str, float],
) -> Answer:
    """Every row by a law and networks that saw neither the GPU nor, but for the benchmark's point, the architecture.

    Parameters
    ----------
    laws, log_half_width : architecture left out -> the law, and the interval of one whose GPU is left out too.
    """
    latency_ms, half = np.empty(len(steps.workloads)), np.empty(len(steps.workloads))
    for name, law in laws.items():
        rows = steps.architectures == name

        def known(anchor: str, instance: str, given: bool, name: str = name) -> tuple[np.ndarray, np.ndarray]:
            values = networks.latency_ms[anchor, instance, given]
            return values, np.full(values.shape, networks.log_half_width[anchor, instance, given, name])

        speeds = log_speeds(law, target, benchmark_fixed_ms(law, medians))
        found, found_ms = predict_left_out(law, steps, anchor, known, given, speeds)
        width = half_width(law, found, target, speeds, log_half_width[name])
        latency_ms[rows], half[rows] = found_ms[rows], width[rows]
    return Answer(latency_ms, half)


def laws_left_out(medians: Steps, instances: Sequence[str]) -> dict[str, StepLaw]:
    """One law an architecture left out, fitted on `instances` alone."""
    return {
        str(name): fit_step_law(medians, instances, medians.architectures != name)
        for name in np.unique(medians.architectures)
    }


def spreads_left_out(medians: Steps, instances: Sequence[str], *more: float, sheet_only: bool) -> dict[str, float]:
    """Half width by architecture left out: leave-one-GPU-out inside `instances` alone, Student's t for as many.

    Parameters
    ----------
    more : standard deviations that come to a GPU's own error.
    """
    return {
        str(name): spread(medians, instances, medians.architectures != name, sheet_only=sheet_only).log_half_width(
            *more
        )
        for name in np.unique(medians.architectures)
    }


def profiled_gpus(steps: Steps, medians: Steps, networks: LeftOutNetworks) -> dict:
    """The 12 directions: error, misses of the interval, and what one plain constant gives."""
    directions, predicted = [], {}
    for left_out in steps.instances:
        others = [name for name in steps.instances if name != left_out]
        laws = laws_left_out(medians, others)
        halves = {sheet: spreads_left_out(medians, others, sheet_only=sheet) for sheet in (False, True)}
        for anchor in others:
            row: dict = {"anchor": anchor, "target": left_out, "n": len(steps.workloads)}
            for sheet, prefix in ((False, ""), (True, "sheet_only_")):
                target = measured_target(medians, left_out, sheet_only=sheet)
                for given, case in CASES.items():
                    found = answer_left_out(steps, medians, networks, laws, anchor, target, given, halves[sheet])
                    row |= _figures(found, steps.latency_ms[left_out], steps.architectures, f"{prefix}{{}}_{case}")
                    if given and not sheet:
                        predicted[anchor, left_out] = found.latency_ms
            row["one_constant"] = _one_constant(steps, medians, anchor, left_out)
            directions.append(row)
    return {
        "directions": directions,
        "mean": _over(directions, np.mean),
        "worst": _over(directions, np.max, "mape"),
        "by_gpu": {
            name: _over([row for row in directions if row["target"] == name], np.mean) for name in steps.instances
        },
        "by_model": {
            str(name): float(
                np.mean(
                    [
                        _mape(values, steps.latency_ms[pair[1]], steps.architectures == name)
                        for pair, values in predicted.items()
                    ]
                )
            )
            for name in np.unique(steps.architectures)
        },
    }


def other_gpus(
    medians: Steps,
    networks: LeftOutNetworks,
    epochs: pd.DataFrame,
    step_ms: np.ndarray,
    points: Mapping[str, BenchmarkPoint],
    reference: str,
) -> list[dict]:
    """A10G and P100, of which only data sheet and the benchmark's corrected step are known; truth is corrected too.

    A GPU with a published point is reached by that as well, as GPUs are that nobody measured.

    Parameters
    ----------
    step_ms : corrected steps of the rows of `epochs`.
    points : published, relative to the `reference` instance.
    """
    instances = medians.instances
    laws = laws_left_out(medians, instances)
    halves = {sheet: spreads_left_out(medians, instances, sheet_only=sheet) for sheet in (False, True)}
    by_point = {
        gpu: spreads_left_out(medians, instances, points[gpu].log_sd, sheet_only=False)
        for gpu in DERIVED.values()
        if gpu in points
    }
    found = []
    for source, gpu in DERIVED.items():
        rows = epochs.assign(step_ms=step_ms)[(epochs.instance == source).to_numpy()]
        true_ms = medians.workloads.merge(rows[[*WORKLOAD, "step_ms"]], on=WORKLOAD, how="left").step_ms.to_numpy()
        has = np.isfinite(true_ms)
        for anchor in instances:
            row: dict = {"anchor": anchor, "target": gpu, "n": int(has.sum())}
            for sheet, prefix in ((False, ""), (True, "sheet_only_")):
                benchmark_ms = None if sheet else float(true_ms[medians.benchmark][0])
                target = LeftOutGpu(load_gpus()[gpu], benchmark_ms)
                answer = answer_left_out(medians, medians, networks, laws, anchor, target, True, halves[sheet])
                row |= _figures_of(answer, true_ms, medians, has, f"{prefix}{{}}_with_latency")
            if gpu in points:
                target = LeftOutGpu(load_gpus()[gpu], None, (reference, points[gpu].log_speed))
                answer = answer_left_out(medians, medians, networks, laws, anchor, target, True, by_point[gpu])
                row |= _figures_of(answer, true_ms, medians, has, "published_{}_with_latency")
            found.append(row)
    return found


def _figures_of(found: Answer, true_ms: np.ndarray, medians: Steps, has: np.ndarray, name: str) -> dict[str, float]:
    kept = Answer(found.latency_ms[has], found.log_half_width[has])
    return _figures(kept, true_ms[has], medians.architectures[has], name)


def _figures(found: Answer, true_ms: np.ndarray, architectures: np.ndarray, name: str) -> dict[str, float]:
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


def _over(rows: list[dict], how, only: str = "") -> dict[str, float]:
    keys = [key for key in rows[0] if key not in ("anchor", "target", "n") and only in key]
    return {key: float(how([row[key] for row in rows])) for key in keys}
