"""PROFET's measurements as two Parquet tables, one row per run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from profet_core.files import sha256_hex
from profet_core.profiles.profet_json import VERSION_1_STEPS
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_lab.datasets.dataset import CELLS_FILE, MAX_ROWS, Dataset, Source
from profet_lab.datasets.parquet import file_bytes, parquet_table
from profet_lab.datasets.sources.draft import dataset_of
from profet_lab.measurements.tables import LATENCIES_FILE, PROFILES_FILE, DataError

#: What PROFET's repository says of its measurements and code.
PROFET_LICENCE = "MIT License, copyright (c) 2022 ddps-lab: https://github.com/ddps-lab/profet"
#: What all of PROFET's measurements were made with.
PROFET_RUNS = {"framework": "tensorflow", "framework_version": "2.5", "precision": "fp32"}
_MAX_BYTES = 512 * 2**20
_AGAIN = "get it again"
_COUNTS = ("pixels", "batch_size", "repeat")
_RUN = ["instance", "model", "pixels", "batch_size", "repeat"]
_TIMES = ["batch_latency_ms", "epoch_latency_s"]


def is_tables(folder: Path) -> bool:
    """Whether a folder holds the two tables."""
    return all((folder / name).is_file() for name in (PROFILES_FILE.name, LATENCIES_FILE.name))


def read_tables(folder: Path) -> Dataset:
    """Read `profiles.parquet` and `latencies.parquet` in `folder`.

    Raises
    ------
    DataError : a table is damaged, lacks a column, or they contradict each other.
    """
    profiles, profiles_hash = _table(folder / PROFILES_FILE.name)
    latencies, latencies_hash = _table(folder / LATENCIES_FILE.name)
    hashes = {PROFILES_FILE.name: profiles_hash, LATENCIES_FILE.name: latencies_hash}
    source = Source("profet", "profet tables", hashes, PROFET_LICENCE)
    return profet_dataset(profiles, latencies, source)


def _table(path: Path) -> tuple[pd.DataFrame, str]:
    data = file_bytes(path, most_bytes=_MAX_BYTES, remedy=_AGAIN)
    read = parquet_table(data, path, most_rows=MAX_ROWS[CELLS_FILE], remedy=_AGAIN)
    # What pandas notes of a table in its file is its writer's, and says nothing that is needed here.
    table = read.to_pandas(ignore_metadata=True)
    for name in [*_RUN, *_TIMES]:
        if name not in table:
            raise DataError(f"{path} has no column {name}: name PROFET's own tables.")
    for name in table:
        number = name in (*_TIMES, *_COUNTS) or str(name).startswith((DEVICE_PREFIX, HOST_PREFIX))
        if number and not pd.api.types.is_numeric_dtype(table[name]):
            raise DataError(f"{path} holds texts in {name}: name PROFET's own tables.")
    return table, sha256_hex(data)


def profet_dataset(profiles: pd.DataFrame, latencies: pd.DataFrame, source: Source) -> Dataset:
    """PROFET's runs in the layout.

    Parameters
    ----------
    profiles : columns instance, model, pixels, batch_size, repeat, batch_latency_ms, epoch_latency_s, and an operation
        each, microseconds of two steps.
    latencies : the same without operations, of every run.

    Raises
    ------
    DataError : a run is there twice, or both tables have it with other times.
    """
    operations = [name for name in profiles if str(name).startswith((DEVICE_PREFIX, HOST_PREFIX))]
    of_profiles = profiles[[*_RUN, *_TIMES]].assign(steps_profiled=VERSION_1_STEPS, row=range(len(profiles)))
    cells = latencies[[*_RUN, *_TIMES]].merge(of_profiles, on=_RUN, how="outer", suffixes=("", "_profiled"))
    both = cells[[*_TIMES, *(f"{name}_profiled" for name in _TIMES)]].dropna(how="any")
    for name in _TIMES:
        if (both[name] != both[f"{name}_profiled"]).any():
            raise DataError(f"{source.name}: profiles and latencies differ in {name} of the same runs.")
        cells[name] = cells[name].fillna(cells[f"{name}_profiled"])
    cells = cells.assign(cell=range(len(cells)), **PROFET_RUNS)
    number = cells.dropna(subset="row").set_index("row")["cell"].sort_index()
    wide = profiles[operations].astype(float).set_axis(number.to_numpy(), axis=0) / VERSION_1_STEPS
    long = wide.rename_axis("cell").reset_index().melt("cell", var_name="operation", value_name="time_us")
    return dataset_of(cells, long, source)
