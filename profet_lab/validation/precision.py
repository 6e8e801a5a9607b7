"""Judge the model of precision on published pairs: networks, GPUs and tables held out, with the width of intervals.

A held-out cell's table is known by its other networks, a held-out network's GPU by its others. The share of a network
is what its profile shows, or what its layers suggest; it is never fitted on the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from profet_core.arrays import FloatArray
from profet_lab.precision.fit import (
    LEVEL,
    TODAY,
    SpeedupFit,
    chosen_sds,
    converted_errors,
    fit_speedups,
    half_width,
    predict_tf32,
    served_errors,
    small_half_width,
    tf32_power,
)
from profet_lab.precision.pairs import MANY_NETWORKS, Pairs
from profet_lab.tasks import Progress

#: Feature of the boosted model -> how the speed-up changes with it: up, down, or either way.
_FEATURES = {
    "share": 1,
    "log_peak_ratio": 1,
    "log_launches": -1,
    "table_mean": 1,
    "product_share": 0,
    "normalization_share": 0,
    "depthwise_share": 0,
}
_SEED = 0
#: What `tried` gives.
TRIED = ("two factors per GPU", "boosted, monotone", "boosted and two factors", "boosted and factors by class")


def tried(rest: pd.DataFrame, known: pd.DataFrame, gpu_sd: float, served: SpeedupFit) -> dict[str, FloatArray]:
    """Name in `TRIED` -> log speed-up of each known cell, (cells,), fitted on the rest alone.

    `served` is the fit of the rest by class.
    """
    two, boosted = fit_speedups(rest, gpu_sd).predict(known), _boosted(rest, known)
    found = (two, boosted, (boosted + two) / 2, (boosted + served.predict(known)) / 2)
    return dict(zip(TRIED, found, strict=True))


def _boosted(rest: pd.DataFrame, known: pd.DataFrame) -> FloatArray:
    """Gradient boosting over features of network, GPU and table; a table's mean is that of the rest."""
    means = rest.groupby("table")["log_speedup"].mean()

    def features(cells: pd.DataFrame) -> pd.DataFrame:
        return cells.assign(
            log_peak_ratio=np.log(cells["peak_ratio"]),
            log_launches=np.log(cells["layers"] / cells["base_ms"]),
            table_mean=cells["table"].map(means),
        ).reindex(columns=list(_FEATURES), fill_value=0.0)

    model = HistGradientBoostingRegressor(
        max_iter=150, learning_rate=0.08, min_samples_leaf=8, max_leaf_nodes=8,
        monotonic_cst=list(_FEATURES.values()), random_state=_SEED,
    )  # fmt: skip
    found: FloatArray = model.fit(features(rest), rest["log_speedup"]).predict(features(known))
    return found


#: What is judged: the served model first.
MODELS = ("factors by class", *TRIED)
#: Half an interval of a GPU's own errors counts where other networks gave so many of them.
_OWN_ERRORS = MANY_NETWORKS


def precision_report(pairs: Pairs, progress: Progress) -> dict:
    """Figures of held-out networks, GPUs and tables, and of TF32."""
    cells = pairs.amp
    networks = held_out(cells, "network", progress)
    gpus = held_out(cells, "gpu", progress)
    gpu_sd, class_sd = chosen_sds(cells, "network")
    fit = fit_speedups(cells, gpu_sd, class_sd)
    served = served_errors(cells, fit)
    tables = cells.loc[served.index, "table"]
    both, tf32 = {"networks": networks, "gpus": gpus}, _held_out_tf32(pairs.tf32)
    return {
        "level": LEVEL,
        "pairs": len(cells),
        "failed_pairs": pairs.failed,
        "gpu_sd": gpu_sd,
        "class_sd": class_sd,
        "networks": {**scores(networks), "by_network": _by(networks, "network"), "by_gpu": _by(networks, "gpu")},
        "gpus": {**scores(gpus), "by_gpu": _by(gpus, "gpu")},
        "today": {
            **errors_of(served.to_numpy(float)),
            "log_half_width": half_width(served),
            "by_table": {table: errors_of(served[tables == table].to_numpy(float)) for table in TODAY},
        },
        "tried": {
            name: {what: errors_of(judged[name].to_numpy(float)) for what, judged in both.items()} for name in MODELS
        },
        "converted": _converted(converted_errors(cells, gpu_sd, class_sd)),
        "tf32": {**scores(tf32), "by_gpu": _by(tf32, "gpu")},
        "plain": errors_of(-pairs.plain["log_speedup"].to_numpy(float)),
    }  # fmt: skip


def held_out(cells: pd.DataFrame, by: str, progress: Progress) -> pd.DataFrame:
    """Cells with `error` of the log speed-up and `half_width`, each predicted without those alike in `by`.

    Cells of a table that has nothing else to be known by are left out. The half width is that of the other groups'
    errors: nothing of a held-out group is in it.
    """
    found = []
    for name in sorted(cells[by].unique()):
        inside = cells[by] == name
        rest = cells[~inside]
        known = cells[inside & cells["table"].isin(rest["table"])]
        if by == "network":
            known = known[(known["table"] + known["gpu"]).isin(rest["table"] + rest["gpu"])]
        if len(known):
            gpu_sd, class_sd = chosen_sds(rest, by)
            fit = fit_speedups(rest, gpu_sd, class_sd)
            predicted = {MODELS[0]: fit.predict(known), **tried(rest, known, gpu_sd, fit)}
            errors = {name: log_speedup - known["log_speedup"] for name, log_speedup in predicted.items()}
            found.append(known.assign(error=errors[MODELS[0]], **errors))
        progress(1)
    judged = pd.concat(found)
    return judged.assign(half_width=_half_widths(judged, by))


def _half_widths(judged: pd.DataFrame, by: str) -> FloatArray:
    """Half a 90% interval of each cell, from errors of other groups: pooled, or its table's and GPU's own if wider."""
    width = np.zeros(len(judged))
    for name in judged[by].unique():
        inside = (judged[by] == name).to_numpy()
        rest = judged[~inside]
        pooled = half_width(rest["error"])
        for place in np.flatnonzero(inside):
            row = judged.iloc[place]
            table = rest["table"] == row["table"]
            own = [rest.loc[table, "error"], rest.loc[table & (rest["gpu"] == row["gpu"]), "error"]]
            width[place] = max([pooled, *(half_width(one) for one in own if len(one) >= _OWN_ERRORS)])
    return width


def _held_out_tf32(cells: pd.DataFrame) -> pd.DataFrame:
    """The same of TF32 over FP32: each GPU's and network's cells from the power of the others."""
    found = []
    for place in range(len(cells)):
        rest = cells.drop(index=cells.index[place])
        one = cells.iloc[[place]]
        power = tf32_power(rest)
        width = small_half_width(predict_tf32(rest, power) - rest["log_speedup"].to_numpy(float))
        found.append(one.assign(error=predict_tf32(one, power) - one["log_speedup"], half_width=width))
    return pd.concat(found)


def _converted(errors: pd.DataFrame) -> dict[str, float]:
    """Errors of AMP on one GPU over AMP on another: 90% are within `log_half_width`, each table weighing the same."""
    return {
        **errors_of(errors["error"].to_numpy(float)),
        "log_half_width": half_width(errors["error"], errors["weight"]),
    }


def scores(judged: pd.DataFrame) -> dict[str, float]:
    """Errors, coverage and interval score of judged cells."""
    error, half = judged["error"].to_numpy(float), judged["half_width"].to_numpy(float)
    missed = np.maximum(np.abs(error) - half, 0.0)
    return {
        **errors_of(error),
        "coverage": float(100 * (missed == 0).mean()),
        "half_width_percent": float(100 * np.expm1(np.median(half))),
        # Gneiting and Raftery's score of a central interval, of the logarithm.
        "interval_score": float((2 * half + 2 / (1 - LEVEL) * missed).mean()),
    }


def errors_of(error: FloatArray) -> dict[str, float]:
    """Cells, bias, mean and median absolute error and the worst, percent of the speed-up."""
    percent = 100 * np.abs(np.expm1(error))
    return {
        "cells": len(error),
        "bias": float(100 * np.expm1(error.mean())),
        "mape": float(percent.mean()),
        "median": float(np.median(percent)),
        "worst": float(percent.max()),
    }


def _by(judged: pd.DataFrame, column: str) -> Mapping[str, Mapping[str, float]]:
    score: Callable[[pd.DataFrame], dict[str, float]] = scores
    return {str(name): score(part) for name, part in judged.groupby(column)}
