"""Fit how much faster mixed precision is: two factors per GPU, over the tables that published both precisions.

The speed-up is 1 / (s/k + (1-s)/m), joined with launches, which no precision makes faster. s is the share of
convolutions and products. log k and log m are sums of a part of the table, of the GPU's peak, and of the GPU; the
latter are shrunk to 0, so that a GPU that no table has is known by its peak alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.arrays import FloatArray
from profet_core.precision.model import LAUNCH_POWER, USUAL_PEAK_RATIO

#: Spread of a cell around the model at which its weight begins to fall, in the logarithm.
_ROBUST = 0.1
#: Prior mean and standard deviation of each group of coefficients, in the logarithm: wide, but for what a GPU departs
#: from its peak, and a table's part of that, half as wide. How wide the latter are inner folds choose.
_PRIORS = {"table k": (1.0, 1.0), "table m": (0.2, 0.5), "peak k": (0.0, 0.5), "launch": (3.0, 0.7)}
_GPU_GROUPS = {"gpu k": 1.0, "gpu m": 1.0, "cell k": 0.5, "cell m": 0.5}
#: Standard deviations to choose from.
GPU_SDS = (0.1, 0.2, 0.4)
_INNER_FOLDS = 4
#: Errors this near to the best are equal, and the more restrained fit is taken.
_NEAR_BEST = 1.01
_ITERATIONS = 15


@dataclass(frozen=True)
class SpeedupFit:
    """Fitted coefficients: name of the group -> key -> value, all natural logarithms.

    Keys are tables, GPUs, or both as "table, GPU"; "launch" is microseconds of launches per layer.
    """

    values: dict[str, dict[str, float]]

    def factors(self, cells: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
        """Log k and log m of each cell, (cells,); what was not fitted counts as 0."""
        peak = np.log(cells["peak_ratio"].to_numpy(float) / USUAL_PEAK_RATIO)
        k = self._of("table k", cells.table) + self._of("gpu k", cells.gpu) + self._of("cell k", _both(cells))
        m = self._of("table m", cells.table) + self._of("gpu m", cells.gpu) + self._of("cell m", _both(cells))
        return k + self.values["peak k"][""] * peak, m

    def predict(self, cells: pd.DataFrame) -> FloatArray:
        """Log speed-up of each cell, (cells,)."""
        k, m = self.factors(cells)
        inverse = _inverse(cells, k, m)
        launch = np.minimum(np.exp(self._of("launch", cells.table)) * _layers_per_us(cells), 1.0)
        return -np.log(inverse**LAUNCH_POWER + launch**LAUNCH_POWER) / LAUNCH_POWER

    def _of(self, group: str, keys: pd.Series) -> FloatArray:
        values = self.values[group]
        return np.array([values.get(key, 0.0) for key in keys])


def chosen_gpu_sd(cells: pd.DataFrame, by: str) -> float:
    """The least of `GPU_SDS` whose mean error on inner folds is near the best; folds hold whole groups of a column.

    Nothing but `cells` counts: on the cells of an outer fold this is a choice that its held-out group did not see.
    """
    fold = cells[by].map({name: place % _INNER_FOLDS for place, name in enumerate(sorted(cells[by].unique()))})

    def error(gpu_sd: float) -> float:
        missed = []
        for number in range(_INNER_FOLDS):
            seen, held_out = cells[fold != number], cells[fold == number]
            known = held_out[held_out["table"].isin(seen["table"])]
            if len(known):
                missed.append(np.abs(fit_speedups(seen, gpu_sd).predict(known) - known["log_speedup"]))
        return float(np.mean(np.concatenate(missed))) if missed else 0.0

    errors = {gpu_sd: error(gpu_sd) for gpu_sd in GPU_SDS}
    return next(gpu_sd for gpu_sd in GPU_SDS if errors[gpu_sd] <= _NEAR_BEST * min(errors.values()))


def fit_speedups(cells: pd.DataFrame, gpu_sd: float) -> SpeedupFit:
    """Fit by Gauss-Newton steps with weights that fall for cells far off.

    Parameters
    ----------
    cells : one row per table, GPU and network, as `pairs.load_pairs` gives them.
    gpu_sd : prior standard deviation of a GPU's own coefficients.
    """
    priors = {**_PRIORS, **{group: (0.0, share * gpu_sd) for group, share in _GPU_GROUPS.items()}}
    design = {
        "table k": cells.table, "table m": cells.table, "peak k": pd.Series("", index=cells.index),
        "gpu k": cells.gpu, "gpu m": cells.gpu, "cell k": _both(cells), "cell m": _both(cells), "launch": cells.table,
    }  # fmt: skip
    names = [(group, key) for group, keys in design.items() for key in sorted(keys.unique())]
    mean, sd = (np.array([priors[group][place] for group, _ in names]) for place in (0, 1))
    peak = np.log(cells["peak_ratio"].to_numpy(float) / USUAL_PEAK_RATIO)
    codes = {group: pd.factorize(keys, sort=True)[0] for group, keys in design.items()}
    place = {group: {key: at for at, key in enumerate(sorted(keys.unique()))} for group, keys in design.items()}
    columns = [
        np.where(codes[group] == place[group][key], peak if group == "peak k" else 1.0, 0.0) for group, key in names
    ]
    indicators, is_k, is_m = (
        np.array(columns).T,
        np.array([group.endswith(" k") for group, _ in names]),
        np.array([group.endswith(" m") for group, _ in names]),
    )
    target, share = cells["log_speedup"].to_numpy(float), cells["share"].to_numpy(float)
    found, layers_per_us = mean.copy(), _layers_per_us(cells)
    for _ in range(_ITERATIONS):
        k, m, log_launch = (indicators @ np.where(of, found, 0.0) for of in (is_k, is_m, ~is_k & ~is_m))
        inverse = _inverse(cells, k, m)
        raw = np.exp(log_launch) * layers_per_us
        launch = np.minimum(raw, 1.0)
        total = inverse**LAUNCH_POWER + launch**LAUNCH_POWER
        error = target + np.log(total) / LAUNCH_POWER
        by_work = inverse**LAUNCH_POWER / total
        slope = np.where(is_k, (share * np.exp(-k) / inverse * by_work)[:, None], 0.0)
        slope = np.where(is_m, ((1 - share) * np.exp(-m) / inverse * by_work)[:, None], slope)
        slope = np.where(~is_k & ~is_m, np.where(raw < 1, -(launch**LAUNCH_POWER) / total, 0.0)[:, None], slope)
        jacobian = slope * indicators
        weight = 1 / np.sqrt(1 + (error / _ROBUST) ** 2) / _ROBUST**2
        normal = (jacobian.T * weight) @ jacobian + np.diag(sd**-2.0)
        step = np.linalg.solve(normal, (jacobian.T * weight) @ error - (found - mean) / sd**2)
        found = found + np.clip(step, -0.5, 0.5)
        if np.abs(step).max() < 1e-6:
            break
    return _as_fit(names, found)


def _as_fit(names: list[tuple[str, str]], values: FloatArray) -> SpeedupFit:
    found: dict[str, dict[str, float]] = {group: {} for group in (*_PRIORS, *_GPU_GROUPS)}
    for (group, key), value in zip(names, values.tolist(), strict=True):
        found[group][key] = value
    return SpeedupFit(found)


def _inverse(cells: pd.DataFrame, log_k: FloatArray, log_m: FloatArray) -> FloatArray:
    share = cells["share"].to_numpy(float)
    return share * np.exp(-log_k) + (1 - share) * np.exp(-log_m)


def _layers_per_us(cells: pd.DataFrame) -> FloatArray:
    return cells["layers"].to_numpy(float) / (1000 * cells["base_ms"].to_numpy(float))


def _both(cells: pd.DataFrame) -> pd.Series:
    return cells.table + ", " + cells.gpu
