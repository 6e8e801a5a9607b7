"""Out-of-fold predictions of published steps, by network and by GPU model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_lab.held_out import held_out
from profet_lab.progress import Progress
from profet_lab.scaleout.fit import Array, fitted_model, predicted_ms
from profet_lab.scaleout.widths import log_half_widths, widths
from profet_lab.tasks import run_tasks

#: Columns whose values are held out in turn.
NETWORK, GPU = "network", "gpu"
#: Inner folds for the interval widths.
_INNER = 5


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Out-of-fold milliseconds per step and log half-width of each row; NaN: none."""

    latency_ms: Array
    log_half_width: Array


def held_out_steps(
    rows: pd.DataFrame, by: str, *, only: Iterable[str] | None = None, progress: Progress | None = None
) -> HeldOut:
    """Predict each fold with a model and widths fitted on the other folds.

    Parameters
    ----------
    by : `NETWORK` or `GPU`. only : these folds. progress : called after each fold.
    """
    found = HeldOut(np.full(len(rows), np.nan), np.full(len(rows), np.nan))
    names = sorted(set(rows[by]) if only is None else only)
    for name, one in zip(names, run_tasks(_fold, [(rows, by, name) for name in names], progress=progress), strict=True):
        inside = (rows[by] == name).to_numpy()
        found.latency_ms[inside], found.log_half_width[inside] = one
    return found


def _fold(rows: pd.DataFrame, by: str, name: str) -> tuple[Array, Array]:
    """Of the fold's rows alone."""
    out, others = rows[rows[by] == name], rows[rows[by] != name]
    latency_ms = predicted_ms(fitted_model(others), out)
    inner_widths = widths(others, held_out_ms(others, by, groups=_INNER))
    return latency_ms, log_half_widths(out, latency_ms, inner_widths)


def held_out_ms(rows: pd.DataFrame, by: str, *, groups: int | None = None) -> Array:
    """Out-of-fold milliseconds per step of each row, by folds or groups of folds."""
    _, fold = np.unique(rows[by].to_numpy(str), return_inverse=True)
    group = fold if groups is None else fold % groups
    return held_out(rows, group, lambda others, out: predicted_ms(fitted_model(others), out))
