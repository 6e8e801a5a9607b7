"""Fit the analytical model and every method that corrects it on some of the measured steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import lightgbm
import numpy as np
import xgboost
from scipy.optimize import least_squares

from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.gpus import Gpu
from profet_core.ensemble.fitted import TreeStack
from profet_core.from_layers.costs import WORK, GpuCosts, StepAmounts, step_amounts
from profet_core.from_layers.model import (
    BY_LAW,
    LAW,
    LIGHTGBM,
    LOG_LINEAR,
    METHODS,
    XGBOOST,
    Correction,
    EstimateModel,
    LogLinear,
    feature_matrix,
    features_of,
)
from profet_core.latency import SMOOTH_MAX_POWER, smooth_max
from profet_core.layers.networks import counts_of
from profet_core.transfer.targets import host_named
from profet_lab.estimate.rows import BENCHMARK, EstimateRows
from profet_lab.export import boosted_stack, xgboost_stack
from profet_lab.transfer.leave_one_gpu_out import plain_specs_log_speed

#: So many features at most, and one more only if it makes the mean error on the folds this share smaller.
MOST_FEATURES = 12
LEAST_GAIN = 0.003
#: Folds of networks that judge a selection; a little ridge where features tell the same.
FOLDS = 5
_RIDGE = 1e-3


@dataclass(frozen=True)
class Selected:
    """What was selected.

    columns : in the order of selection. weights : by column. errors : mean absolute log error on the folds after each
        selection, the first before any.
    """

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    intercept: float
    errors: tuple[float, ...]


def forward_selection(
    features: np.ndarray, values: np.ndarray, rises: Sequence[bool], networks: np.ndarray
) -> Selected:
    """Select features of `features` (rows, features), one after the other, that predict `values` (rows,).

    A feature that rises gets no weight below zero: what would need one is not selected.

    networks : of each row; folds leave whole networks out.
    """
    names = sorted(set(networks.tolist()))
    fold_of = np.array([names.index(name) % FOLDS for name in networks])
    folds = [fold for fold in range(FOLDS) if (fold_of == fold).any()]
    design = np.concatenate([np.ones((len(values), 1)), features - features.mean(axis=0)], axis=1)
    sums = {fold: _sums(design[fold_of != fold], values[fold_of != fold]) for fold in folds}

    def score(columns: Sequence[int]) -> float:
        at, errors = [0, *(column + 1 for column in columns)], []
        for fold in folds:
            weights = _solved(*sums[fold], at)
            if _falls(weights, columns, rises):
                return np.inf
            errors.append(np.abs(design[fold_of == fold][:, at] @ weights - values[fold_of == fold]))
        return float(np.concatenate(errors).mean())

    chosen: list[int] = []
    errors = [score(chosen)]
    while len(chosen) < MOST_FEATURES:
        left = [column for column in range(features.shape[1]) if column not in chosen]
        best = min((score([*chosen, column]), column) for column in left)
        if best[0] > errors[-1] * (1 - LEAST_GAIN):
            break
        chosen.append(best[1])
        errors.append(best[0])
    everything = _sums(design, values)
    weights = _solved(*everything, [0, *(column + 1 for column in chosen)])
    while _falls(weights, chosen, rises):
        chosen.pop()
        weights = _solved(*everything, [0, *(column + 1 for column in chosen)])
    means = features.mean(axis=0)[chosen] if chosen else np.zeros(0)
    return Selected(tuple(chosen), tuple(weights[1:].tolist()), float(weights[0] - weights[1:] @ means), tuple(errors))


def _sums(design: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return design.T @ design, design.T @ values


def _solved(gram: np.ndarray, moments: np.ndarray, at: Sequence[int]) -> np.ndarray:
    ridge = _RIDGE * np.diag([0.0, *[1.0] * (len(at) - 1)]) * gram[0, 0]
    return np.linalg.solve(gram[np.ix_(at, at)] + ridge, moments[list(at)])


def _falls(weights: np.ndarray, columns: Sequence[int], rises: Sequence[bool]) -> bool:
    return any(weight < 0 and rises[column] for weight, column in zip(weights[1:], columns, strict=True))


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


def sheet_speed(costs: dict[str, GpuCosts], gpu: Gpu) -> float:
    """The same by specs alone, beside the measured GPU nearest to it."""
    gains = [(one, plain_specs_log_speed(gpu, load_gpus()[one.gpu])) for one in costs.values()]
    nearest, gain = min(gains, key=lambda pair: abs(pair[1]))
    return nearest.log_speed + gain


def _benchmark_amounts() -> StepAmounts:
    network, pixels, batch_size = BENCHMARK
    return step_amounts([counts_of(network, pixels)], [batch_size])


BENCHMARK_AMOUNTS = _benchmark_amounts()


ROUNDS = 300
_LIGHTGBM = {
    "objective": "regression",
    "num_leaves": 31,
    "learning_rate": 0.05,
    "min_data_in_leaf": 6,
    "lambda_l2": 1.0,
    "use_missing": False,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "verbosity": -1,
}
_XGBOOST = {
    "objective": "reg:squarederror",
    "max_depth": 5,
    "eta": 0.05,
    "min_child_weight": 3,
    "lambda": 1.0,
    "tree_method": "hist",
    "nthread": 1,
    "base_score": 0.0,
    "seed": 0,
}


def fit_lightgbm(features: np.ndarray, values: np.ndarray, rises: Sequence[bool]) -> TreeStack:
    """lightgbm's trees, as arrays."""
    data = lightgbm.Dataset(features, values, params={"verbosity": -1})
    parameters = {**_LIGHTGBM, "monotone_constraints": [int(one) for one in rises]}
    return boosted_stack([lightgbm.train(parameters, data, ROUNDS)])


def fit_xgboost(features: np.ndarray, values: np.ndarray, rises: Sequence[bool]) -> TreeStack:
    """xgboost's trees, as arrays."""
    parameters = {**_XGBOOST, "monotone_constraints": "(" + ",".join(str(int(one)) for one in rises) + ")"}
    booster = xgboost.train(parameters, xgboost.DMatrix(features, values), ROUNDS)
    return xgboost_stack([json.loads(tree) for tree in booster.get_dump(dump_format="json")], features.shape[1])


@dataclass(frozen=True)
class Training:
    """What corrections learn from: features, (rows, features), and log(latency / analytical model), (rows,)."""

    costs: dict[str, GpuCosts]
    features: np.ndarray
    log_ratios: np.ndarray
    networks: np.ndarray

    @property
    def rises(self) -> tuple[bool, ...]:
        """Which features a correction never falls with."""
        return tuple(feature.rises for feature in features_of(tuple(self.costs)))

    @property
    def law_column(self) -> int:
        """Which feature is log(analytical model)."""
        return [feature.name for feature in features_of(tuple(self.costs))].index(BY_LAW)


def training_of(rows: EstimateRows) -> Training:
    """The fitted analytical model and its residuals."""
    costs = fit_costs(rows)
    law_ms = law_latency_ms(costs, rows)
    features = np.zeros((len(rows), len(features_of(tuple(costs)))))
    for name, one in costs.items():
        on = rows.instances == name
        features[on] = feature_matrix(rows.amounts.of(on), name, one, law_ms[on], tuple(costs))
    return Training(costs, features, np.log(rows.latency_ms / law_ms), rows.networks)


def law_latency_ms(costs: dict[str, GpuCosts], rows: EstimateRows) -> np.ndarray:
    """Milliseconds a step by the analytical model alone, (rows,)."""
    found = np.zeros(len(rows))
    for name, one in costs.items():
        on = rows.instances == name
        found[on] = one.latency_ms(rows.amounts.of(on))
    return found


def fit_methods(rows: EstimateRows) -> EstimateModel:
    """Fit every method on these rows, without a default or interval widths."""
    training = training_of(rows)
    corrections = {name: fit_correction(training, name) for name in METHODS}
    return EstimateModel(training.costs, corrections, LAW, {}, {})


def fit_correction(training: Training, method: str) -> Correction | None:
    """One method's correction."""
    if method == LAW:
        return None
    if method == LOG_LINEAR:
        selected = select(training)
        return LogLinear(selected.columns, selected.weights, selected.intercept, training.law_column)
    fit = {XGBOOST: fit_xgboost, LIGHTGBM: fit_lightgbm}[method]
    return fit(training.features, training.log_ratios, training.rises)


def select(training: Training) -> Selected:
    """Features of the log-linear regression."""
    logs = training.log_ratios + training.features[:, training.law_column]
    return forward_selection(training.features, logs, training.rises, training.networks)
