"""Fit the analytical model and every method that corrects it on some of the measured steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import lightgbm
import numpy as np
import xgboost

from profet_core.ensemble.fitted import TreeStack
from profet_core.from_layers.costs import GpuCosts
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
from profet_lab.estimate.law import fit_costs
from profet_lab.estimate.log_linear import Selected, forward_selection
from profet_lab.estimate.rows import EstimateRows
from profet_lab.export import boosted_stack, xgboost_stack

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
