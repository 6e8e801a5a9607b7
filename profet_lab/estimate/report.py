"""Validate estimates without a profile on families, GPUs, workloads and networks that were held out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression

from profet_core.catalog import load_gpus
from profet_core.layers.rates import SMALL_BATCH, Case, Mode
from profet_lab.estimate.fit import fit, problem
from profet_lab.estimate.judge import HeldOut, Judge
from profet_lab.estimate.rows import BENCHMARK, PROFET, TIMM, EstimateRows, estimate_rows
from profet_lab.measurements.tables import Measurements
from profet_lab.memory import layers_known
from profet_lab.tasks import Progress

_METHODS = ("regression", "lightgbm", "xgboost")
_FEATURES = 8
_TREES = {"num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 10, "verbosity": -1, "num_threads": 1, "seed": 0}
_XGBOOST = {"max_depth": 5, "eta": 0.05, "tree_method": "hist", "nthread": 1, "seed": 0}
_ROUNDS = 200
_DEEPER = ("VGG16", "VGG19", "ResNet50")


def estimate_report(measurements: Measurements, folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Validate on held-out data.

    Returns:
    `steps`, `networks`, `gpus` : how much was fitted.
    `judged` : rows with `held_out`, `n`, `mape`, `median`, `bias`, `coverage_90`, `half_width_pct` (percent).
    `inside` : case, source or small batch -> `n`, `coverage_90`, `half_width_pct` of families held out.
    `by_gpu` : published GPUs held out, `by_network` : PROFET's networks held out, by `n`, `mape`, `bias`.
    `regressions` : PROFET's cells by the paper's splits, the regression's and the boosted trees' errors.
    `memory` : does it fit, by counts, one architecture held out.
    """
    rows = estimate_rows(measurements.all_latencies, folder)
    fit_problem = problem(rows)
    judge = Judge(fit_problem, fit(fit_problem), progress)
    return {
        "steps": len(rows),
        "networks": len(set(rows.networks.tolist())),
        "gpus": len(set(rows.gpus.tolist())),
        "judged": judged(judge),
        "inside": inside(judge),
        "by_source": _by(judge, judge.sources, rows.sources),
        "by_gpu": _by(judge, judge.gpus, rows.gpus),
        "by_network": _by(judge, judge.networks, rows.networks),
        "regressions": regressions(rows),
        "memory": layers_known(measurements, folder),
    }


def judged(judge: Judge) -> list[dict[str, Any]]:
    """One row for each thing that is held out."""
    data, families = judge.data, judge.families
    is_depthwise = data.cases == str(Case.DEPTHWISE)
    is_cnn = data.cases != str(Case.HYBRID)
    timm, every = data.sources == TIMM, np.ones(len(data), bool)
    plain, last = (timm & (data.modes == int(mode)) for mode in (Mode.HALF, Mode.HALF_CHANNELS_LAST))
    cases: list[tuple[str, HeldOut, np.ndarray]] = [
        ("families, RTX 3090 AMP, NCHW", families, plain & is_cnn),
        ("families, RTX 3090 AMP, NCHW: depthwise", families, plain & is_depthwise),
        ("families, RTX 3090 AMP, channels-last", families, last & is_cnn),
        ("families, RTX 3090 AMP, channels-last: depthwise", families, last & is_depthwise),
        ("families, RTX 3090 AMP: hybrids", families, timm & ~is_cnn),
        ("families, all other published rows", families, ~timm),
        ("families, as answered to users of another source", judge.families_as_answered, every),
        ("one source of published rows", judge.sources, every),
        ("one published GPU, its ResNet-50 known", judge.gpus, every),
        ("PROFET's cells: workloads", judge.workloads, every),
        ("PROFET's cells: networks", judge.networks, every),
        ("PROFET's cells: GPUs", judge.cell_gpus, every),
    ]
    return [{"held_out": name, **figures(judge, held, mask)} for name, held, mask in cases]


def inside(judge: Judge) -> dict[str, dict[str, Any]]:
    """Coverage by case, by source, and at small batches: families held out, their source's effect left away."""
    data, held = judge.data, judge.families_as_answered
    masks = {str(case): data.cases == str(case) for case in Case}
    masks |= {f"batch below {SMALL_BATCH}": data.batch_sizes < SMALL_BATCH}
    masks |= {source: data.sources == source for source in sorted(set(data.sources[held.rows].tolist()))}
    return {name: figures(judge, held, mask) for name, mask in masks.items()}


def figures(judge: Judge, held: HeldOut, mask: np.ndarray) -> dict[str, Any]:
    """Errors and intervals of the held-out rows in a mask."""
    rows = held.rows & mask
    errors, halves = judge.log_errors(held)[rows], judge.half_widths(held)[rows]
    if not len(errors):
        return {"n": 0, "mape": 0.0, "median": 0.0, "bias": 0.0, "coverage_90": 0.0, "half_width_pct": 0.0}
    percent = 100 * np.abs(np.expm1(errors))
    return {
        "n": len(errors),
        "mape": float(percent.mean()),
        "median": float(np.median(percent)),
        "bias": float(100 * np.expm1(errors.mean())),
        "coverage_90": float(100 * np.mean(np.abs(errors) <= halves)),
        "half_width_pct": float(100 * np.expm1(np.median(halves))),
    }


def _by(judge: Judge, held: HeldOut, names: np.ndarray) -> Mapping[str, dict[str, Any]]:
    return {name: figures(judge, held, names == name) for name in sorted(set(names[held.rows].tolist()))}


def regressions(rows: EstimateRows) -> dict[str, dict[str, Any]]:
    """A regression after Lattuada et al. (2022), and boosted trees, on PROFET's cells.

    Only the paper's abstract was read: linear regression on features of the network and the GPU that sequential forward
    selection chose; here on logarithms.

    Returns:
    Split of the paper's four tests -> number of judged cells, and mean error of each method, percent.
    """
    cells = rows.of(rows.sources == PROFET)
    features, log_ms = _features(cells), np.log(cells.latency_ms)
    found: dict[str, dict[str, Any]] = {}
    for name, folds in _splits(cells).items():
        errors: dict[str, list[np.ndarray]] = {name: [] for name in _METHODS}
        for learned, judged in folds:
            chosen = SequentialFeatureSelector(LinearRegression(), n_features_to_select=_FEATURES, cv=5)
            chosen.fit(features[learned], log_ms[learned])
            columns = chosen.get_support()
            line = LinearRegression().fit(features[learned][:, columns], log_ms[learned])
            trees = lightgbm.train(_TREES, lightgbm.Dataset(features[learned], log_ms[learned]), _ROUNDS)
            more = xgboost.train(_XGBOOST, xgboost.DMatrix(features[learned], log_ms[learned]), _ROUNDS)
            errors["regression"].append(line.predict(features[judged][:, columns]) - log_ms[judged])
            errors["lightgbm"].append(np.asarray(trees.predict(features[judged])) - log_ms[judged])
            errors["xgboost"].append(more.predict(xgboost.DMatrix(features[judged])) - log_ms[judged])
        means = {method: float(100 * np.abs(np.expm1(np.concatenate(each))).mean()) for method, each in errors.items()}
        found[name] = {"n": sum(int(judged.sum()) for _, judged in folds), **means}
    return found


def _features(cells: EstimateRows) -> np.ndarray:
    """Logarithms of work by kind, sizes, and the GPU's peak, (rows, features)."""
    gpus = [load_gpus()[str(name)] for name in cells.gpus]
    # One figure of the GPU: three GPUs can't tell more of them apart.
    peaks = np.log([[gpu.fp32_tflops] for gpu in gpus])
    sizes = np.log([cells.batch_sizes, cells.pixels, cells.operations]).T
    return np.concatenate([np.log1p(cells.work), np.log(cells.work.sum(axis=1))[:, None], sizes, peaks], axis=1)


def _splits(cells: EstimateRows) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    random = np.random.default_rng(0).integers(0, 5, len(cells))
    larger, deeper = cells.batch_sizes > 64, np.isin(cells.networks, _DEEPER)
    held_gpus = [(cells.gpus == gpu) for gpu in np.unique(cells.gpus)]
    return {
        "interpolation": [(random != fold, random == fold) for fold in range(5)],
        "larger batch": [(~larger, larger)],
        "deeper network": [(~deeper, deeper)],
        "unseen GPU": [(~held, held & (cells.networks != BENCHMARK)) for held in held_gpus],
    }
