"""Fits and writes `precision.json`: how much faster AMP and TF32 are on each GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.arrays import FloatArray
from profet_core.catalog.gpus import load_gpus
from profet_core.files import sha256_hex
from profet_core.precision.model import PRECISION_VERSION
from profet_lab.measurements.published import MORE_POINTS_FILE, POINTS_FILE, THROUGHPUT_FILE
from profet_lab.measurements.tables import Measurements
from profet_lab.models_folder import rounded, signed
from profet_lab.precision.fit import SpeedupFit, chosen_sds, fit_speedups
from profet_lab.precision.pairs import (
    MANY_NETWORKS,
    PEAKS_FILE,
    POINTS_TABLE,
    Pairs,
    load_pairs,
    network_shares,
)

#: Tables of training as people run it since 2020: answers assume their mean. What runs batches of 12 without an update
#: shows how GPUs and networks differ, not how fast training is; NVIDIA's TensorFlow runs under XLA.
TODAY = (
    POINTS_TABLE,
    "NVIDIA/DeepLearningExamples, PyTorch",
    "lambdal/lambda-tensorflow-benchmark, TensorFlow",
)
#: An interval's level.
LEVEL = 0.9


def served_log_speedup(fit: SpeedupFit, cells: pd.DataFrame, tables: Sequence[str] = TODAY) -> FloatArray:
    """What answers assume, whatever the cells' own table: the mean of the tables' curves, (cells,)."""
    known = [table for table in tables if table in fit.values["table k"]]
    # Without the part of one GPU in one table.
    values = {**fit.values, "cell k": {}, "cell m": {}}
    mean: FloatArray = np.mean([SpeedupFit(values).predict(cells.assign(table=table)) for table in known], axis=0)
    return mean


def served_errors(cells: pd.DataFrame, fit: SpeedupFit) -> pd.Series:
    """Errors of what answers assume in today's tables, by the cells' index, in the logarithm of the speed-up.

    They grow by what a mean over few tables hides: with T tables by sqrt((T + 1) / (T - 1)).
    """
    own = cells[cells["table"].isin(TODAY)]
    tables = own["table"].nunique()
    error = served_log_speedup(fit, own) + served_offset(cells, fit) - own["log_speedup"]
    return error * np.sqrt((tables + 1) / (tables - 1))


def served_offset(cells: pd.DataFrame, fit: SpeedupFit) -> float:
    """What the mean of the curves misses of today's tables, each table counting the same, in the logarithm."""
    own = cells[cells["table"].isin(TODAY)]
    missed = own["log_speedup"] - served_log_speedup(fit, own)
    return float(missed.groupby(own["table"]).mean().mean())


def converted_errors(cells: pd.DataFrame, gpu_sd: float, class_sd: float) -> pd.DataFrame:
    """Errors of AMP on one GPU over AMP on another, of one network in one of today's tables: gpu, weight, error.

    Each GPU's speed-up comes from a fit without that GPU. Tables weigh the same.
    """
    own = cells[cells["table"].isin(TODAY)]
    missed = pd.Series(0.0, index=own.index)
    for gpu, held_out in own.groupby("gpu"):
        fit = fit_speedups(cells[cells["gpu"] != gpu], gpu_sd, class_sd)
        missed[held_out.index] = served_log_speedup(fit, held_out) - held_out["log_speedup"]
    keys = ["table", "network", "pixels"]
    named = own[[*keys, "gpu"]].assign(missed=missed)
    both = named.merge(named, on=keys, suffixes=("", "_other"))
    both = both[both["gpu"] != both["gpu_other"]]
    weight = 1 / both.groupby("table")["gpu"].transform("size")
    return both.assign(error=both["missed"] - both["missed_other"], weight=weight)


def half_width(errors: Sequence[float] | pd.Series | FloatArray, weights: pd.Series | None = None) -> float:
    """Half of an interval that holds `LEVEL` of the errors, by number or weight."""
    distance = np.abs(np.asarray(errors, float))
    if weights is None:
        return float(np.quantile(distance, LEVEL))
    return float(np.quantile(distance, LEVEL, weights=weights.to_numpy(float), method="inverted_cdf"))


def small_half_width(errors: FloatArray) -> float:
    """The same of few errors, with the finite-sample correction: the next error is inside in `LEVEL` of the cases."""
    return float(np.quantile(np.abs(errors), min(1.0, math.ceil((len(errors) + 1) * LEVEL) / len(errors))))


def tf32_power(cells: pd.DataFrame) -> float:
    """The power of the ratio of peaks by which TF32 speeds up convolutions and products: least error over a grid."""
    grid = np.linspace(0, 1, 101)
    errors = [np.abs(predict_tf32(cells, power) - cells["log_speedup"]).mean() for power in grid]
    return float(grid[int(np.argmin(errors))])


def predict_tf32(cells: pd.DataFrame, power: float) -> FloatArray:
    """Log speed-up of TF32 over FP32, (cells,)."""
    share = cells["share"].to_numpy(float)
    return -np.log(share * np.exp(-power * cells["log_ratio"].to_numpy(float)) + 1 - share)


def precision_content(measurements: Measurements, folder: Path) -> dict:
    """What `precision.json` holds; `folder` holds the published tables."""
    shares = network_shares(measurements)
    pairs = load_pairs(folder, shares)
    files = {
        name.name: sha256_hex((folder / name).read_bytes()) for name in (THROUGHPUT_FILE, POINTS_FILE, MORE_POINTS_FILE)
    }
    content = {
        "schema_version": PRECISION_VERSION,
        **rounded(coefficients(pairs)),
        "class_counts": rounded(shares.classes.per_count) if shares.classes else [],
        "share_line": rounded(shares.line),
        "fitted_on": {
            "pairs": len(pairs.amp), "failed pairs": pairs.failed, "without tensor cores": len(pairs.plain),
            "TF32 over FP32": len(pairs.tf32), "today": list(TODAY),
            **files, **measurements.sha256, PEAKS_FILE.name: sha256_hex(PEAKS_FILE.read_bytes()),
        },
    }  # fmt: skip
    return signed(content)


def coefficients(pairs: Pairs) -> dict:
    """All numbers of `PrecisionModel`."""
    sds = chosen_sds(pairs.amp, "network")
    fit, converted = fit_speedups(pairs.amp, *sds), converted_errors(pairs.amp, *sds)
    errors = served_errors(pairs.amp, fit)
    pooled, power = half_width(errors), tf32_power(pairs.tf32)
    by_gpu = errors.groupby(pairs.amp["gpu"])
    catalog, values = load_gpus(), fit.values
    return {
        "curves": [fit.class_factors(table) for table in TODAY],
        "log_offset": served_offset(pairs.amp, fit),
        "peak_power": values["peak k"][""],
        "gpus": {
            gpu: [values["gpu k"][gpu], values["gpu m"][gpu]] for gpu in sorted(values["gpu k"]) if gpu in catalog
        },
        "log_half_width": pooled,
        "gpu_log_half_widths": {
            str(gpu): wide
            for gpu, own in by_gpu
            if gpu in catalog and len(own) >= MANY_NETWORKS and (wide := half_width(own)) > pooled
        },
        "converted_log_half_width": half_width(converted["error"], converted["weight"]),
        "plain_log_half_width": half_width(pairs.plain["log_speedup"]),
        "tf32_power": power,
        "tf32_log_half_width": small_half_width(predict_tf32(pairs.tf32, power) - pairs.tf32["log_speedup"].to_numpy()),
        "activation_share": 1 / float(pairs.amp.loc[pairs.amp["table"] == POINTS_TABLE, "batch_ratio"].median()),
    }
