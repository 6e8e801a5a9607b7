"""Fit derived GPUs' latencies from PROFET's on T4 and V100, by another source's epoch times.

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

from profet_core.latency import Estimate
from profet_core.transfer.model import DerivedLaw, derive
from profet_core.units import MS_PER_S
from profet_lab.measurements.published import DERIVED, INSTANCES, T4, V100
from profet_lab.measurements.tables import WORKLOAD
from profet_lab.transfer.step_law import root_mean_square

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

    Returns:
    routes : one row a workload that both sources have on both GPUs; columns model and the two routes, predicted over
        measured.
    """
    rows = table.assign(step_ms=step_ms)
    both = rows[rows.instance == T4].merge(rows[rows.instance == V100], on=WORKLOAD, suffixes=("_t4", "_v100"))
    ratio = (both.step_ms_v100 / both.step_ms_t4) / (both.measured_ms_v100 / both.measured_ms_t4)
    there, back = ROUTES
    return pd.DataFrame({"model": both.model, there: ratio, back: 1 / ratio})


BASE, OTHER = INSTANCES[T4], INSTANCES[V100]
#: The source's TensorFlow allows TF32 unasked. Where a user forbids it on a GPU that has it: an assumption, there is no
#: measurement; the A10G's TF32 peak is its FP32 peak, so little should change.
SOURCE_TF32 = True
OTHER_PRECISION_LOG_SD = 0.15


def fit_derived(epochs: pd.DataFrame) -> dict[str, DerivedLaw]:
    """One analytical model a GPU of `published.DERIVED`, by its full name."""
    bias = route_bias(epochs)
    laws = {}
    for instance, gpu in DERIVED.items():
        rows = derived_rows(epochs, instance, corrected_without(epochs, []))
        laws[gpu] = fit_law(rows, log_sd=root_mean_square(held_out_errors(epochs, instance)), bias_log_sd=bias)
    return laws


def route_bias(epochs: pd.DataFrame) -> float:
    """Root mean square log error of the correction on networks it never saw, from T4 to V100."""
    there, _ = ROUTES
    return root_mean_square(np.log(route_ratios(epochs, corrected_held_out(epochs))[there].to_numpy()))


def held_out_errors(epochs: pd.DataFrame, instance: str, without: Sequence[str] = ()) -> np.ndarray:
    """Log error of the analytical model on each network held out in turn, and the networks `without` always.

    Neither the analytical model nor the correction that made its training data saw the network.
    """
    errors = []
    for name in epochs.model[~epochs.model.isin(without)].unique():
        rows = derived_rows(epochs, instance, corrected_without(epochs, [name, *without]))
        own = rows[rows.model == name]
        if len(own):
            law_ms = predicted_ms(fit_law(rows[~rows.model.isin([name, *without])]), own)
            errors.append(np.log(law_ms / own.step_ms.to_numpy()))
    return np.concatenate(errors)


def derived_rows(epochs: pd.DataFrame, instance: str, step_ms: np.ndarray) -> pd.DataFrame:
    """The source's rows of one instance that PROFET measured on T4 and V100."""
    rows = epochs.assign(step_ms=step_ms)
    return rows[(rows.instance == instance) & rows[BASE].notna() & rows[OTHER].notna()].reset_index(drop=True)


def fit_law(rows: pd.DataFrame, *, log_sd: float = 0.0, bias_log_sd: float = 0.0) -> DerivedLaw:
    """Ridge regression of log(step / T4) on log(V100 / T4) and log T4."""
    base, other = np.log(rows[BASE].to_numpy()), np.log(rows[OTHER].to_numpy())
    model = ridge_pipeline()
    model.fit(np.column_stack([other - base, base]), np.log(rows.step_ms.to_numpy()) - base)
    scaler, ridge = model[0], model[1]
    by_ratio, by_size = ridge.coef_ / scaler.scale_
    return DerivedLaw(
        base=BASE,
        other=OTHER,
        intercept=float(ridge.intercept_ - (ridge.coef_ / scaler.scale_) @ scaler.mean_),
        by_ratio=float(by_ratio),
        by_size=float(by_size),
        log_sd=log_sd,
        bias_log_sd=bias_log_sd,
        networks=int(rows.model.nunique()),
        workloads=len(rows),
        tf32=SOURCE_TF32,
        other_precision_log_sd=OTHER_PRECISION_LOG_SD,
    )


def predicted_ms(law: DerivedLaw, rows: pd.DataFrame) -> np.ndarray:
    """Latency of each row by the analytical model from PROFET's latencies on T4 and V100, milliseconds."""
    latencies = {name: Estimate.exact(rows[name].to_numpy()) for name in law.instances}
    return derive(law, latencies).latency_ms
