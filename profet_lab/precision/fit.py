"""Fit how much faster mixed precision is: factors by class of operations, over tables that published both precisions.

The speed-up is 1 / (sum of shares / factors), joined with launches, which no precision makes faster. Two factors are a
GPU's: k of convolutions and products, m of the rest. log k and log m are sums of a part of the table, of the GPU's
peak, and of the GPU; the latter are shrunk to 0, so that a GPU that no table has is known by its peak alone. Classes
differ from k and m on all GPUs alike, and a little by table, shrunk to them; inner folds choose how far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.arrays import FloatArray
from profet_core.precision.model import CLASSES, LAUNCH_POWER, ON_TENSOR_CORES, USUAL_PEAK_RATIO

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
