"""Writes measurements as a new folder of the data layout."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from profet_core.files import sha256_hex
from profet_core.version import VERSION as PROGRAM_VERSION
from profet_lab.datasets.dataset import Dataset
from profet_lab.datasets.layout import CELLS_FILE, LAYOUT, MANIFEST_FILE, OPERATIONS_FILE, SCHEMAS, VERSION
from profet_lab.datasets.new_folder import new_folder


def write_dataset(dataset: Dataset, out: Path) -> None:
    """Write `out`, which must be new or empty; a failure leaves nothing there. Equal measurements are equal bytes.

    Raises
    ------
    DataError : `out` holds something, or can't be written.
    """
    with new_folder(out) as folder:
        tables = {CELLS_FILE: dataset.cells, OPERATIONS_FILE: dataset.operations}
        files = {name: _write_table(folder / name, name, table) for name, table in tables.items()}
        document = {
            "layout": LAYOUT,
            "layout_version": VERSION,
            "written_by": f"profet {PROGRAM_VERSION}",
            "files": files,
            "sources": [asdict(source) for source in dataset.sources],
            "instances": {name: asdict(dataset.instances[name]) for name in sorted(dataset.instances)},
        }
        (folder / MANIFEST_FILE).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _write_table(path: Path, name: str, table: pd.DataFrame) -> str:
    """Write one table; returns its SHA-256."""
    schema = SCHEMAS[name]
    columns = [pa.Array.from_pandas(table[field.name], type=field.type) for field in schema]
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), path, compression="zstd")
    return sha256_hex(path.read_bytes())
