"""Step latencies from epoch times of another source, corrected for what an epoch holds beside its training steps.

`external/cloud_hw_trainpred.csv` has seconds an epoch of the same networks on A10G, P100, T4 and V100. An epoch there
also holds set-up, validation and monitoring, and steps that the host bounds took longer under it. The share of the time
the GPU was busy, which the source sampled, tells most of that. The correction is fitted where PROFET measured the same
workload on the same GPU: T4 and V100.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from profet_core.units import MS_PER_S
from profet_lab.measurements.data import DataError, load_architectures

EPOCHS_FILE = Path("external") / "cloud_hw_trainpred.csv"
WORKLOAD = ["model", "pixels", "batch_size"]
#: What the source calls an instance -> PROFET's name; the GPUs that PROFET did not measure keep the source's.
INSTANCES = {"g4dn": "g4dn.xlarge", "p3": "p3.2xlarge"}
#: Its names of the GPUs that only it has -> the catalogue's.
DERIVED = {"g5": "A10G", "p100": "Tesla P100-PCIE-16GB"}
RIDGE = 3.0
#: log(step / uncorrected step) is held between these: a step is no longer than its share of the epoch.
CORRECTION_RANGE = (-1.5, 0.1)


def load_epochs(folder: Path, all_latencies: pd.DataFrame) -> pd.DataFrame:
    """The source's rows beside PROFET's medians of the same workload.

    Returns
    -------
    table : columns model, pixels, batch_size, instance, raw_ms (epoch time over training steps), the columns the
        correction uses, measured_ms (PROFET's latency on that GPU, NaN where it has none), and a column of PROFET's
        latency for each of its instances.

    Raises
    ------
    DataError : the file, or that of the architectures, is missing.
    """
    path = folder / EPOCHS_FILE
    if not path.is_file():
        raise DataError(f"No {EPOCHS_FILE} in {folder}: the derived targets are fitted on it.")
    table = pd.read_csv(path).rename(columns={"image_size": "pixels"})
    layers = load_architectures(folder)[["model", "pixels", "n_layers"]]
    medians = all_latencies.groupby([*WORKLOAD, "instance"]).batch_latency_ms.median().unstack("instance").reset_index()
    table = table.merge(layers, on=["model", "pixels"], how="left").merge(medians, on=WORKLOAD, how="left")
    table["raw_ms"] = table.epoch_s * MS_PER_S / table.train_batches
    measured = [
        row[INSTANCES[row["instance"]]] if row["instance"] in INSTANCES else np.nan for _, row in table.iterrows()
    ]
    return table.assign(measured_ms=np.array(measured, float))


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
    model = make_pipeline(StandardScaler(), Ridge(RIDGE))
    return model.fit(correction_inputs(rows), np.log(rows.measured_ms / rows.raw_ms))


def corrected_ms(model: Pipeline, table: pd.DataFrame) -> np.ndarray:
    """Step latency of each row, milliseconds."""
    return table.raw_ms.to_numpy() * np.exp(np.clip(model.predict(correction_inputs(table)), *CORRECTION_RANGE))


def corrected_without(table: pd.DataFrame, models: Sequence[str]) -> np.ndarray:
    """Every row corrected by one fit that never saw these networks, milliseconds."""
    return corrected_ms(fit_correction(table[~table.model.isin(models)]), table)


def corrected_left_out(table: pd.DataFrame, learned_on: Sequence[str] | None = None) -> np.ndarray:
    """Each row corrected by a fit that never saw its network, milliseconds.

    Parameters
    ----------
    learned_on : the source's names of the instances the fit may see; all if None.
    """
    found = np.full(len(table), np.nan)
    for name in table.model.unique():
        own = (table.model == name).to_numpy()
        learned = table[~own if learned_on is None else ~own & table.instance.isin(learned_on)]
        found[own] = corrected_ms(fit_correction(learned), table[own])
    return found


def route_ratios(table: pd.DataFrame, step_ms: np.ndarray) -> pd.DataFrame:
    """From PROFET's latency on one GPU through the source's ratio to the other, over PROFET's latency there.

    Returns
    -------
    routes : one row a workload that both sources have on both GPUs; columns model and the two routes, predicted over
        measured.
    """
    rows = table.assign(step_ms=step_ms)
    both = rows[rows.instance == "g4dn"].merge(rows[rows.instance == "p3"], on=WORKLOAD, suffixes=("_t4", "_v100"))
    ratio = (both.step_ms_v100 / both.step_ms_t4) / (both.measured_ms_v100 / both.measured_ms_t4)
    return pd.DataFrame({"model": both.model, "T4 -> V100": ratio, "V100 -> T4": 1 / ratio})
