"""Leave-one-architecture-out accuracy of the documented ensembles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import mean_absolute_percentage_error, r2_score, root_mean_squared_error

from profet_core.prediction.members import combine
from profet_lab.cases import WITH_LATENCY, WITHOUT_LATENCY
from profet_lab.documented.dense import EPOCHS
from profet_lab.documented.folds import PROFET_METHOD, DocumentedFold, fit_folds
from profet_lab.measurements.tables import Measurements, Pair
from profet_lab.progress import Progress


def documented_table(
    measurements: Measurements,
    wanted: Sequence[Pair],
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Every row of every pair as predicted by the fold that never saw its architecture.

    Returns
    -------
    table : columns anchor, target, model, pixels, batch_size, repeat, true_ms, one column a member, with_latency and
        without_latency (the ensembles); all latencies in milliseconds.
    """
    folds = [
        DocumentedFold(anchor, target, frozenset({model}))
        for anchor, target in wanted
        for model in sorted(set(measurements.architectures))
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
