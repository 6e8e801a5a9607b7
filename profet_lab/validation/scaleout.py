"""Validate scale-out on held-out networks and GPU models, beside perfect scaling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from profet_core.training.scaling_model import Strategy
from profet_lab.scaleout.fit import GPU, NETWORK, covered, fitted_model, held_out_fold, predicted_ms
from profet_lab.scaleout.rows import TENSORFLOW_2017, THROUGHPUTS, load_scale_rows
from profet_lab.tasks import Progress, held_out, run_tasks

#: Perfect scaling is nearly right above this share of it: only below it a model can show something.
HARD_BELOW = 0.9


def scaleout_report(folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """All figures: held-out networks and GPU models by data set, 64 GPUs, and excluded steps."""
    found = load_scale_rows(folder)
    judged = {name: judged_steps(found.kept, by, progress) for name, by in (("networks", NETWORK), ("gpus", GPU))}
    with_excluded = found.rows.assign(predicted_ms=held_out(found.rows, _networks(found.rows), _predicted_by_kept))
    on_64 = judged["networks"].query("gpus == 64")
    network_64 = zip(on_64["network"], on_64["batch_per_gpu"], on_64["predicted_ms"] / on_64["latency_ms"], strict=True)
    return {
        "data_sets": {
            name: {
                "n": int((found.kept["data_set"] == name).sum()),
                "networks": _document(judged["networks"], name, NETWORK),
                "gpus": _document(judged["gpus"], name, GPU),
                "excluded": found.held_out(name),
                "with_excluded": scale_errors(with_excluded[with_excluded["data_set"] == name]),
            }
            for name in (TENSORFLOW_2017, THROUGHPUTS)
        },
        "on_64": scale_errors(on_64),
        "network_64": {f"{name}, batch {batch:.0f}": float(100 * (off - 1)) for name, batch, off in network_64},
    }


def _networks(rows: pd.DataFrame) -> np.ndarray:
    return rows["network"].to_numpy(str)


def _predicted_by_kept(others: pd.DataFrame, out: pd.DataFrame) -> np.ndarray:
    """Excluded steps are predicted, and nothing is fitted on them."""
    return predicted_ms(fitted_model(others[others["excluded"] == ""]), out)


def judged_steps(rows: pd.DataFrame, by: str, progress: Progress | None = None) -> pd.DataFrame:
    """The rows with predicted_ms, log_half_width, and whether the interval is right, `inside`."""
    tasks = [(rows, by, name) for name in sorted(set(rows[by]))]
    found = pd.concat(run_tasks(held_out_fold, tasks, progress=progress)).loc[rows.index]
    return found.assign(inside=covered(found, found["predicted_ms"].to_numpy(), found["log_half_width"].to_numpy()))


def scale_errors(rows: pd.DataFrame) -> dict[str, float]:
    """Errors of rows with `predicted_ms`, percent; zeros of no row.

    `mape` and `bias` of predicted over measured steps, one GPU's measured step given; `perfect_mape` : of perfect
    scaling, the step of one GPU.
    """
    if rows.empty:
        return {"n": 0, "mape": 0.0, "bias": 0.0, "perfect_mape": 0.0}
    true_ms, predicted, one_ms = rows[["latency_ms", "predicted_ms", "one_gpu_ms"]].to_numpy().T
    return {
        "n": len(rows),
        "mape": float(100 * np.abs(predicted / true_ms - 1).mean()),
        "bias": float(100 * np.expm1(np.log(predicted / true_ms).mean())),
        "perfect_mape": float(100 * np.abs(one_ms / true_ms - 1).mean()),
    }


def _document(judged: pd.DataFrame, data_set: str, by: str) -> dict[str, Any]:
    rows = judged[judged["data_set"] == data_set]
    several = rows[rows["strategy"] != Strategy.ONE_PROCESS]
    return {
        "every": scale_errors(rows),
        "hard": scale_errors(rows[rows["efficiency"] < HARD_BELOW]),
        "covered_90": _covered(rows)["covered_90"],
        "median_interval_pct": float(np.median(100 * np.expm1(rows["log_half_width"]))),
        "by_fold": {str(name): scale_errors(part) for name, part in rows.groupby(by)},
        "by_strategy": {str(name): scale_errors(part) for name, part in rows.groupby("strategy")},
        "covered_by_strategy": {str(name): _covered(part) for name, part in rows.groupby("strategy")},
        "covered_by_gpus": {str(name): _covered(part) for name, part in several.groupby("gpus")},
    }


def _covered(rows: pd.DataFrame) -> dict[str, float]:
    return {"n": len(rows), "covered_90": float(100 * rows["inside"].to_numpy().mean())}
