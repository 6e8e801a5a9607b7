"""Monotone boosted trees (xgboost, lightgbm) that correct the analytical model."""

from __future__ import annotations

import json
from collections.abc import Sequence

import lightgbm
import numpy as np
import xgboost

from profet_core.ensemble.fitted import TreeStack
from profet_lab.export import boosted_stack, xgboost_stack

ROUNDS = 300
_LIGHTGBM = {
    "objective": "regression",
    "num_leaves": 31,
    "learning_rate": 0.05,
    "min_data_in_leaf": 6,
    "lambda_l2": 1.0,
    "use_missing": False,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "verbosity": -1,
}
_XGBOOST = {
    "objective": "reg:squarederror",
    "max_depth": 5,
    "eta": 0.05,
    "min_child_weight": 3,
    "lambda": 1.0,
    "tree_method": "hist",
    "nthread": 1,
    "base_score": 0.0,
    "seed": 0,
}


def fit_lightgbm(features: np.ndarray, values: np.ndarray, rises: Sequence[bool]) -> TreeStack:
    """lightgbm's trees, as arrays."""
    data = lightgbm.Dataset(features, values, params={"verbosity": -1})
    parameters = {**_LIGHTGBM, "monotone_constraints": [int(one) for one in rises]}
    return boosted_stack([lightgbm.train(parameters, data, ROUNDS)])


def fit_xgboost(features: np.ndarray, values: np.ndarray, rises: Sequence[bool]) -> TreeStack:
    """xgboost's trees, as arrays."""
    parameters = {**_XGBOOST, "monotone_constraints": "(" + ",".join(str(int(one)) for one in rises) + ")"}
    booster = xgboost.train(parameters, xgboost.DMatrix(features, values), ROUNDS)
    return xgboost_stack([json.loads(tree) for tree in booster.get_dump(dump_format="json")], features.shape[1])
