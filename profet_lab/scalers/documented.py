"""Fit the documented scalers: an order-2 polynomial per instance and axis."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import PolynomialFeatures

from profet_core.sizes.axes import AXIS_RANGE, KNOTS
from profet_core.sizes.scaler import DocumentedScaler
from profet_lab.measurements.tables import Measurements

AXIS_COLUMN = {"batch": "batch_size", "pixels": "pixels"}
#: Axis -> the size along the other one whose workloads PROFET fits on.
FITTED_AT = {"batch": 256, "pixels": 64}


def latency_curves(measurements: Measurements, instance: str, axis: str) -> pd.DataFrame:
    """Median latency over the repeats, one row per (model, other axis) with all five sizes, one column a size.

    Every workload that ran on this instance counts, whether or not the other instances could hold it.
    """
    runs = measurements.all_latencies
    return curves_of(runs[runs["instance"] == instance], "batch_latency_ms", axis)


def curves_of(table: pd.DataFrame, value: str, axis: str) -> pd.DataFrame:
    """Medians of column `value`, one row per (model, other axis) with all five sizes, one column a size."""
    column, other = AXIS_COLUMN[axis], AXIS_COLUMN["pixels" if axis == "batch" else "batch"]
    medians = table.groupby(["model", other, column])[value].median()
    return medians.unstack(column).reindex(columns=KNOTS[axis]).dropna()


def min_max_scaled(curves: pd.DataFrame) -> pd.DataFrame:
    """Each row scaled to 0 at its smallest and 1 at its largest latency."""
    low, high = curves.min(axis=1), curves.max(axis=1)
    return curves.sub(low, axis=0).div(high - low, axis=0)


def fit_scaler(curves: pd.DataFrame, instance: str, axis: str) -> DocumentedScaler:
    """The scaler from curves as `latency_curves` gives them.

    PROFET's least-squares polynomial over the workloads of `FITTED_AT`, then normalized to hit both ends exactly and
    kept from falling: with u the size scaled to 0..1, every quadratic through both ends is u + bend * (u**2 - u), and
    it rises throughout exactly if |bend| <= 1.
    """
    chosen = min_max_scaled(curves[curves.index.get_level_values(1) == FITTED_AT[axis]])
    sizes = np.tile(np.asarray(KNOTS[axis], float), len(chosen))
    powers = PolynomialFeatures(2).fit_transform(sizes.reshape(-1, 1))
    fitted = LinearRegression(fit_intercept=False).fit(powers, chosen.to_numpy().ravel()).coef_
    smallest, largest = AXIS_RANGE[axis]
    span = largest - smallest
    rise = fitted @ np.array([0.0, span, largest**2 - smallest**2])
    bend = float(np.clip(fitted[2] * span**2 / rise, -1, 1))
    return curve_from_bend(instance, axis, bend)


def curve_from_bend(instance: str, axis: str, bend: float) -> DocumentedScaler:
    """The quadratic u + bend * (u**2 - u), written in powers of the size itself."""
    smallest, largest = AXIS_RANGE[axis]
    span = largest - smallest
    quadratic = bend / span**2
    linear = (1 - bend) / span - 2 * quadratic * smallest
    intercept = quadratic * smallest**2 - (1 - bend) * smallest / span
    return DocumentedScaler(instance, axis, intercept, linear, quadratic)
