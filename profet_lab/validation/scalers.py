"""Leave-one-architecture-out accuracy of the documented scaler and of the default one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, root_mean_squared_error

from profet_core.sizes.axes import AXIS_RANGE, KNOTS
from profet_core.sizes.scaler import LearnedScaler
from profet_lab.cases import WITH_LATENCY
from profet_lab.measurements.tables import Measurements
from profet_lab.scalers.documented import AXIS_COLUMN, curves_of, fit_scaler, latency_curves
from profet_lab.scalers.learned import curve_rows, held_out_scalers
from profet_lab.validation.documented import mape_percent

_KEYS = ["anchor", "instance", "model", "other_size"]


class OutOfFoldScalers:
    """One scaler for each architecture of the measurements, fitted without it.

    Attributes
    ----------
    rows : `curve_rows` of the axis.
    scalers : architecture -> the scaler that never saw it.
    """

    def __init__(self, measurements: Measurements, axis: str) -> None:
        self.axis = axis
        self.rows = curve_rows(measurements, axis)
        self.scalers: Mapping[str, LearnedScaler] = dict(held_out_scalers(self.rows, axis))

    def from_true_ends(self) -> pd.DataFrame:
        """Inner sizes of every curve, once for each other instance the head's share may be known from.

        Columns instance, model, size, true_ms and scaled_ms.
        """
        smallest, largest = KNOTS[self.axis][0], KNOTS[self.axis][-1]
        return self._table(self.rows.assign(low_ms=self.rows[smallest], high_ms=self.rows[largest]))

    def from_predicted_ends(self, predictions: pd.DataFrame, predicted: str) -> pd.DataFrame:
        """As `from_true_ends`, from the ends in column `predicted` of out-of-fold predictions.

        Falling endpoints are refused when serving; here they count as level at the smaller size.
        """
        parts = []
        for (anchor, target), part in predictions.groupby(["anchor", "target"]):
            true, ends = (curves_of(part, value, self.axis) for value in ("true_ms", predicted))
            known = true.assign(
                low_ms=ends.iloc[:, 0], high_ms=ends.iloc[:, -1], anchor=str(anchor), instance=str(target)
            )
            parts.append(known.rename_axis(index=["model", "other_size"], columns=None).reset_index())
        known = pd.concat(parts, ignore_index=True)
        known["high_ms"] = np.maximum(known["high_ms"], known["low_ms"] * (1 + 1e-9))
        return self._table(known.merge(self.rows[[*_KEYS, "head_share"]], on=_KEYS, how="left"))

    def _table(self, rows: pd.DataFrame) -> pd.DataFrame:
        parts = []
        for model, part in rows.groupby("model"):
            context = part[["other_size", "head_share"]].astype(float)
            scaled_ms = self.scalers[str(model)].inner_ms(
                part["instance"].tolist(),
                part["low_ms"].to_numpy(float),
                part["high_ms"].to_numpy(float),
                *context.to_numpy().T,
            )
            for column, size in enumerate(KNOTS[self.axis][1:-1]):
                known = part[["instance", "model"]].assign(true_ms=part[size], scaled_ms=scaled_ms[:, column])
                parts.append(known.assign(**{AXIS_COLUMN[self.axis]: size}))
        return pd.concat(parts, ignore_index=True)


def scaler_report(measurements: Measurements, predictions: pd.DataFrame | None) -> dict:
    """The baseline's four settings: batch and pixels, each from true and from predicted end latencies.

    "settings" has the documented scaler, "settings_default" the default one with all it may know (and each curve once
    for every other instance that its head's share may be known from). Scalers are fitted without the architecture they
    are judged on; the error is over the inner sizes of medians of the repeats. Predicted ends come from `predictions`,
    the ensemble with latency of `documented_table`; None skips those.
    """
    report: dict[str, dict] = {"settings": {}, "settings_default": {}}
    for axis in AXIS_RANGE:
        learned = OutOfFoldScalers(measurements, axis)
        report["settings"][f"{axis}_true"] = _scaler_setting(_true_ends(measurements, axis))
        if predictions is not None:
            report["settings"][f"{axis}_predicted"] = _scaler_setting(_predicted_ends(measurements, predictions, axis))
        report["settings_default"][f"{axis}_true"] = _scaler_setting(learned.from_true_ends())
        if predictions is not None:
            table = learned.from_predicted_ends(predictions, WITH_LATENCY)
            report["settings_default"][f"{axis}_predicted"] = _scaler_setting(table)
    return report


def _scaler_setting(table: pd.DataFrame) -> dict:
    def accuracy(part: pd.DataFrame) -> dict:
        return {
            "n": len(part),
            "mape": mape_percent(part["true_ms"], part["scaled_ms"]),
            "r2": float(r2_score(part["true_ms"], part["scaled_ms"])),
            "rmse_ms": float(root_mean_squared_error(part["true_ms"], part["scaled_ms"])),
        }

    by_instance = {name: accuracy(part) for name, part in table.groupby("instance")}
    mean = float(np.mean([row["mape"] for row in by_instance.values()]))
    return {"by_instance": by_instance, "mean_mape": mean, "overall": accuracy(table)}


def _true_ends(measurements: Measurements, axis: str) -> pd.DataFrame:
    parts = []
    for instance in measurements.instances:
        curves = latency_curves(measurements, instance, axis)
        parts.append(_scaled(curves, curves, curves, instance, axis))
    return pd.concat(parts, ignore_index=True)


def _predicted_ends(measurements: Measurements, predictions: pd.DataFrame, axis: str) -> pd.DataFrame:
    parts = []
    for (anchor, target), part in predictions.groupby(["anchor", "target"]):
        true, predicted = curves_of(part, "true_ms", axis), curves_of(part, WITH_LATENCY, axis)
        scaled = _scaled(latency_curves(measurements, str(target), axis), predicted, true, str(target), axis)
        parts.append(scaled.assign(anchor=str(anchor)))
    return pd.concat(parts, ignore_index=True)


def _scaled(training: pd.DataFrame, ends: pd.DataFrame, true: pd.DataFrame, instance: str, axis: str) -> pd.DataFrame:
    """Inner sizes of each curve of `true`, scaled from the ends in `ends` by a scaler that never saw its model."""
    smallest, largest = AXIS_RANGE[axis]
    inner = [size for size in true.columns if size not in (smallest, largest)]
    rows = []
    for model in sorted(set(true.index.get_level_values("model"))):
        seen = training[training.index.get_level_values("model") != model]
        scaled = fit_scaler(seen, instance, axis).scaled(np.asarray(inner, float))
        part = true.loc[[model]]
        for key, truth in zip(part.index, part.to_dict("records"), strict=True):
            low, high = ends.loc[key, smallest], ends.loc[key, largest]
            rows += [
                {
                    "instance": instance,
                    "model": model,
                    AXIS_COLUMN[axis]: size,
                    "true_ms": truth[size],
                    "scaled_ms": value,
                }
                for size, value in zip(inner, low + scaled * (high - low), strict=True)
            ]
    return pd.DataFrame(rows)
