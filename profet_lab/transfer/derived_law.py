"""Fit derived GPUs' latencies from PROFET's on T4 and V100."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from profet_core.latency import Estimate
from profet_core.transfer.model import DerivedLaw, derive
from profet_lab.measurements.epoch_times import DERIVED, INSTANCES, T4, V100
from profet_lab.transfer.epoch_correction import (
    ROUTES,
    corrected_held_out,
    corrected_without,
    ridge_pipeline,
    route_ratios,
)
from profet_lab.transfer.log_errors import root_mean_square

BASE, OTHER = INSTANCES[T4], INSTANCES[V100]
#: The source's TensorFlow allows TF32 unasked. Where a user forbids it on a GPU that has it: an assumption, there is no
#: measurement; the A10G's TF32 peak is its FP32 peak, so little should change.
SOURCE_TF32 = True
OTHER_PRECISION_LOG_SD = 0.15


def fit_derived(epochs: pd.DataFrame) -> dict[str, DerivedLaw]:
    """One analytical model a GPU of `epoch_times.DERIVED`, by its full name."""
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
