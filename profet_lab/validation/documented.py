"""Leave-one-architecture-out accuracy of the documented ensembles and of the scaler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import mean_absolute_percentage_error, r2_score, root_mean_squared_error

from profet_core.prediction.estimates import combine
from profet_core.scaling.scale import AXIS_RANGE
from profet_lab.documented.dense import EPOCHS
from profet_lab.documented.folds import Fold, fit_folds
from profet_lab.measurements.data import Measurements
from profet_lab.scalers.fit import AXIS_COLUMN, curves_of, fit_scaler, latency_curves
from profet_lab.scalers.left_out import LeftOutScalers
from profet_lab.train import PROFET_METHOD

WITH, WITHOUT = "with_latency", "without_latency"


@dataclass(frozen=True)
class LeftOutPredictions:
    """Every row of every pair as predicted by the fold that never saw its architecture.

    Attributes
    ----------
    table : columns anchor, target, model, pixels, batch_size, repeat, true_ms, one column a member, with_latency and
        without_latency (the ensembles); all latencies in milliseconds.
    """

    table: pd.DataFrame

    def pair(self, anchor: str, target: str) -> pd.DataFrame:
        """The rows of one pair."""
        return self.table[(self.table["anchor"] == anchor) & (self.table["target"] == target)]


def predict_left_out(
    measurements: Measurements,
    wanted: Sequence[tuple[str, str]],
    *,
    clustered: bool = True,
    seed: int = 0,
    epochs: int = EPOCHS,
    progress: Callable[[int], object] | None = None,
) -> LeftOutPredictions:
    """Fit a fold per wanted pair and architecture and predict what each left out."""
    folds = [
        Fold(anchor, target, frozenset({model}))
        for anchor, target in wanted
        for model in sorted(set(measurements.architectures))
    ]
    parts = []
    for fitted in fit_folds(measurements, folds, seed=seed, clustered=clustered, epochs=epochs, progress=progress):
        rows = ~fitted.fold.training_rows(measurements)
        anchor, target = fitted.fold.anchor, fitted.fold.target
        said = fitted.predict(
            measurements.operations, measurements.times_us[anchor][rows], measurements.latency_ms[anchor][rows]
        )
        part = measurements.workloads[rows].assign(
            anchor=anchor, target=target, true_ms=measurements.latency_ms[target][rows], **said
        )
        for case, rule in PROFET_METHOD.items():
            part[case] = combine(part[rule["members"]].to_numpy(), rule["combine"])
        parts.append(part)
    return LeftOutPredictions(pd.concat(parts, ignore_index=True))


def anchor_report(predictions: LeftOutPredictions) -> dict:
    """Accuracy per pair, pooled per anchor and overall, as the `validate` command's JSON contract has it."""
    table = predictions.table
    rows = [
        {"anchor": anchor, "target": target, **_accuracy(part), "by_model": _by_model(part)}
        for (anchor, target), part in table.groupby(["anchor", "target"])
    ]
    return {
        "pairs": rows,
        "mean": {key: _mean(rows, key) for key in ("mape_with_latency", "mape_without_latency", "r2", "rmse_ms")},
        "pooled": {
            **{anchor: _accuracy(part) for anchor, part in table.groupby("anchor")},
            "overall": _accuracy(table),
        },
        "by_model": _by_model(table),
    }


def _mean(rows: list[dict], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def _accuracy(part: pd.DataFrame) -> dict:
    """R2 and RMSE are those of the ensemble with latency, as in the original's validation."""
    true = part["true_ms"]
    return {
        "n": len(part),
        "mape_with_latency": mape_percent(true, part[WITH]),
        "mape_without_latency": mape_percent(true, part[WITHOUT]),
        "r2": float(r2_score(true, part[WITH])),
        "rmse_ms": float(root_mean_squared_error(true, part[WITH])),
        "r2_without_latency": float(r2_score(true, part[WITHOUT])),
        "rmse_ms_without_latency": float(root_mean_squared_error(true, part[WITHOUT])),
        "coverage_90": None,
        "median_interval_pct": None,
        "mape_by_member": {member: mape_percent(true, part[member]) for member in PROFET_METHOD[WITH]["members"]},
    }


def _by_model(part: pd.DataFrame) -> dict:
    return {
        model: {
            "mape_with_latency": mape_percent(rows["true_ms"], rows[WITH]),
            "mape_without_latency": mape_percent(rows["true_ms"], rows[WITHOUT]),
        }
        for model, rows in part.groupby("model")
    }


def mape_percent(true: np.ndarray, predicted: np.ndarray) -> float:
    """Mean absolute percentage error, %."""
    return 100 * float(mean_absolute_percentage_error(true, predicted))


def scaler_report(measurements: Measurements, predictions: LeftOutPredictions | None) -> dict:
    """The original's four settings: batch and pixels, each from true and from predicted end latencies.

    "settings" has the documented scaler, "settings_default" the default one with all it may know (and each curve once
    for every other instance that its head's share may be known from), "settings_default_ends_only" the same with
    nothing but both latencies. Scalers are fitted without the architecture they are judged on; the error is over the
    inner sizes of medians of the repeats. Predicted ends come from the anchor's left-out predictions with latency;
    None skips those.
    """
    report = {"settings": {}, "settings_default": {}, "settings_default_ends_only": {}}
    for axis in AXIS_RANGE:
        learned = LeftOutScalers(measurements, axis)
        report["settings"][f"{axis}_true"] = _scaler_setting(_true_ends(measurements, axis))
        if predictions is not None:
            report["settings"][f"{axis}_predicted"] = _scaler_setting(_predicted_ends(measurements, predictions, axis))
        for name, informed in (("settings_default", True), ("settings_default_ends_only", False)):
            table = learned.from_true_ends(informed=informed)
            report[name][f"{axis}_true"] = _scaler_setting(table)
            if predictions is not None:
                table = learned.from_predicted_ends(predictions.table, WITH, informed=informed)
                report[name][f"{axis}_predicted"] = _scaler_setting(table)
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


def _predicted_ends(measurements: Measurements, predictions: LeftOutPredictions, axis: str) -> pd.DataFrame:
    parts = []
    for (anchor, target), part in predictions.table.groupby(["anchor", "target"]):
        true, predicted = curves_of(part, "true_ms", axis), curves_of(part, WITH, axis)
        scaled = _scaled(latency_curves(measurements, target, axis), predicted, true, target, axis)
        parts.append(scaled.assign(anchor=anchor))
    return pd.concat(parts, ignore_index=True)


def _scaled(training: pd.DataFrame, ends: pd.DataFrame, true: pd.DataFrame, instance: str, axis: str) -> pd.DataFrame:
    """Inner sizes of each curve of `true`, scaled from the ends in `ends` by a scaler that never saw its model."""
    smallest, largest = AXIS_RANGE[axis]
    inner = [size for size in true.columns if size not in (smallest, largest)]
    rows = []
    for model in sorted(set(true.index.get_level_values("model"))):
        seen = training[training.index.get_level_values("model") != model]
        scaled = fit_scaler(seen, instance, axis).scaled(np.asarray(inner, float))
        for key, truth in true.loc[[model]].iterrows():
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
