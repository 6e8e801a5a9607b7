"""Fit the scalers between two sizes: the documented polynomial, and the default correction of the scaling model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import PolynomialFeatures

from profet_core.prediction.scaler import (
    AXIS_RANGE,
    HEAD_OPERATIONS,
    KNOTS,
    MAX_LOG_RESIDUAL,
    DocumentedScaler,
    LearnedScaler,
    ResidualPolynomial,
    end_inputs,
    informed_inputs,
    polynomial_terms,
    scaling_model_ms,
)
from profet_lab.measurements.tables import Measurements
from profet_recorder.profiles.record import DEVICE_PREFIX

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


#: The constant is hardly shrunk, so the scaling model may be biased.
_CONSTANT_SHARE = 0.02
#: Reweighting steps that turn squares into absolute errors, and the residual below which an error counts as none.
_STEPS, _MIN_RESIDUAL = 6, 0.02
#: With fewer architectures there is nothing to choose by.
_MIN_ARCHITECTURES = 3
#: Cubic in the inputs, with an offset for each instance, since each switches between its own kernels. The model and
#: this form were settled with all architectures in view; how strongly terms are shrunk is chosen by inner folds.
DEGREE = 3
PENALTIES = (0.003, 0.01, 0.03, 0.1)


def curve_rows(measurements: Measurements, axis: str) -> pd.DataFrame:
    """Measured curves with what the other instances' profiles show of their head.

    Returns:
    One row per (instance, model, size of the other axis) with all five sizes measured and per other instance (anchor)
    a profile may come from: columns instance, anchor, model, other_size, head_share (NaN where not profiled), and the
    five sizes with the medians of the repeats, milliseconds. No rows if no workload has all five.
    """
    shares = _head_shares(measurements, axis)
    parts = []
    for instance in measurements.instances:
        curves = latency_curves(measurements, instance, axis)
        keys = curves.index.set_names(["model", "other_size"])
        for anchor in measurements.instances:
            if anchor != instance:
                known = _nearest(shares[anchor], keys)
                part = curves.set_axis(keys).reset_index().rename_axis(columns=None)
                parts.append(part.assign(instance=instance, anchor=anchor, head_share=known))
    columns = ["instance", "anchor", "model", "other_size", "head_share", *KNOTS[axis]]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def fit_learned_scaler(rows: pd.DataFrame, axis: str) -> LearnedScaler:
    """The scaler from rows as `curve_rows` gives them; shrinkage is chosen by leaving out each of their models."""
    ends_only = rows.assign(head_share=np.nan, other_size=np.nan)
    informed = rows[rows["head_share"].notna()] if axis == "pixels" else rows
    return LearnedScaler(axis, _fit_chosen(ends_only, axis), _fit_chosen(informed, axis))


def learned_scalers(measurements: Measurements) -> list[dict]:
    """Rows of the manifest, one an axis; an axis too little measured has none, and is served by the polynomial."""
    tables = {axis: curve_rows(measurements, axis) for axis in KNOTS}
    return [
        fit_learned_scaler(rows, axis).as_json()
        for axis, rows in tables.items()
        if rows["model"].nunique() >= _MIN_ARCHITECTURES
    ]


def held_out_scalers(rows: pd.DataFrame, axis: str) -> Iterator[tuple[str, LearnedScaler]]:
    """Each architecture of `rows`, and the scaler that never saw it."""
    for model in sorted(set(rows["model"])):
        yield model, fit_learned_scaler(rows[rows["model"] != model], axis)


def _nearest(shares: pd.Series, keys: pd.Index) -> np.ndarray:
    """The share at each (model, other size) of `keys`, or at the nearest other size this model was profiled at."""
    by_model = {model: part.droplevel(0) for model, part in shares.groupby(level=0)}
    found = np.full(len(keys), np.nan)
    for row, (model, other_size) in enumerate(keys):
        if model in by_model:
            distances = np.abs(np.log(by_model[model].index.to_numpy(float) / other_size))
            found[row] = by_model[model].iloc[int(distances.argmin())]
    return found


def _head_shares(measurements: Measurements, axis: str) -> dict[str, pd.Series]:
    """Per instance the head's share at the axis' largest size by (model, size of the other axis)."""
    column, other = AXIS_COLUMN[axis], AXIS_COLUMN["pixels" if axis == "batch" else "batch"]
    operations = list(measurements.operations)
    head = [operations.index(name) for name in HEAD_OPERATIONS if name in operations]
    busy = [i for i, name in enumerate(operations) if name.startswith(DEVICE_PREFIX) and name != "Device_IDLE"]
    shares = {}
    for instance, times_us in measurements.times_us.items():
        with np.errstate(invalid="ignore"):
            share = times_us[:, head].sum(axis=1) / times_us[:, busy].sum(axis=1)
        table = measurements.workloads.assign(share=share)
        largest = table[table[column] == KNOTS[axis][-1]]
        shares[instance] = largest.groupby(["model", other])["share"].median()
    return shares


class _Problem:
    """Inputs and targets of one correction, prepared once for many settings and folds."""

    def __init__(self, rows: pd.DataFrame, axis: str) -> None:
        curves = rows[list(KNOTS[axis])].to_numpy(float)
        low_ms, high_ms = curves[:, 0], curves[:, -1]
        other_sizes = rows["other_size"].to_numpy(float)
        known = not np.isnan(other_sizes).all()
        inputs = informed_inputs(axis, low_ms, high_ms, other_sizes) if known else end_inputs(low_ms, high_ms)
        self.inputs = inputs
        self.model_ms = scaling_model_ms(axis, low_ms, high_ms, rows["head_share"].to_numpy(float))
        self.true_ms = curves[:, 1:-1]
        self.ends_ms = low_ms[:, None], high_ms[:, None]
        self.instances = rows["instance"].to_numpy(str)
        self.models = rows["model"].to_numpy(str)

    def fit(self, training: np.ndarray, penalty: float) -> ResidualPolynomial:
        """Least absolute deviations with shrinkage, by reweighted least squares."""
        inputs = self.inputs[training]
        centre, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
        terms = polynomial_terms((inputs - centre) / spread, DEGREE)
        names = sorted(set(self.instances[training]))
        offsets = [self.instances[training] == name for name in names]
        columns = np.column_stack([terms, *offsets])
        penalties = np.array([penalty * _CONSTANT_SHARE, *[penalty] * (terms.shape[1] - 1), *[penalty] * len(names)])
        targets = np.log(self.true_ms[training] / self.model_ms[training])
        targets = np.clip(targets, -MAX_LOG_RESIDUAL, MAX_LOG_RESIDUAL)
        solved = np.column_stack([_least_absolute(columns, target, penalties) for target in targets.T])
        return ResidualPolynomial(
            degree=DEGREE,
            centre=_numbers(centre),
            spread=_numbers(spread),
            low=_numbers(inputs.min(axis=0)),
            high=_numbers(inputs.max(axis=0)),
            coefficients=tuple(_numbers(row) for row in solved[: terms.shape[1]]),
            offsets={name: _numbers(row) for name, row in zip(names, solved[terms.shape[1] :], strict=True)},
        )

    def errors(self, rows: np.ndarray, correction: ResidualPolynomial) -> np.ndarray:
        """Absolute relative error of each of `rows`, mean over the inner knots."""
        scaled_ms = self.model_ms[rows] * correction.factors(self.instances[rows], self.inputs[rows])
        scaled_ms = np.clip(scaled_ms, *(end[rows] for end in self.ends_ms))
        return np.abs(np.maximum.accumulate(scaled_ms, axis=1) / self.true_ms[rows] - 1).mean(axis=1)


def _fit_chosen(rows: pd.DataFrame, axis: str) -> ResidualPolynomial:
    problem = _Problem(rows, axis)
    folds = [problem.models == model for model in sorted(set(problem.models))]

    def held_out_error(penalty: float) -> float:
        errors = [problem.errors(left, problem.fit(~left, penalty)) for left in folds]
        return float(np.concatenate(errors).mean())

    return problem.fit(np.ones(len(rows), bool), min(PENALTIES, key=held_out_error))


def _least_absolute(columns: np.ndarray, target: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    weights = np.ones(len(target))
    for _ in range(_STEPS + 1):
        weighted = columns * (weights / len(target))[:, None]
        solved = np.linalg.solve(columns.T @ weighted + np.diag(penalties), weighted.T @ target)
        # 0.05: a usual residual, so that the penalties weigh as much beside absolute errors as beside squares.
        weights = 0.05 / np.maximum(np.abs(target - columns @ solved), _MIN_RESIDUAL)
    return solved


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
