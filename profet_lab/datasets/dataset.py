"""Measurements of the data layout in memory: the cells, their operations, and where both are from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa

LAYOUT = "profet-measurements"
VERSION = 1
MANIFEST_FILE = "dataset.json"
CELLS_FILE = "cells.parquet"
OPERATIONS_FILE = "operations.parquet"
TABLES = (CELLS_FILE, OPERATIONS_FILE)

#: Identifies a cell; each is measured once.
KEY = ["instance", "framework", "precision", "model", "pixels", "batch_size", "repeat"]
OK, OUT_OF_MEMORY, FAILED = "ok", "out-of-memory", "failed"
STATUSES = (OK, OUT_OF_MEMORY, FAILED)
FP32, TF32, AMP = "fp32", "tf32", "amp"
PRECISIONS = (FP32, TF32, AMP)

_WHOLE, _TEXT, _MS = pa.int32(), pa.string(), pa.float64()


def _column(name: str, kind: pa.DataType, what: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"what": what})


#: One row a cell, a run of one workload on one instance, whatever became of it.
CELLS = pa.schema(
    [
        _column("cell", _WHOLE, "number of the cell, which operations name it by"),
        _column("instance", _TEXT, "name of the instance"),
        _column("gpu", _TEXT, "full name of its GPU, as in the catalog; empty: unknown"),
        _column("framework", _TEXT, "tensorflow or pytorch; empty: unknown"),
        _column("framework_version", _TEXT, "such as 2.5; empty: unknown"),
        _column("precision", _TEXT, "fp32, tf32 or amp"),
        _column("model", _TEXT, "name of the network"),
        _column("pixels", _WHOLE, "height and width of an image"),
        _column("batch_size", _WHOLE, "images a step"),
        _column("repeat", _WHOLE, "1 for the first run of this workload"),
        _column("status", _TEXT, "ok, out-of-memory or failed"),
        _column("why", _TEXT, "what it failed with; empty where it is ok"),
        _column("batch_latency_ms", _MS, "median step, milliseconds; set where it is ok", nullable=True),
        _column("latency_repeats_ms", pa.list_(_MS), "steps it is the median of, milliseconds; may be empty"),
        _column("epoch_latency_s", _MS, "an epoch as it was timed, seconds; may be unset", nullable=True),
        _column(
            "peak_memory_bytes", pa.int64(), "most GPU memory that a step held, bytes; may be unset", nullable=True
        ),
        _column("steps_profiled", pa.int64(), "steps that the profile covered; unset: no profile", nullable=True),
        _column("recorded_at", _TEXT, "when, ISO 8601; empty: unknown"),
        _column("source", _TEXT, "name of its source in dataset.json"),
    ]
)
#: One row an operation of a cell that took any time.
OPERATIONS = pa.schema(
    [
        _column("cell", _WHOLE, "number of the cell"),
        _column("operation", _TEXT, "Device_ or Host_, and the operation's type"),
        _column("time_us", pa.float64(), "of ONE step, microseconds"),
    ]
)
SCHEMAS = {CELLS_FILE: CELLS, OPERATIONS_FILE: OPERATIONS}
#: Maximum of either; reading stays below 4 GB.
MAX_ROWS = {CELLS_FILE: 500_000, OPERATIONS_FILE: 30_000_000}


@dataclass(frozen=True, slots=True)
class Source:
    """Where cells are from.

    Attributes
    ----------
    name : what the cells call it; the same name with other files is another source.
    kind : what was read: `profet pickles`, `profet tables` or `collection`.
    files : name of a file that was read -> its SHA-256.
    licence : its license, in words; empty: unknown.
    """

    name: str
    kind: str
    files: Mapping[str, str]
    licence: str = ""


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """What is known of an instance's machine; empty: unknown."""

    gpu: str = ""
    driver: str = ""
    host: str = ""


@dataclass(frozen=True)
class Dataset:
    """What a folder of the layout holds.

    Attributes
    ----------
    cells : the columns of `CELLS`, sorted by `KEY`; what may be unset is NaN or NA.
    operations : the columns of `OPERATIONS`, sorted by cell and operation.
    sources : in the order they came.
    instances : name -> its machine, of every instance in `cells`.
    sha256 : file -> hash; empty if not read from a folder.
    """

    cells: pd.DataFrame
    operations: pd.DataFrame
    sources: tuple[Source, ...]
    instances: Mapping[str, InstanceFacts]
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def profiled(self) -> pd.DataFrame:
        """The cells that have a profile."""
        return self.cells[self.cells["steps_profiled"].notna()]

    def device_total_us(self) -> pd.Series:
        """Cell -> sum of its device rows, idle included, microseconds of one step; 0 where it has none."""
        device = self.operations[self.operations["operation"].str.startswith("Device_")]
        total_us = device.groupby("cell")["time_us"].sum()
        return total_us.reindex(self.profiled["cell"], fill_value=0.0)


def ordered(cells: pd.DataFrame, operations: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables in their order, cells numbered from 0, without operations that took no time.

    Parameters
    ----------
    cells : `cell` may be any numbers that `operations` names them by, each once.
    """
    cells = cells[CELLS.names].sort_values(KEY, ignore_index=True, kind="stable")
    number = pd.Series(np.arange(len(cells), dtype=np.int32), index=cells["cell"].to_numpy())
    operations = operations.loc[operations["time_us"] != 0, OPERATIONS.names]
    operations = operations.assign(cell=number.reindex(operations["cell"]).to_numpy())
    cells = cells.assign(cell=number.to_numpy())
    return cells, operations.sort_values(["cell", "operation"], ignore_index=True, kind="stable")
