"""Predictions beside measurements, a row each, and their figures."""

from __future__ import annotations

import numpy as np
import pandas as pd

from profet_core.latency import Estimate


def judged(
    predicted_ms: np.ndarray, true_ms: np.ndarray, log_half_width: object = 0.0, **names: object
) -> pd.DataFrame:
    """One row a prediction, milliseconds, with its 90 % interval; `names` : more columns."""
    columns = {"predicted_ms": predicted_ms, "true_ms": true_ms, "log_half_width": log_half_width, **names}
    return pd.DataFrame(columns)


def judged_estimate(found: Estimate, true_ms: np.ndarray, **names: object) -> pd.DataFrame:
    """The same of an estimate; rows without a measurement are left out."""
    rows = judged(found.latency_ms, true_ms, found.log_half_width, **names)
    return rows[np.isfinite(true_ms)]


def mape(rows: pd.DataFrame) -> float:
    """Mean absolute percentage error."""
    return float(100 * (rows["predicted_ms"] / rows["true_ms"] - 1).abs().mean())


def log_errors(rows: pd.DataFrame) -> np.ndarray:
    """Predicted over measured, in the logarithm, (rows,)."""
    return np.log((rows["predicted_ms"] / rows["true_ms"]).to_numpy(float))


def figures(rows: pd.DataFrame, key: str = "{}") -> dict[str, float]:
    """Bias, error, share outside the interval and its median half-width, percent; `key` : format of their names."""
    away, half = log_errors(rows), rows["log_half_width"].to_numpy(float)
    return {
        key.format("bias"): float(100 * np.expm1(away.mean())),
        key.format("mape"): mape(rows),
        key.format("missed_90"): float(100 * np.mean(np.abs(away) > half)),
        key.format("median_interval_pct"): float(100 * np.median(np.expm1(half))),
    }


def over(rows: list[dict], how: str, keys: str = "") -> dict[str, float]:
    """`how` ("mean" or "max") of every figure of several directions whose name holds `keys`."""
    table = pd.DataFrame(rows).drop(columns=["anchor", "target", "n"])
    table = table[[name for name in table if keys in str(name)]]
    return {str(name): float(value) for name, value in table.agg(how).items()}
