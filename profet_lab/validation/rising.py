"""Count larger steps predicted faster: `python -m profet_lab.validation.rising`.

Measured steps never fall by more than noise, nor do predictions scaled from one profile. This checks predictions from
several profiles, networks held out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_core.files import default_models_folder
from profet_core.latency import Estimate
from profet_core.transfer.estimate import estimate_gpus
from profet_core.transfer.hosts import UNKNOWN_HOST
from profet_core.transfer.known import AnchorSteps
from profet_core.transfer.model import TransferModel, load_transfer
from profet_lab.measurements.tables import data_folder, load_measurements
from profet_lab.transfer.steps import gpu_of
from profet_lab.validation.transfer import TransferData

#: Falls beyond this are more than two predictions' noise.
NOTABLE = 0.05
_AXES = {"batch": ("batch_size", "pixels"), "pixels": ("pixels", "batch_size")}


def rising_table(predicted: pd.DataFrame) -> pd.DataFrame:
    """Of neighboring sizes: percent that fall at all, and by more than `NOTABLE`, by gpu and axis.

    Parameters
    ----------
    predicted : columns anchor, gpu, model, pixels, batch_size, latency_ms.
    """
    rows = []
    for axis, (own, other) in _AXES.items():
        table = predicted.sort_values(own)
        steps = np.log(table["latency_ms"]).groupby([table[name] for name in ("anchor", "gpu", "model", other)]).diff()
        for gpu, part in steps.dropna().groupby(table["gpu"]):
            fell = {"falls": 100 * (part < 0).mean(), "notable": 100 * (part < -NOTABLE).mean()}
            rows.append({"gpu": gpu, "axis": axis, "n": len(part), **fell})
    return pd.DataFrame(rows)


def predicted_steps(data: TransferData, model: TransferModel) -> pd.DataFrame:
    """Every workload from every anchor, on the other profiled GPUs and on those with a published benchmark."""
    return pd.concat(_predicted(data, model), ignore_index=True)


def _predicted(data: TransferData, model: TransferModel) -> Iterator[pd.DataFrame]:
    steps, ensemble, gpus = data.medians, data.median_ensemble, load_gpus()
    wanted = [(gpus[name], UNKNOWN_HOST) for name in sorted({*model.points, *model.derived})]
    for anchor in steps.instances:
        others = {name: ensemble.latency_ms[anchor, name, True] for name in steps.instances if name != anchor}
        recorded = AnchorSteps(anchor, steps.parts(anchor, True), steps.latency_ms[anchor])
        known = {name: Estimate.exact(values) for name, values in others.items()}
        found = {gpu_of(name).name: values for name, values in others.items()}
        found |= {
            gpu.name: estimate.latency_ms
            for (gpu, _), estimate in estimate_gpus(model, recorded, known, wanted, tf32=True).items()
        }
        for name, values in found.items():
            yield steps.workloads.assign(anchor=anchor, gpu=name, latency_ms=values)


def main() -> None:
    """Print the table."""
    folder = data_folder()
    data = TransferData(load_measurements(folder), folder)
    table = rising_table(predicted_steps(data, load_transfer(default_models_folder())))
    print(table.round(1).to_string(index=False))


if __name__ == "__main__":
    main()
