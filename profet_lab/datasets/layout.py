"""The data layout, version 1: files and their columns with types and units."""

from __future__ import annotations

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
