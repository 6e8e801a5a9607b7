"""Fits every method on some of the measured steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
from profet_lab.estimate.boosted import fit_lightgbm, fit_xgboost
from profet_lab.estimate.law import fit_costs
from profet_lab.estimate.log_linear import Selected, forward_selection
from profet_lab.estimate.rows import EstimateRows


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
