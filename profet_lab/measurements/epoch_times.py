"""Read another source's epoch times beside PROFET's latencies.

`external/cloud_hw_trainpred.csv` has seconds an epoch of the same networks on A10G, P100, T4 and V100.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.units import MS_PER_S
from profet_lab.measurements.tables import WORKLOAD, DataError, load_architectures

EPOCHS_FILE = Path("external") / "cloud_hw_trainpred.csv"
#: What the source calls the instances with T4 and V100, which PROFET measured too.
T4, V100 = "g4dn", "p3"
#: What the source calls an instance -> PROFET's name; the GPUs that PROFET did not measure keep the source's.
INSTANCES = {T4: "g4dn.xlarge", V100: "p3.2xlarge"}
#: Its names of the GPUs that only it has -> the catalog's.
DERIVED = {"g5": "A10G", "p100": "Tesla P100-PCIE-16GB"}


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
