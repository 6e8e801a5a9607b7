"""Fit and validate `growth.json`: scaling with batch and pixel size, `profet_core.prediction.growth`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import minimize, nnls

from profet_core.latency import quantile
from profet_core.prediction.growth import (
    GROWTH_VERSION,
    MAX_AREA_POWER,
    MAX_BATCH_POWER,
    MIN_GROWTH,
    SIGNS,
    AnchorGrowthModel,
    Growth,
    KnownPoint,
    ScalingError,
    Sizes,
    scale_from_two,
    scaling_distances,
    step_signs,
)
from profet_core.prediction.scaler import KNOTS
from profet_lab.measurements.tables import WITH_LATENCY, WORKLOAD, ClassBank, DataError, Measurements, class_bank
from profet_lab.models_folder import rounded, signed
from profet_lab.tasks import run_tasks

#: How strongly coefficients of share, batch and area are held towards 0: networks differ most in the last.
PENALTIES = (3e-3, 1e-3, 2e-2)
#: An error below this, in the logarithm, counts as little as none.
_MIN_SMOOTH_ERROR = 0.03
_ITERATIONS = 120
#: Of pairs that differ on both axes, every so many one is fitted: they are twice as many as those along one.
_BOTH_AXES_EVERY = 3
#: Least error of a size e times as large, in the logarithm.
_MIN_ERROR = 0.01
#: Share of measurements that an interval is to cover.
LEVEL = 0.9
#: Columns of the signs of a known step.
_SIGNS = [f"sign {number}" for number in range(len(SIGNS))]
#: With fewer architectures or sizes there is nothing to learn from.
_MIN_ARCHITECTURES, _MIN_SIZES = 3, 3


def growth_rows(
    measurements: Measurements, bank: ClassBank, anchor: str, predicted_ms: pd.Series | None = None
) -> pd.DataFrame:
    """Every pair of different sizes of a network on each instance, the first with a profile on `anchor`.

    Profiles and latencies are medians over their repeats.

    predicted_ms : by (instance, model, pixels, batch_size): the known step's latency instead of the measured one, and
        only the instances and sizes that it has.

    Returns:
    Columns model, instance, pixels, batch_size, other_pixels, other_batch; log_batch and log_area of the other size
    over the known one; log_growth as measured; and the known step's `_SIGNS`.
    """
    groups = measurements.workloads.groupby(WORKLOAD)
    workloads = groups.size().index.to_frame(index=False)
    classes_ms = pd.DataFrame(bank.inputs[anchor, False].classes_ms).groupby(groups.ngroup().to_numpy()).median()
    runs = measurements.all_latencies.groupby(["instance", *WORKLOAD])["batch_latency_ms"].median().reset_index()
    known = workloads.assign(profile=np.arange(len(workloads))).merge(runs, on=WORKLOAD)
    others = runs.rename(
        columns={"pixels": "other_pixels", "batch_size": "other_batch", "batch_latency_ms": "other_ms"}
    )
    table = known.merge(others, on=["instance", "model"])
    if predicted_ms is not None:
        table = table.drop(columns="batch_latency_ms").join(
            predicted_ms.rename("batch_latency_ms"), on=["instance", *WORKLOAD], how="inner"
        )
    same = (table["pixels"] == table["other_pixels"]) & (table["batch_size"] == table["other_batch"])
    table = table[~same].reset_index(drop=True)
    latency_ms = table["batch_latency_ms"].to_numpy(float)
    table = table.assign(
        log_batch=np.log((table["other_batch"] / table["batch_size"]).to_numpy(float)),
        log_area=2 * np.log((table["other_pixels"] / table["pixels"]).to_numpy(float)),
        log_growth=np.log(table["other_ms"].to_numpy(float) / latency_ms),
    )
    signs = step_signs(bank.classes, classes_ms.to_numpy(float)[table["profile"]], latency_ms)
    return table.join(pd.DataFrame(signs, columns=_SIGNS))


def _signs(rows: pd.DataFrame) -> np.ndarray:
    """(rows, signs), in C's order, in which sums over rows end in the same digits."""
    return np.ascontiguousarray(rows[_SIGNS].to_numpy(float))


def fit_growth(rows: pd.DataFrame) -> AnchorGrowthModel:
    """Least absolute error of the logarithm, every architecture weighing the same, with shrinkage."""
    both = (rows["log_batch"] != 0) & (rows["log_area"] != 0)
    rows = rows[~both | (both.cumsum() % _BOTH_AXES_EVERY == 0)]
    signs, instances = _signs(rows), rows["instance"].to_numpy(str)
    centre, spread = signs.mean(axis=0), signs.std(axis=0)
    spread = np.where(spread > 1e-6, spread, 1.0)
    low, high = signs.min(axis=0), signs.max(axis=0)
    names = sorted(set(instances))
    columns = np.column_stack(
        [np.ones(len(signs)), (signs - centre) / spread, *(instances == name for name in names)]
    ).astype(float)
    solved = _Problem(columns, rows).solve()
    share, batch, area = solved[:-1].reshape(3, -1)
    width = 1 + len(SIGNS)
    return AnchorGrowthModel(
        centre=centre,
        spread=spread,
        low=low,
        high=high,
        share=share[:width],
        batch=batch[:width],
        area=area[:width],
        offsets={
            name: (float(share[width + place]), float(batch[width + place]), float(area[width + place]))
            for place, name in enumerate(names)
        },
        sharpness=float(np.exp(solved[-1])),
    )


def held_out_growth(rows: pd.DataFrame) -> dict[str, AnchorGrowthModel]:
    """Each architecture, and the scaling model that never saw it."""
    names = sorted(set(rows["model"]))
    return dict(zip(names, run_tasks(fit_growth, [(rows[rows["model"] != name],) for name in names]), strict=True))


def predicted_growth(scaling: AnchorGrowthModel, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Predicted log scaling and the share of the known step that grows, both (rows,)."""
    growth = scaling.growth(rows["instance"].tolist(), _signs(rows))
    return _row_by_row(growth, *(rows[name].to_numpy() for name in ("log_batch", "log_area"))), growth.share


def fit_error(errors: pd.DataFrame) -> ScalingError:
    """`LEVEL` quantile of held-out |log| errors per axis, architectures weighted equally.

    `errors` : columns model, log_batch, log_area, error and share, as `fit_held_out` has them.
    """
    along = (errors["log_batch"] != 0) != (errors["log_area"] != 0)
    batch, area = (_axis_error(errors[along & (errors[name] != 0)], name) for name in ("log_batch", "log_area"))
    return ScalingError((batch[0], batch[1], area[0], area[1]), (batch[2], batch[3], area[2], area[3]))


def _axis_error(errors: pd.DataFrame, axis: str) -> list[float]:
    """Coefficients of size and still, up and down, by the rows along one axis; the least ones without rows."""
    least = np.array([_MIN_ERROR, _MIN_ERROR, 0.0, 0.0])
    if errors.empty:
        return least.tolist()
    log_batch, log_area, error, share = errors[["log_batch", "log_area", "error", "share"]].to_numpy(float).T
    away = (
        scaling_distances(log_batch, log_area)[:2]
        if axis == "log_batch"
        else scaling_distances(log_batch, log_area)[2:]
    )
    columns = np.vstack([away, away * (1 - share)]).T
    weights = _weights(errors["model"].to_numpy(str))
    root = np.sqrt(weights)
    solved, _ = nnls(columns * root[:, None], error * root)
    # However well some direction was met, the farther the less sure.
    solved = np.maximum(solved, least)
    return (solved * weighted_quantile(error / (columns @ solved), weights, LEVEL)).tolist()


def weighted_quantile(values: np.ndarray, weights: np.ndarray, level: float) -> float:
    """The value below which `level` of the weight lies."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(cumulative, level * cumulative[-1])])


def _row_by_row(growth: Growth, log_batch: np.ndarray, log_area: np.ndarray) -> np.ndarray:
    logit = growth.share_logit
    work = growth.batch_power * log_batch + growth.area_power * log_area
    joined = np.logaddexp(-np.logaddexp(0, logit), -np.logaddexp(0, -logit) + growth.sharpness * work)
    return (1 - MIN_GROWTH) * joined / growth.sharpness + MIN_GROWTH * work


def _weights(models: np.ndarray) -> np.ndarray:
    """Every architecture the same in all, to a sum of 1."""
    counts = pd.Series(models).groupby(models).transform("size").to_numpy(float)
    return 1 / counts / len(set(models))


class _Problem:
    """The coefficients of share, batch and area, and the logarithm of the sharpness, in one vector."""

    def __init__(self, columns: np.ndarray, rows: pd.DataFrame) -> None:
        self.columns = columns
        self.log_batch, self.log_area, self.log_growth = (
            rows[name].to_numpy() for name in ("log_batch", "log_area", "log_growth")
        )
        self.weights = _weights(rows["model"].to_numpy(str))
        width = columns.shape[1]
        self.start = np.zeros(3 * width + 1)
        self.start[[0, width, 2 * width]] = 1.0, 1.5, 1.0
        self.penalty = np.append(np.repeat(PENALTIES, width), 0.0)
        self.penalty[[0, width, 2 * width]] = 0.0

    def solve(self) -> np.ndarray:
        found = minimize(self._loss, self.start, jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS})
        return found.x

    def _loss(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Smoothed absolute error with its gradient."""
        share, batch, area = (self.columns @ part for part in values[:-1].reshape(3, -1))
        growth = Growth(
            share, MAX_BATCH_POWER * _sigmoid(batch), MAX_AREA_POWER * _sigmoid(area), float(np.exp(values[-1]))
        )
        log_batch, log_area, sharpness = self.log_batch, self.log_area, growth.sharpness
        error = _row_by_row(growth, log_batch, log_area) - self.log_growth
        smooth = np.sqrt(error**2 + _MIN_SMOOTH_ERROR**2)
        work = growth.batch_power * log_batch + growth.area_power * log_area
        sigmoid = _sigmoid(share + sharpness * work)
        by_work = (1 - MIN_GROWTH) * sigmoid + MIN_GROWTH
        joined = np.logaddexp(-np.logaddexp(0, share), -np.logaddexp(0, -share) + sharpness * work) / sharpness
        pull = self.weights * error / smooth
        gradient = [
            (1 - MIN_GROWTH) * (sigmoid - _sigmoid(share)) / sharpness,
            by_work * log_batch * growth.batch_power * (1 - _sigmoid(batch)),
            by_work * log_area * growth.area_power * (1 - _sigmoid(area)),
        ]
        parts = [self.columns.T @ (pull * part) for part in gradient]
        by_sharpness = float((pull * (1 - MIN_GROWTH) * (sigmoid * work - joined)).sum())
        loss = float((self.weights * smooth).sum() + (self.penalty * values**2).sum())
        return loss, np.concatenate([*parts, [by_sharpness]]) + 2 * self.penalty * values


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -40, 40)))


def growth_by_model(models: Mapping[str, AnchorGrowthModel], rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with log scaling `grown` and growing `share`, by the scaling model of their architecture."""
    grown, shares = np.empty(len(rows)), np.empty(len(rows))
    for architecture, scaling in models.items():
        judged = (rows["model"] == architecture).to_numpy()
        if judged.any():
            grown[judged], shares[judged] = predicted_growth(scaling, rows[judged])
    return rows.assign(grown=grown, share=shares)


def fit_held_out(
    measurements: Measurements, bank: ClassBank
) -> tuple[dict[str, pd.DataFrame], dict[str, dict[str, AnchorGrowthModel]], pd.DataFrame]:
    """Everything fitted without one architecture, for each; minutes.

    Returns:
    rows : anchor -> `growth_by_model` of its pairs of sizes.
    models : anchor -> architecture -> the scaling model that never saw it.
    errors : columns model, log_batch, log_area, error (absolute) and share of all rows.
    """
    pairs = {anchor: growth_rows(measurements, bank, anchor) for anchor in measurements.instances}
    models = {anchor: held_out_growth(part) for anchor, part in pairs.items()}
    rows = {anchor: growth_by_model(models[anchor], part) for anchor, part in pairs.items()}
    errors = pd.concat(rows.values(), ignore_index=True)
    errors = errors.assign(error=(errors["grown"] - errors["log_growth"]).abs())
    return rows, models, errors[["model", "log_batch", "log_area", "error", "share"]]


def measured_sizes(measurements: Measurements) -> bool:
    """Whether the measurements have enough networks and sizes to learn scaling from."""
    table = measurements.workloads
    sizes = table[["pixels", "batch_size"]].drop_duplicates()
    return table["model"].nunique() >= _MIN_ARCHITECTURES and len(sizes) >= _MIN_SIZES


def growth_content(measurements: Measurements) -> dict:
    """Content of `growth.json`: a scaling model per anchor, and its leave-one-architecture-out error."""
    if not measured_sizes(measurements):
        raise DataError(
            f"Scaling is learned from at least {_MIN_ARCHITECTURES} networks at {_MIN_SIZES} sizes or more."
        )
    rows, _, errors = fit_held_out(measurements, class_bank(measurements))
    content = {
        "schema_version": GROWTH_VERSION,
        "laws": {anchor: _model_content(fit_growth(part)) for anchor, part in rows.items()},
        "error": asdict(fit_error(errors)),
        "fitted_on": dict(measurements.sha256),
    }
    return signed(content)


def _model_content(scaling: AnchorGrowthModel) -> dict:
    """Six digits of each number."""
    return rounded({name: one.tolist() if isinstance(one, np.ndarray) else one for name, one in vars(scaling).items()})


_KEYS = ["instance", *WORKLOAD]


def growth_report(measurements: Measurements, bank: ClassBank, predictions: pd.DataFrame | None) -> dict:
    """Figures by axis and distance: errors in percent, coverage and half-width of the 90 % interval.

    "carried": from the measured latency at one size. "chain": from a prediction at one size on another instance.
    "between": from the measured latencies at both ends of an axis, at the sizes between.

    predictions : columns anchor, target, model, pixels, batch_size, predicted_ms, log_half_width, of models that never
        saw the architecture; None leaves "chain" out.
    """
    rows, models, all_errors = fit_held_out(measurements, bank)
    # An architecture's interval comes from the errors on all others.
    errors = {model: fit_error(all_errors[all_errors["model"] != model]) for model in sorted(set(all_errors["model"]))}
    scaled = pd.concat([_with_errors(part, errors, 0.0) for part in rows.values()], ignore_index=True)
    between = [_between_table(measurements, rows, models, errors, axis) for axis in KNOTS]
    report = {
        "carried": _figures(scaled),
        "between": [
            {"axis": axis, "n": len(table), "mape": _mape(table, "log_error"), **_interval(table)}
            for axis, table in zip(KNOTS, between, strict=True)
            if not table.empty
        ],
    }
    if predictions is not None:
        report["chain"] = _figures(_chain_table(measurements, bank, models, errors, predictions))
    return report


def predictions_of_table(table: pd.DataFrame) -> pd.DataFrame:
    """What `growth_report` takes, from the rows of `default_table`."""
    keys = ["anchor", "target", *WORKLOAD]
    medians = table.groupby(keys)[[WITH_LATENCY, f"{WITH_LATENCY}_half"]].median().reset_index()
    return medians.rename(columns={WITH_LATENCY: "predicted_ms", f"{WITH_LATENCY}_half": "log_half_width"})


def _chain_table(
    measurements: Measurements,
    bank: ClassBank,
    models: Mapping[str, Mapping[str, AnchorGrowthModel]],
    errors: Mapping[str, ScalingError],
    predictions: pd.DataFrame,
) -> pd.DataFrame:
    parts = []
    for anchor, part in predictions.groupby("anchor"):
        known = part.rename(columns={"target": "instance"}).set_index(_KEYS)
        rows = growth_rows(measurements, bank, str(anchor), known["predicted_ms"])
        halves = rows.join(known["log_half_width"], on=_KEYS)["log_half_width"].to_numpy(float)
        parts.append(_with_errors(growth_by_model(models[str(anchor)], rows), errors, halves))
    return pd.concat(parts, ignore_index=True)


def _with_errors(
    rows: pd.DataFrame, errors: Mapping[str, ScalingError], log_half_width: np.ndarray | float
) -> pd.DataFrame:
    """Rows of `growth_by_model` with distances in knots, log errors, intervals, and errors of proportional scaling."""
    scaling_width = np.empty(len(rows))
    for model, error in errors.items():
        judged = (rows["model"] == model).to_numpy()
        columns = (rows.loc[judged, name].to_numpy() for name in ("share", "log_batch", "log_area"))
        scaling_width[judged] = quantile() * error.log_sd(*columns)
    return rows.assign(
        batch_knots=_knots(rows, "batch", "other_batch", "batch_size"),
        pixel_knots=_knots(rows, "pixels", "other_pixels", "pixels"),
        log_error=rows["grown"] - rows["log_growth"],
        log_half_width=np.hypot(log_half_width, scaling_width),
        proportional=rows["log_batch"] + rows["log_area"] - rows["log_growth"],
    )


def _knots(table: pd.DataFrame, axis: str, other: str, own: str) -> np.ndarray:
    places = {size: place for place, size in enumerate(KNOTS[axis])}
    return (table[other].map(places) - table[own].map(places)).to_numpy(int)


def _figures(table: pd.DataFrame) -> list[dict]:
    """One row an axis and distance in knots; every architecture weighs the same."""
    along = {
        "batch": table[table["pixel_knots"] == 0].assign(knots=table["batch_knots"].abs()),
        "pixels": table[table["batch_knots"] == 0].assign(knots=table["pixel_knots"].abs()),
    }
    both = table[(table["pixel_knots"] != 0) & (table["batch_knots"] != 0)]
    found = []
    for axis, part in along.items():
        found += [_row(axis, int(str(knots)), rows) for knots, rows in part.groupby("knots")]
        found.append(_row(axis, None, part))
    return [*found, _row("both", None, both)]


def _row(axis: str, knots: int | None, rows: pd.DataFrame) -> dict:
    return {
        "axis": axis,
        "knots": knots,
        "n": len(rows),
        "mape": _mape(rows, "log_error"),
        "proportional": _mape(rows, "proportional"),
        **_interval(rows),
    }


def _mape(rows: pd.DataFrame, error: str) -> float:
    return _mean(rows, lambda part: np.abs(np.expm1(part[error])))


def _interval(rows: pd.DataFrame) -> dict[str, float]:
    return {
        "coverage_90": _mean(rows, lambda part: part["log_error"].abs() <= part["log_half_width"]),
        "median_interval_pct": float(100 * np.sinh(rows["log_half_width"]).median()),
    }


def _mean(rows: pd.DataFrame, of: Callable[[pd.DataFrame], pd.Series]) -> float:
    """Percent, every architecture weighing the same."""
    return float(100 * of(rows).astype(float).groupby(rows["model"]).mean().mean())


def _between_table(
    measurements: Measurements,
    rows: Mapping[str, pd.DataFrame],
    models: Mapping[str, Mapping[str, AnchorGrowthModel]],
    errors: Mapping[str, ScalingError],
    axis: str,
) -> pd.DataFrame:
    """An axis from the measured latencies at both its ends, with profiles of them on one anchor."""
    smallest, *inner, largest = KNOTS[axis]
    own, other = ("batch_size", "pixels") if axis == "batch" else ("pixels", "batch_size")
    curve = ["model", "instance", other]
    runs = measurements.all_latencies.groupby(_KEYS)["batch_latency_ms"].median()
    curves = runs.unstack(own).reindex(columns=KNOTS[axis]).dropna().reset_index()
    parts = [pd.DataFrame({"model": [], "log_error": [], "log_half_width": []})]
    for anchor, (model, part) in product(measurements.instances, curves.groupby("model")):
        signs = rows[anchor][[*_SIGNS, *_KEYS, "batch_latency_ms"]].drop_duplicates(_KEYS).set_index(curve)
        low, high = (part[curve].join(signs[signs[own] == size], on=curve) for size in (smallest, largest))
        there = (low[_SIGNS[0]].notna() & high[_SIGNS[0]].notna()).to_numpy()
        if not there.any():
            continue
        scaling = models[anchor][str(model)]
        first, last = (
            _profiled_end(low[there], axis, smallest, scaling),
            _profiled_end(high[there], axis, largest, scaling),
        )
        rising = replace(last, log_ms=np.maximum(first.log_ms, last.log_ms))
        scaled = scale_from_two(first, rising, errors[str(model)], _along(axis, np.array(inner, float)))
        error = np.log(scaled.latency_ms) - np.log(part[there][list(inner)].to_numpy(float))
        half = scaled.log_half_width.ravel()
        parts.append(pd.DataFrame({"model": str(model), "log_error": error.ravel(), "log_half_width": half}))
    return pd.concat(parts, ignore_index=True)


def _profiled_end(steps: pd.DataFrame, axis: str, size: int, scaling: AnchorGrowthModel) -> KnownPoint:
    """Steps at one endpoint of an axis, with their scaling."""
    return KnownPoint(
        Sizes(size, 1.0) if axis == "batch" else Sizes(1.0, float(size) ** 2),
        np.log(steps["batch_latency_ms"].to_numpy(float)),
        np.zeros(len(steps)),
        scaling.growth(steps["instance"].tolist(), _signs(steps)),
    )


def _along(axis: str, sizes: np.ndarray) -> Sizes:
    still = np.ones(len(sizes))
    return Sizes(sizes, still) if axis == "batch" else Sizes(still, sizes**2)
