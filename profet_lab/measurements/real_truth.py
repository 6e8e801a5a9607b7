"""What a workload took on the measured instances, for profiles of the same workload that others recorded."""

from __future__ import annotations

import numpy as np
import pyarrow  # noqa: F401  (reads the measurements: missing, it is to be told before)

from profet_core.errors import InputError
from profet_lab.measurements.data import Measurements
from profet_lab.measurements.real_index import Measured


def measured_latencies(measurements: Measurements, workload: Measured) -> dict[str, float]:
    """Instance -> median step latency of the workload over its repeats, milliseconds.

    Raises
    ------
    InputError : the measurements don't hold that workload.
    """
    table = measurements.all_latencies
    rows = table[
        (table["model"] == workload.model)
        & (table["pixels"] == workload.pixels)
        & (table["batch_size"] == workload.batch_size)
    ]
    if rows.empty:
        raise InputError(
            f"The measurements hold no {workload.model} at {workload.pixels} pixels, batch {workload.batch_size}: "
            "correct the index of the real profiles."
        )
    return {str(name): float(np.median(part["batch_latency_ms"])) for name, part in rows.groupby("instance")}
