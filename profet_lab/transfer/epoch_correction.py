"""Correct another source's epoch times for work other than training steps.

An epoch there also holds set-up, validation and monitoring, and steps that the host bounds took longer under it. The
share of the time the GPU was busy, which the source sampled, explains most of it. The correction is fitted where PROFET
measured the same workload on the same GPU: T4 and V100.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from profet_core.units import MS_PER_S
from profet_lab.measurements.epoch_times import T4, V100
from profet_lab.measurements.tables import WORKLOAD

RIDGE = 3.0
#: log(step / uncorrected step) is held between these: a step is no longer than its share of the epoch.
CORRECTION_RANGE = (-1.5, 0.1)
#: Between the two GPUs that both sources measured, there and back.
ROUTES = ("T4 -> V100", "V100 -> T4")


def ridge_pipeline() -> Pipeline:
    """Ridge regression on standardized inputs."""
    return make_pipeline(StandardScaler(), Ridge(RIDGE))


def correction_inputs(table: pd.DataFrame) -> np.ndarray:
    """Set-up (inverse epoch time, layers over it, inverse number of steps), GPU busy share, time a layer."""
    epoch_ms = table.epoch_s * MS_PER_S
    busy = table.gpu_util_mean / 100
    per_layer = np.log(table.raw_ms / table.n_layers)
    columns = [
        1 / epoch_ms,
        table.n_layers / epoch_ms,
        1 / table.train_batches,
        busy,
        busy**2,
        per_layer,
        per_layer**2,
    ]
    return np.column_stack([np.asarray(column, float) for column in columns])


def fit_correction(table: pd.DataFrame) -> Pipeline:
    """Ridge regression of log(measured / uncorrected) over the rows that PROFET measured too."""
    rows = table[table.measured_ms.notna()]
    return ridge_pipeline().fit(correction_inputs(rows), np.log(rows.measured_ms / rows.raw_ms))


def corrected_ms(model: Pipeline, table: pd.DataFrame) -> np.ndarray:
    """Step latency of each row, milliseconds."""
    return table.raw_ms.to_numpy() * np.exp(np.clip(model.predict(correction_inputs(table)), *CORRECTION_RANGE))


def corrected_without(table: pd.DataFrame, models: Sequence[str]) -> np.ndarray:
    """Every row corrected by one fit that never saw these networks, milliseconds."""
    return corrected_ms(fit_correction(table[~table.model.isin(models)]), table)


def corrected_held_out(table: pd.DataFrame, fitted_on: Sequence[str] | None = None) -> np.ndarray:
    """Each row corrected by a fit that never saw its network, milliseconds.

    Parameters
    ----------
    fitted_on : the source's names of the instances the fit may see; all if None.
    """
    found = np.full(len(table), np.nan)
    for name in table.model.unique():
        own = (table.model == name).to_numpy()
        training = table[~own if fitted_on is None else ~own & table.instance.isin(fitted_on)]
        found[own] = corrected_ms(fit_correction(training), table[own])
    return found


def route_ratios(table: pd.DataFrame, step_ms: np.ndarray) -> pd.DataFrame:
    """From PROFET's latency on one GPU through the source's ratio to the other, over PROFET's latency there.

    Returns
    -------
    routes : one row a workload that both sources have on both GPUs; columns model and the two routes, predicted over
        measured.
    """
    rows = table.assign(step_ms=step_ms)
    both = rows[rows.instance == T4].merge(rows[rows.instance == V100], on=WORKLOAD, suffixes=("_t4", "_v100"))
    ratio = (both.step_ms_v100 / both.step_ms_t4) / (both.measured_ms_v100 / both.measured_ms_t4)
    there, back = ROUTES
    return pd.DataFrame({"model": both.model, there: ratio, back: 1 / ratio})
