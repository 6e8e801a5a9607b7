"""Other models of the speed-up, for comparison with the served one: two factors, and a boosted one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from profet_core.arrays import FloatArray
from profet_lab.precision.fit import SpeedupFit, fit_speedups

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
