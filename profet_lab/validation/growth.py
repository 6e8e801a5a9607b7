"""Validate scaling to other sizes from one or two profiles, architectures held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from profet_core.latency import quantile
from profet_core.prediction.growth import AnchorGrowthModel, KnownPoint, ScalingError, SizePoint, Sizes, scale_from_two
from profet_core.prediction.scaler import KNOTS
from profet_lab.classes.bank import ClassBank
from profet_lab.measurements.tables import WITH_LATENCY, WORKLOAD, Measurements
from profet_lab.scalers.growth import (
    GrowthRows,
    HeldOutGrowth,
    fit_error,
    fit_held_out,
    growth_by_model,
    growth_rows,
)

_KEYS = ["instance", *WORKLOAD]


def growth_report(measurements: Measurements, bank: ClassBank, predictions: pd.DataFrame | None) -> dict:
    """Figures by axis and distance: errors in percent, coverage and half-width of the 90 % interval.

    "carried": from the measured latency at one size. "chain": from a prediction at one size on another instance.
    "between": from the measured latencies at both ends of an axis, at the sizes between.

    predictions : columns anchor, target, model, pixels, batch_size, predicted_ms, log_half_width, of models that never
        saw the architecture; None leaves "chain" out.
    """
    found = fit_held_out(measurements, bank)
    models = sorted(set(found.errors["model"]))
    # An architecture's interval comes from the errors on all others.
    errors = {model: fit_error(found.errors[found.errors["model"] != model]) for model in models}
    report = {"carried": _figures(_scaled_table(found, errors)), "between": _between(measurements, found, errors)}
    if predictions is not None:
        report["chain"] = _figures(_chain_table(measurements, bank, found, errors, predictions))
    return report


def predictions_of_table(table: pd.DataFrame) -> pd.DataFrame:
    """What `growth_report` takes, from the rows of `default_table`."""
    keys = ["anchor", "target", *WORKLOAD]
    medians = table.groupby(keys)[[WITH_LATENCY, f"{WITH_LATENCY}_half"]].median().reset_index()
    return medians.rename(columns={WITH_LATENCY: "predicted_ms", f"{WITH_LATENCY}_half": "log_half_width"})


def _scaled_table(found: HeldOutGrowth, errors: Mapping[str, ScalingError]) -> pd.DataFrame:
    parts = [
        _with_errors(part, *found.scaled[anchor], errors, np.zeros(len(part.log_growth)))
        for anchor, part in found.rows.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _chain_table(
    measurements: Measurements,
    bank: ClassBank,
    found: HeldOutGrowth,
    errors: Mapping[str, ScalingError],
    predictions: pd.DataFrame,
) -> pd.DataFrame:
    parts = []
    for anchor, part in predictions.groupby("anchor"):
        known = part.rename(columns={"target": "instance"}).set_index(_KEYS)
        rows = growth_rows(measurements, bank, str(anchor), known["predicted_ms"])
        halves = rows.table.join(known["log_half_width"], on=_KEYS)["log_half_width"].to_numpy(float)
        parts.append(_with_errors(rows, *growth_by_model(found.models[str(anchor)], rows), errors, halves))
    return pd.concat(parts, ignore_index=True)


def _with_errors(
    rows: GrowthRows, grown: np.ndarray, shares: np.ndarray, errors: Mapping[str, ScalingError], halves: np.ndarray
) -> pd.DataFrame:
    """The rows with distances in knots, log errors, intervals, and the error of proportional scaling."""
    scaling_width = np.empty(len(grown))
    for model, error in errors.items():
        judged = rows.models == model
        scaling_width[judged] = quantile() * error.log_sd(shares[judged], rows.log_batch[judged], rows.log_area[judged])
    table = rows.table
    return table.assign(
        batch_knots=_knots(table, "batch", "other_batch", "batch_size"),
        pixel_knots=_knots(table, "pixels", "other_pixels", "pixels"),
        log_error=grown - rows.log_growth,
        log_half_width=np.hypot(halves, scaling_width),
        proportional=rows.log_batch + rows.log_area - rows.log_growth,
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


def _between(measurements: Measurements, found: HeldOutGrowth, errors: Mapping[str, ScalingError]) -> list[dict]:
    """Each axis from the measured latencies at both its ends, with profiles of them on one anchor."""
    rows = []
    for axis in KNOTS:
        parts = [_between_table(measurements, found, errors, anchor, axis) for anchor in measurements.instances]
        table = pd.concat(parts, ignore_index=True)
        if table.empty:
            continue
        rows.append({"axis": axis, "n": len(table), "mape": _mape(table, "log_error"), **_interval(table)})
    return rows


def _between_table(
    measurements: Measurements, found: HeldOutGrowth, errors: Mapping[str, ScalingError], anchor: str, axis: str
) -> pd.DataFrame:
    smallest, *inner, largest = KNOTS[axis]
    own, other = ("batch_size", "pixels") if axis == "batch" else ("pixels", "batch_size")
    curve = ["model", "instance", other]
    rows = found.rows[anchor]
    signs = pd.DataFrame(rows.signs).join(rows.table[[*_KEYS, "batch_latency_ms"]])
    signs = signs.drop_duplicates(_KEYS).set_index(curve)
    runs = measurements.all_latencies.groupby(_KEYS)["batch_latency_ms"].median()
    curves = runs.unstack(own).reindex(columns=KNOTS[axis]).dropna().reset_index()
    parts = [pd.DataFrame({"model": [], "log_error": [], "log_half_width": []})]
    for model, part in curves.groupby("model"):
        low, high = (part[curve].join(signs[signs[own] == size], on=curve) for size in (smallest, largest))
        there = (low[0].notna() & high[0].notna()).to_numpy()
        if not there.any():
            continue
        scaling = found.models[anchor][str(model)]
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
    """Steps at one endpoint of an axis, with their scaling; features are the numeric columns."""
    names: Iterable[object] = steps.columns
    signs = steps[[name for name in names if isinstance(name, int)]].to_numpy(float)
    return KnownPoint(
        SizePoint(size, 1.0) if axis == "batch" else SizePoint(1.0, float(size) ** 2),
        np.log(steps["batch_latency_ms"].to_numpy(float)),
        np.zeros(len(steps)),
        scaling.growth(steps["instance"].tolist(), signs),
    )


def _along(axis: str, sizes: np.ndarray) -> Sizes:
    still = np.ones(len(sizes))
    return Sizes(sizes, still) if axis == "batch" else Sizes(still, sizes**2)
