"""Fit `precision.json`: how much faster mixed precision is, by class of operations, over tables that published both.

The speed-up is 1 / (sum of shares / factors), joined with launches, which no precision makes faster. Two factors are a
GPU's: k of convolutions and products, m of the rest. log k and log m are sums of a part of the table, of the GPU's
peak, and of the GPU; the latter are shrunk to 0, so that a GPU that no table has is known by its peak alone. Classes
differ from k and m on all GPUs alike, and a little by table, shrunk to them; inner folds choose how far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.arrays import FloatArray
from profet_core.catalog.gpus import load_gpus
from profet_core.files import sha256_hex
from profet_core.precision.model import CLASSES, LAUNCH_POWER, ON_TENSOR_CORES, PRECISION_VERSION, USUAL_PEAK_RATIO
from profet_lab.measurements.published import MORE_POINTS_FILE, POINTS_FILE, THROUGHPUT_FILE
from profet_lab.measurements.tables import Measurements
from profet_lab.models_folder import rounded, signed
from profet_lab.precision.pairs import (
    MANY_NETWORKS,
    PEAKS_FILE,
    POINTS_TABLE,
    Pairs,
    load_pairs,
    network_shares,
)

#: Spread of a cell around the model at which its weight begins to fall, in the logarithm.
_ROBUST = 0.1
#: Prior mean and standard deviation of each group of coefficients, in the logarithm: wide, but for what a GPU departs
#: from its peak, and a table's part of that, half as wide. How wide the latter are inner folds choose.
_PRIORS = {"table k": (1.0, 1.0), "table m": (0.2, 0.5), "peak k": (0.0, 0.5), "launch": (3.0, 0.7)}
_GPU_GROUPS = {"gpu k": 1.0, "gpu m": 1.0, "cell k": 0.5, "cell m": 0.5}
#: Standard deviations to choose from.
GPU_SDS = (0.1, 0.2, 0.4)
#: The same of a class of operations around k or m; 0: two factors.
CLASS_SDS = (0.0, 0.2, 0.5)
_OF_K = CLASSES[:ON_TENSOR_CORES]
#: Classes that may differ from the first or the last one.
_OWN_CLASSES = ("product", "normalization", "depthwise")
_INNER_FOLDS = 4
#: Errors this near to the best are equal, and the more restrained fit is taken.
_NEAR_BEST = 1.01
_ITERATIONS = 15


@dataclass(frozen=True)
class _Group:
    """Coefficients that a column of keys selects.

    keys : of the cells, (cells,). classes : whose log factor it is a part of, (classes,), 0 or 1. factor : (cells,).
    """

    name: str
    keys: pd.Series
    classes: FloatArray
    factor: FloatArray


def _groups(cells: pd.DataFrame) -> Iterator[_Group]:
    """All parts of the log factors, and launches last."""
    one = np.ones(len(cells))
    everywhere, both = pd.Series("", index=cells.index), cells.table + ", " + cells.gpu
    peak = np.log(cells["peak_ratio"].to_numpy(float) / USUAL_PEAK_RATIO)
    of_k = np.array([name in _OF_K for name in CLASSES], float)
    keys = {"table": cells.table, "gpu": cells.gpu, "cell": both}
    yield _Group("peak k", everywhere, of_k, peak)
    for part, column in keys.items():
        yield _Group(f"{part} k", column, of_k, one)
        yield _Group(f"{part} m", column, 1 - of_k, one)
    for name in _OWN_CLASSES:
        own = np.array([name == each for each in CLASSES], float)
        yield _Group(name, everywhere, own, one)
        yield _Group(f"table {name}", cells.table, own, one)
    yield _Group("launch", cells.table, np.zeros(len(CLASSES)), one)


@dataclass(frozen=True)
class SpeedupFit:
    """Fitted coefficients: name of the group -> key -> value, all natural logarithms.

    Keys are tables, GPUs, or both as "table, GPU"; "launch" is microseconds of launches per layer.
    """

    values: dict[str, dict[str, float]]

    def class_factors(self, table: str) -> list[float]:
        """Log factors of `CLASSES` in a table, on a GPU with the usual ratio of peaks."""
        of_table = {name: self.values[f"table {name}"][table] for name in ("k", "m")}
        return [
            of_table["k" if name in _OF_K else "m"]
            + self.values.get(name, {}).get("", 0.0)
            + self.values.get(f"table {name}", {}).get(table, 0.0)
            for name in CLASSES
        ]

    def predict(self, cells: pd.DataFrame) -> FloatArray:
        """Log speed-up of each cell, (cells,); what was not fitted counts as 0."""
        groups = tuple(_groups(cells))
        value = np.array([[self.values.get(one.name, {}).get(key, 0.0) for key in one.keys] for one in groups]).T
        value *= np.array([one.factor for one in groups]).T
        work = _shares(cells) * np.exp(-value @ np.array([one.classes for one in groups]))
        launch = np.minimum(np.exp(value[:, -1]) * _layers_per_us(cells), 1.0)
        joined: FloatArray = -np.log(work.sum(axis=1) ** LAUNCH_POWER + launch**LAUNCH_POWER) / LAUNCH_POWER
        return joined


def chosen_gpu_sd(cells: pd.DataFrame, by: str) -> float:
    """The least of `GPU_SDS` whose mean error on inner folds is near the best; folds hold whole groups of a column.

    Nothing but `cells` counts: on the cells of an outer fold this is a choice that its held-out group did not see.
    """
    return _chosen(cells, by, GPU_SDS, fit_speedups)


def chosen_sds(cells: pd.DataFrame, by: str) -> tuple[float, float]:
    """The standard deviation of GPUs, and then that of `CLASS_SDS`."""
    gpu_sd = chosen_gpu_sd(cells, by)
    return gpu_sd, _chosen(cells, by, CLASS_SDS, lambda seen, class_sd: fit_speedups(seen, gpu_sd, class_sd))


def _chosen(
    cells: pd.DataFrame, by: str, sds: Sequence[float], fit: Callable[[pd.DataFrame, float], SpeedupFit]
) -> float:
    fold = cells[by].map({name: place % _INNER_FOLDS for place, name in enumerate(sorted(cells[by].unique()))})

    def error(sd: float) -> float:
        missed = []
        for number in range(_INNER_FOLDS):
            seen, held_out = cells[fold != number], cells[fold == number]
            known = held_out[held_out["table"].isin(seen["table"])]
            if len(known):
                missed.append(np.abs(fit(seen, sd).predict(known) - known["log_speedup"]))
        return float(np.mean(np.concatenate(missed))) if missed else 0.0

    errors = {sd: error(sd) for sd in sds}
    return next(sd for sd in sds if errors[sd] <= _NEAR_BEST * min(errors.values()))


def fit_speedups(cells: pd.DataFrame, gpu_sd: float, class_sd: float = 0.0) -> SpeedupFit:
    """Fit by Gauss-Newton steps with weights that fall for cells far off.

    cells : one row per table, GPU and network, as `pairs.load_pairs` gives them.
    gpu_sd : prior standard deviation of a GPU's own coefficients.
    class_sd : the same of a class of operations, and half of it of the class in a table; 0: k and m only.
    """
    class_sds = dict.fromkeys(_OWN_CLASSES, class_sd) | {f"table {name}": class_sd / 2 for name in _OWN_CLASSES}
    shrunk = {group: share * gpu_sd for group, share in _GPU_GROUPS.items()} | class_sds
    priors = {**_PRIORS, **{group: (0.0, sd) for group, sd in shrunk.items() if sd > 0}}
    groups = [group for group in _groups(cells) if group.name in priors]
    names: list[tuple[str, str]] = []
    index = np.empty((len(cells), len(groups)), int)
    for place, group in enumerate(groups):
        codes, keys = pd.factorize(group.keys, sort=True)
        index[:, place] = len(names) + codes
        names += [(group.name, str(key)) for key in keys]
    mean, sd = (np.array([priors[name][place] for name, _ in names]) for place in (0, 1))
    factor, classes = (np.array([getattr(group, name) for group in groups]) for name in ("factor", "classes"))
    target, shares, layers_per_us = cells["log_speedup"].to_numpy(float), _shares(cells), _layers_per_us(cells)
    # Each cell has one coefficient of each group: products of two of them go to one place of the normal matrix.
    size, pairs = len(names), (index[:, :, None] * len(names) + index[:, None, :]).ravel()
    found = mean.copy()
    for _ in range(_ITERATIONS):
        value = found[index] * factor.T
        work = shares * np.exp(-value @ classes)
        inverse, raw = work.sum(axis=1), np.exp(value[:, -1]) * layers_per_us
        launch = np.minimum(raw, 1.0)
        total = inverse**LAUNCH_POWER + launch**LAUNCH_POWER
        error = target + np.log(total) / LAUNCH_POWER
        slope = work @ classes.T * factor.T * (inverse ** (LAUNCH_POWER - 1) / total)[:, None]
        slope[:, -1] = np.where(raw < 1, -(launch**LAUNCH_POWER) / total, 0.0)
        weighted = slope * (1 / np.sqrt(1 + (error / _ROBUST) ** 2) / _ROBUST**2)[:, None]
        normal = np.bincount(pairs, (weighted[:, :, None] * slope[:, None, :]).ravel(), size**2).reshape(size, size)
        gradient = np.bincount(index.ravel(), (weighted * error[:, None]).ravel(), size) - (found - mean) / sd**2
        step = np.linalg.solve(normal + np.diag(sd**-2.0), gradient)
        found = found + np.clip(step, -0.5, 0.5)
        if np.abs(step).max() < 1e-6:
            break
    values: dict[str, dict[str, float]] = {group: {} for group in (*_PRIORS, *_GPU_GROUPS)}
    for (group_name, key), coefficient in zip(names, found.tolist(), strict=True):
        values.setdefault(group_name, {})[key] = coefficient
    return SpeedupFit(values)


def _shares(cells: pd.DataFrame) -> FloatArray:
    """Shares of `CLASSES` in the GPU work, (cells, classes)."""
    compute = cells["share"].to_numpy(float)
    product, normalization, depthwise = (np.asarray(cells.get(f"{name}_share", 0.0), float) for name in _OWN_CLASSES)
    rest = 1 - compute
    other = 1 - normalization - depthwise
    parts = (compute * (1 - product), compute * product, rest * normalization, rest * depthwise, rest * other)
    return np.column_stack([np.broadcast_to(part, len(cells)) for part in parts])


def _layers_per_us(cells: pd.DataFrame) -> FloatArray:
    return cells["layers"].to_numpy(float) / (1000 * cells["base_ms"].to_numpy(float))


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
