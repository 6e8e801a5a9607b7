"""Gain from one measured target latency of the same network."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from profet_core.prediction.correction import share_carried_over
from profet_core.profiles.record import ProfileMeta
from profet_lab.cases import CASES
from profet_lab.measurements.tables import WORKLOAD


def measured_report(table: pd.DataFrame, cases: Collection[str] = tuple(CASES.values())) -> dict:
    """MAPE once another workload of the same network was measured on the target, percent, mean over the pairs.

    Parameters
    ----------
    table : as `validation.default.default_table` gives it.

    Every other workload of the network is taken as the measured one in turn (the median of its runs), and the errors
    are averaged. The weight is a constant of the program, chosen on these data.
    """
    found: dict[str, list[float]] = {f"mape_{case}": [] for case in cases}
    for _, pair in table.groupby(["anchor", "target"]):
        for case in cases:
            errors = [_network_errors(rows, case) for _, rows in pair.groupby("model")]
            found[f"mape_{case}"].append(float(np.concatenate(errors).mean()))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _network_errors(rows: pd.DataFrame, case: str) -> np.ndarray:
    """Percentage error of every row, averaged over the workloads that may have been measured."""
    log_error = np.log(rows["true_ms"].to_numpy() / rows[case].to_numpy())
    workload = rows.groupby(WORKLOAD).ngroup().to_numpy()
    sizes = rows.groupby(WORKLOAD)[["batch_size", "pixels"]].first().to_numpy()
    metas = [ProfileMeta(batch_size=int(batch), pixels=int(pixels)) for batch, pixels in sizes]
    medians = rows.groupby(WORKLOAD)[["true_ms", case]].median()
    known = np.log((medians["true_ms"] / medians[case]).to_numpy())
    errors = np.empty(len(rows))
    for number, meta in enumerate(metas):
        others = [other for other in range(len(metas)) if other != number]
        carried = np.array([share_carried_over(meta, metas[other]) * known[other] for other in others])
        here = workload == number
        left = log_error[here][:, None] - carried[None, :]
        errors[here] = 100 * np.abs(np.exp(-left) - 1).mean(axis=1)
    return errors
