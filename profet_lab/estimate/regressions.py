"""Two methods that the rates are compared with: a regression after Lattuada et al. (2022), and boosted trees.

Only the paper's abstract was read: linear regression on features of the network and the GPU that sequential forward
selection chose. Here on logarithms, and judged on the paper's four tests with PROFET's cells.
"""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression

from profet_core.catalog import load_gpus
from profet_lab.estimate.rows import BENCHMARK, PROFET, EstimateRows

METHODS = ("regression", "lightgbm", "xgboost")
_FEATURES = 8
_TREES = {"num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 10, "verbosity": -1, "num_threads": 1, "seed": 0}
_XGBOOST = {"max_depth": 5, "eta": 0.05, "tree_method": "hist", "nthread": 1, "seed": 0}
_ROUNDS = 200
_DEEPER = ("VGG16", "VGG19", "ResNet50")


def regressions(rows: EstimateRows) -> dict[str, dict[str, Any]]:
    """Split -> number of judged cells, and mean error of each method, percent."""
    cells = rows.of(rows.sources == PROFET)
    features, log_ms = _features(cells), np.log(cells.latency_ms)
    found: dict[str, dict[str, Any]] = {}
    for name, folds in _splits(cells).items():
        errors: dict[str, list[np.ndarray]] = {name: [] for name in METHODS}
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
