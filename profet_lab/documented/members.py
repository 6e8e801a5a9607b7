"""The documented ensemble's members; fits of the line and the random forest."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from profet_lab.cases import WITH_LATENCY, WITHOUT_LATENCY

#: Trees and rows a leaf: nine repeats of a workload are near-copies, so leaves of a few rows lose no accuracy (see
#: the model card) and keep all twelve forests at a few megabytes.
FOREST_TREES = 60
MIN_ROWS_PER_LEAF = 9


class DocumentedRule(TypedDict):
    """How the manifest has an ensemble."""

    members: list[str]
    combine: str


#: PROFET's documented ensembles (arXiv:2208.05130 and PROFET's documentation page), as the manifest has them.
PROFET_METHOD: dict[str, DocumentedRule] = {
    WITH_LATENCY: {"members": ["line", "forest", "dense"], "combine": "median"},
    WITHOUT_LATENCY: {"members": ["forest", "dense"], "combine": "mean"},
}


def fit_line(latency_ms: np.ndarray, target_ms: np.ndarray) -> LinearRegression:
    """Least-squares line from the anchor's latency (rows,) to the target's (rows,), both in milliseconds."""
    return LinearRegression().fit(latency_ms.reshape(-1, 1), target_ms)


def fit_forest(features_us: np.ndarray, target_ms: np.ndarray, seed: int) -> RandomForestRegressor:
    """Random forest from the clustered profile (rows, features) to the target's latency in milliseconds (rows,)."""
    forest = RandomForestRegressor(n_estimators=FOREST_TREES, min_samples_leaf=MIN_ROWS_PER_LEAF, random_state=seed)
    # Trees compare in float32; rounding first makes training and serving see the same numbers.
    return forest.fit(features_us.astype(np.float32), target_ms)
