"""Writes measurements as a new folder of the data layout."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from profet_core.files import sha256_hex
from profet_core.version import VERSION as PROGRAM_VERSION
from profet_lab.datasets.dataset import CELLS_FILE, LAYOUT, MANIFEST_FILE, OPERATIONS_FILE, SCHEMAS, VERSION, Dataset
from profet_lab.measurements.tables import DataError


def check_new(out: Path) -> None:
    """Refuse a folder that holds something, before any work.

    Raises
    ------
    DataError : saying what to do.
    """
    try:
        if out.is_symlink() or (out.exists() and not out.is_dir()):
            raise DataError(f"{out} is not a folder: name a new one.")
        if out.is_dir() and next(out.iterdir(), None) is not None:
            raise DataError(f"{out} exists and is not overwritten: name a new folder.")
    except OSError as error:
        raise DataError(f"{out} can't be written: {error.strerror or error}.") from error


def write_dataset(dataset: Dataset, out: Path) -> None:
    """Write `out`, which must be new or empty; a failure leaves nothing there. Equal measurements are equal bytes.

    Raises
    ------
    DataError : `out` holds something, or can't be written.
    """
    out = out.absolute()
    check_new(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
            folder = Path(scratch) / out.name
            folder.mkdir()
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
            text = json.dumps(document, indent=1, allow_nan=False) + "\n"
            (folder / MANIFEST_FILE).write_text(text, encoding="utf-8")
            if out.exists():
                # Empty: one that was filled meanwhile is refused by the system.
                out.rmdir()
            folder.rename(out)
    except OSError as error:
        raise DataError(f"{out} can't be written: {error.strerror or error}.") from error


def _write_table(path: Path, name: str, table: pd.DataFrame) -> str:
    """Write one table; returns its SHA-256."""
    schema = SCHEMAS[name]
    columns = [pa.Array.from_pandas(table[field.name], type=field.type) for field in schema]
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), path, compression="zstd")
    return sha256_hex(path.read_bytes())
