"""Hold out each group in turn: fit on all others, predict it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd


def held_out(
    rows: pd.DataFrame, groups: np.ndarray, predict: Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]
) -> np.ndarray:
    """Out-of-fold predictions, (rows,).

    Parameters
    ----------
    groups : of each row, (rows,). predict : rows of all other groups, rows of one -> its predictions.
    """
    found = np.empty(len(rows))
    for name in np.unique(groups):
        out = groups == name
        found[out] = predict(rows[~out], rows[out])
    return found
