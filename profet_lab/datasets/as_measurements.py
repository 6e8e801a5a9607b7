"""Turn a dataset into training measurements: the same workloads on each instance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from profet_core.errors import InputError
from profet_lab.datasets.dataset import KEY, OK, Dataset
from profet_lab.measurements.tables import WORKLOAD, DataError, Measurements
from profet_recorder.profiles.record import DEVICE_PREFIX, HOST_PREFIX

_RUN = [*WORKLOAD, "repeat"]
_LATENCIES = ["instance", *_RUN, "batch_latency_ms", "epoch_latency_s"]


def measurements_of(
    dataset: Dataset, instances: Sequence[str] | None = None, *, framework: str | None = None
) -> Measurements:
    """The profiled runs that all `instances` have in common, and every latency of them.

    instances : whose runs; None: all of the dataset.
    framework : cells of this one only; None: whatever there is, if that is one a run.

    Returns:
    measurements : as `load_measurements` gives them, instances sorted by name; operations are all those of the
        dataset, so that several calls have the same columns. `workloads` may be empty.
    """
    names = sorted(dataset.instances if instances is None else set(instances))
    for name in names:
        if name not in dataset.instances:
            raise InputError(f"No measurements of {name!r}: there are {', '.join(sorted(dataset.instances))}.")
    cells = dataset.cells[dataset.cells["instance"].isin(names) & (dataset.cells["status"] == OK)]
    if framework is not None:
        cells = cells[cells["framework"] == framework]
    _check_one_a_run(cells)
    _check_positive(dataset, cells)
    profiled = cells[cells["steps_profiled"].notna()]
    common = _common_runs(profiled, names)
    rows = {name: _cell_numbers(profiled, name, common) for name in names}
    operations, times_us = _wide(dataset, rows)
    latency_ms = cells.set_index("cell")["batch_latency_ms"]
    return Measurements(
        workloads=common,
        operations=operations,
        times_us=times_us,
        latency_ms={name: latency_ms.loc[numbers].to_numpy(float) for name, numbers in rows.items()},
        all_latencies=cells[_LATENCIES].sort_values(["instance", *_RUN], ignore_index=True),
        sha256=dict(dataset.sha256),
    )


def _check_one_a_run(cells: pd.DataFrame) -> None:
    twice = cells[cells.duplicated(["instance", *_RUN], keep=False)]
    if twice.empty:
        return
    if twice.duplicated(KEY).any():
        raise DataError("Some cells are in the data twice: `profet data check` names them.")
    kinds = sorted({f"{row.framework} {row.precision}" for row in twice.itertuples()})
    raise DataError(f"The same runs were measured in {', '.join(kinds)}: choose one framework and one precision.")


def _check_positive(dataset: Dataset, cells: pd.DataFrame) -> None:
    latency_ms, times_us = cells["batch_latency_ms"].to_numpy(float), dataset.operations["time_us"].to_numpy(float)
    positive = np.isfinite(latency_ms) & (latency_ms > 0)
    if not positive.all() or not (np.isfinite(times_us) & (times_us >= 0)).all():
        raise DataError("Some times are not positive numbers: `profet data check` names them.")


def _common_runs(profiled: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    held = profiled.groupby(_RUN)["instance"].nunique()
    common = held[held == len(names)].index.to_frame(index=False)
    return common.sort_values(_RUN, ignore_index=True)


def _cell_numbers(profiled: pd.DataFrame, name: str, common: pd.DataFrame) -> np.ndarray:
    """The cell of each common run on one instance."""
    own = profiled[profiled["instance"] == name]
    return common.merge(own, on=_RUN, how="left", validate="one_to_one")["cell"].to_numpy()


def _wide(dataset: Dataset, rows: dict[str, np.ndarray]) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Names of all operations, and times of the cells in `rows`: instance -> (runs, operations)."""
    named = dataset.operations["operation"]
    operations = tuple(sorted(name for name in named.unique() if name.startswith((DEVICE_PREFIX, HOST_PREFIX))))
    column = pd.Series(np.arange(len(operations)), index=list(operations))
    row_of = pd.Series({int(cell): row for cells in rows.values() for row, cell in enumerate(cells)}, dtype=np.int64)
    owner = {int(cell): name for name, cells in rows.items() for cell in cells}
    wanted = dataset.operations[dataset.operations["cell"].isin(row_of.index) & named.isin(operations)]
    whose = wanted["cell"].map(owner)
    times_us = {name: np.zeros((len(cells), len(operations))) for name, cells in rows.items()}
    for name, part in wanted.groupby(whose):
        index = row_of.loc[part["cell"]].to_numpy(), column.loc[part["operation"]].to_numpy()
        times_us[str(name)][index] = part["time_us"].to_numpy(float)
    return operations, times_us
