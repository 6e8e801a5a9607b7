"""Judges the model of precision on published pairs: networks, GPUs and tables held out, with the width of intervals.

A held-out cell's table is known by its other networks, a held-out network's GPU by its others. The share of a network
is what its profile shows, or what its layers suggest; it is never fitted on the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from profet_core.arrays import FloatArray
from profet_lab.precision.alternatives import TRIED, tried
from profet_lab.precision.fit import chosen_sds, fit_speedups
from profet_lab.precision.pairs import MANY_NETWORKS, Pairs
from profet_lab.precision.precision_file import (
    LEVEL,
    TODAY,
    converted_errors,
    half_width,
    predict_tf32,
    served_errors,
    small_half_width,
    tf32_power,
)
from profet_lab.progress import Progress

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
