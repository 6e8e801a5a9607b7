"""Validate scale-out on held-out networks and GPU models, beside perfect scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profet_core.multi_gpu.law import Strategy
from profet_lab.progress import Progress
from profet_lab.scaleout.fit import Array, fitted_model, predicted_ms
from profet_lab.scaleout.folds import HeldOut, gpu_of, held_out, network_of
from profet_lab.scaleout.rows import TENSORFLOW_2017, THROUGHPUTS, ScaleRow, ScaleRows, load_scale_rows
from profet_lab.scaleout.widths import covered

#: Perfect scaling is nearly right above this share of it: only below it a model can show something.
HARD_BELOW = 0.9
_FOLDS = {"networks": network_of, "gpus": gpu_of}

Mask = NDArray[np.bool_]


def scaleout_report(folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """All figures: held-out networks and GPU models by data set, 64 GPUs, and excluded steps.

    Raises
    ------
    DataError : a file is missing.
    """
    found = load_scale_rows(folder)
    rows = found.kept
    predicted = {name: held_out(rows, fold_of, progress=progress) for name, fold_of in _FOLDS.items()}
    on_64 = np.array([row.gpus == 64 for row in rows])
    by_networks = predicted["networks"].latency_ms
    with_excluded = _with_excluded(found)
    return {
        "data_sets": {
            name: {
                "n": sum(row.data_set == name for row in rows),
                **{each: _held_out_document(rows, name, predicted[each], _FOLDS[each]) for each in _FOLDS},
                "excluded": found.held_out(name),
                "with_excluded": with_excluded[name],
            }
            for name in (TENSORFLOW_2017, THROUGHPUTS)
        },
        "on_64": scale_errors(rows, by_networks, on_64),
        "network_64": {
            f"{rows[place].network}, batch {rows[place].batch_per_gpu:.0f}": float(
                100 * (by_networks[place] / rows[place].latency_ms - 1)
            )
            for place in np.flatnonzero(on_64)
        },
    }


def scale_errors(rows: Sequence[ScaleRow], predicted: Array, of: Mask) -> dict[str, float]:
    """Errors of the rows that a mask of shape (rows,) names, percent; zeros where it names none.

    `mape` and `bias` of predicted over measured steps, one GPU's measured step given; `perfect_mape` : of perfect
    scaling, the step of one GPU.
    """
    if not of.any():
        return {"n": 0, "mape": 0.0, "bias": 0.0, "perfect_mape": 0.0}
    true_ms = np.array([row.latency_ms for row in rows])[of]
    one_ms = np.array([row.one_gpu_ms for row in rows])[of]
    return {
        "n": int(of.sum()),
        "mape": float(100 * np.abs(predicted[of] / true_ms - 1).mean()),
        "bias": float(100 * np.expm1(np.log(predicted[of] / true_ms).mean())),
        "perfect_mape": float(100 * np.abs(one_ms / true_ms - 1).mean()),
    }


def _held_out_document(
    rows: Sequence[ScaleRow], data_set: str, predicted: HeldOut, fold_of: Callable[[ScaleRow], str]
) -> dict[str, Any]:
    of = np.array([row.data_set == data_set for row in rows])
    hard = np.array([row.efficiency < HARD_BELOW for row in rows])
    inside = covered(rows, predicted.latency_ms, predicted.log_half_width)
    by_one = np.array([row.strategy is Strategy.ONE_PROCESS for row in rows])
    return {
        "every": scale_errors(rows, predicted.latency_ms, of),
        "hard": scale_errors(rows, predicted.latency_ms, of & hard),
        "covered_90": float(100 * inside[of].mean()),
        "median_interval_pct": float(np.median(100 * np.expm1(predicted.log_half_width[of]))),
        "by_fold": _by(rows, predicted.latency_ms, of, fold_of),
        "by_strategy": _by(rows, predicted.latency_ms, of, lambda row: row.strategy.value),
        "covered_by_strategy": _covered_by(rows, inside, of, lambda row: row.strategy.value),
        "covered_by_gpus": _covered_by(rows, inside, of & ~by_one, lambda row: str(row.gpus)),
    }


def _by(
    rows: Sequence[ScaleRow], predicted: Array, of: Mask, name_of: Callable[[ScaleRow], str]
) -> dict[str, dict[str, Any]]:
    names = np.array([name_of(row) for row in rows])
    return {str(name): scale_errors(rows, predicted, of & (names == name)) for name in sorted(set(names[of]))}


def _covered_by(
    rows: Sequence[ScaleRow], inside: Mask, of: Mask, name_of: Callable[[ScaleRow], str]
) -> dict[str, dict[str, float]]:
    names = np.array([name_of(row) for row in rows])
    found = {str(name): inside[of & (names == name)] for name in sorted(set(names[of]), key=lambda name: name.zfill(2))}
    return {name: {"n": len(each), "covered_90": float(100 * each.mean())} for name, each in found.items()}


def _with_excluded(found: ScaleRows) -> dict[str, dict[str, float]]:
    """Errors with networks held out, on every step with a one-GPU step beside it, excluded ones included."""
    rows = found.rows
    networks = np.array([row.network for row in rows])
    predicted = np.empty(len(rows))
    for network in sorted(set(networks)):
        is_out = networks == network
        model = fitted_model([row for row in found.kept if row.network != network])
        predicted[is_out] = predicted_ms(model, [row for row in rows if row.network == network])
    sets = np.array([row.data_set for row in rows])
    return {name: scale_errors(rows, predicted, sets == name) for name in (TENSORFLOW_2017, THROUGHPUTS)}
