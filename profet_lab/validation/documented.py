"""Leave-one-architecture-out accuracy of the documented ensembles, and of both scalers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import mean_absolute_percentage_error, r2_score, root_mean_squared_error

from profet_core.prediction.members import combine
from profet_core.prediction.scaler import KNOTS
from profet_lab.documented.ensemble import EPOCHS, PROFET_METHOD, DocumentedFold, fit_folds
from profet_lab.measurements.tables import WITH_LATENCY, WITHOUT_LATENCY, Measurements, Pair
from profet_lab.scalers.curves import curve_rows, curves_of, fit_scaler, held_out_scalers, latency_curves
from profet_lab.tasks import Progress


def documented_table(
    measurements: Measurements,
    wanted: Sequence[Pair],
    networks: Sequence[str] | None = None,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Every row of every pair as predicted by the fold that never saw its architecture.

    Parameters
    ----------
    networks : those that are held out in turn; None: all.

    Returns:
    table : columns anchor, target, model, pixels, batch_size, repeat, true_ms, one column a member, with_latency and
        without_latency (the ensembles); all latencies in milliseconds.
    """
    folds = [
        DocumentedFold(anchor, target, frozenset({model}))
        for anchor, target in wanted
        for model in networks or sorted(set(measurements.architectures))
    ]
    parts = []
    for fitted in fit_folds(measurements, folds, seed=seed, epochs=epochs, progress=progress):
        rows = ~fitted.fold.training_rows(measurements)
        anchor, target = fitted.fold.anchor, fitted.fold.target
        members_ms = fitted.predict(
            measurements.operations, measurements.times_us[anchor][rows], measurements.latency_ms[anchor][rows]
        )
        part = measurements.workloads[rows].assign(
            anchor=anchor, target=target, true_ms=measurements.latency_ms[target][rows], **members_ms
        )
        for case, rule in PROFET_METHOD.items():
            part[case] = combine(part[rule["members"]].to_numpy(), rule["combine"])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def documented_report(table: pd.DataFrame) -> dict:
    """Accuracy per pair, pooled per anchor and overall, as the `validate` command's JSON contract has it.

    `table` : as `documented_table` gives it.
    """
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
    """R2 and RMSE are those of the ensemble with latency, as in PROFET's validation."""
    true = part["true_ms"]
    return {
        "n": len(part),
        "mape_with_latency": mape_percent(true, part[WITH_LATENCY]),
        "mape_without_latency": mape_percent(true, part[WITHOUT_LATENCY]),
        "r2": float(r2_score(true, part[WITH_LATENCY])),
        "rmse_ms": float(root_mean_squared_error(true, part[WITH_LATENCY])),
        "r2_without_latency": float(r2_score(true, part[WITHOUT_LATENCY])),
        "rmse_ms_without_latency": float(root_mean_squared_error(true, part[WITHOUT_LATENCY])),
        "coverage_90": None,
        "median_interval_pct": None,
        "mape_by_member": {
            member: mape_percent(true, part[member]) for member in PROFET_METHOD[WITH_LATENCY]["members"]
        },
    }


def _by_model(part: pd.DataFrame) -> dict:
    return {
        model: {
            "mape_with_latency": mape_percent(rows["true_ms"], rows[WITH_LATENCY]),
            "mape_without_latency": mape_percent(rows["true_ms"], rows[WITHOUT_LATENCY]),
        }
        for model, rows in part.groupby("model")
    }


def mape_percent(true: ArrayLike, predicted: ArrayLike) -> float:
    """Mean absolute percentage error, %."""
    return 100 * float(mean_absolute_percentage_error(true, predicted))


_KEYS = ["anchor", "instance", "model", "other_size"]
#: Rows of one network -> latencies at the inner sizes, (rows, inner sizes), by a scaler that never saw it.
InnerMs = Callable[[str, pd.DataFrame], np.ndarray]


def scaler_report(measurements: Measurements, predictions: pd.DataFrame | None) -> dict:
    """The baseline's four settings: batch and pixels, each from true and from predicted end latencies.

    "settings" has the documented scaler, "settings_default" the default one with all it may know (and each curve once
    for every other instance that its head's share may be known from). Scalers are fitted without the architecture they
    are judged on; the error is over the inner sizes of medians of the repeats. Predicted ends come from `predictions`,
    the ensemble with latency of `documented_table`; None skips those.
    """
    report: dict[str, dict] = {"settings": {}, "settings_default": {}}
    for axis in KNOTS:
        rows = curve_rows(measurements, axis)
        curves = rows.drop_duplicates(["instance", "model", "other_size"])
        methods = {"settings": (documented_inner_ms(measurements, axis), curves)}
        methods["settings_default"] = (learned_inner_ms(rows, axis), rows)
        for name, (inner_ms, true) in methods.items():
            smallest, *_, largest = KNOTS[axis]
            ends = true.assign(low_ms=true[smallest], high_ms=true[largest])
            report[name][f"{axis}_true"] = _setting(scaled(inner_ms, ends, axis))
            if predictions is not None:
                ends = predicted_ends(rows, predictions, WITH_LATENCY, axis)
                report[name][f"{axis}_predicted"] = _setting(scaled(inner_ms, ends, axis))
    return report


def predicted_ends(rows: pd.DataFrame, predictions: pd.DataFrame, predicted: str, axis: str) -> pd.DataFrame:
    """Curves of out-of-fold predictions: as `curve_rows` gives them, with low_ms and high_ms of column `predicted`."""
    parts = []
    for (anchor, target), part in predictions.groupby(["anchor", "target"]):
        true, ends = (curves_of(part, value, axis) for value in ("true_ms", predicted))
        known = true.assign(low_ms=ends.iloc[:, 0], high_ms=ends.iloc[:, -1], anchor=str(anchor), instance=str(target))
        parts.append(known.rename_axis(index=["model", "other_size"], columns=None).reset_index())
    return pd.concat(parts, ignore_index=True).merge(rows[[*_KEYS, "head_share"]], on=_KEYS, how="left")


def scaled(inner_ms: InnerMs, ends: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Columns instance, true_ms and scaled_ms, a row each inner size of each curve."""
    parts = []
    for model, part in ends.groupby("model"):
        found = inner_ms(str(model), part)
        parts += [
            pd.DataFrame({"instance": part["instance"], "true_ms": part[size], "scaled_ms": found[:, column]})
            for column, size in enumerate(KNOTS[axis][1:-1])
        ]
    return pd.concat(parts, ignore_index=True)


def learned_inner_ms(rows: pd.DataFrame, axis: str) -> InnerMs:
    """The default scaler of each held-out architecture; falling ends, refused when serving, count as level."""
    scalers = dict(held_out_scalers(rows, axis))

    def inner_ms(model: str, part: pd.DataFrame) -> np.ndarray:
        low_ms, high_ms, *known = part[["low_ms", "high_ms", "other_size", "head_share"]].to_numpy(float).T
        rising_ms = np.maximum(high_ms, low_ms * (1 + 1e-9))
        return scalers[model].inner_ms(part["instance"].tolist(), low_ms, rising_ms, *known)

    return inner_ms


def documented_inner_ms(measurements: Measurements, axis: str) -> InnerMs:
    """The documented scaler of each instance, fitted without each architecture."""
    curves = {name: latency_curves(measurements, name, axis) for name in measurements.instances}
    inner = np.array(KNOTS[axis][1:-1], float)

    def inner_ms(model: str, part: pd.DataFrame) -> np.ndarray:
        shares = {
            name: fit_scaler(curves[name].drop(model, level="model", errors="ignore"), name, axis).scaled(inner)
            for name in part["instance"].unique()
        }
        low_ms, high_ms = part[["low_ms", "high_ms"]].to_numpy(float).T[:, :, None]
        return low_ms + np.stack([shares[name] for name in part["instance"]]) * (high_ms - low_ms)

    return inner_ms


def _setting(table: pd.DataFrame) -> dict:
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
