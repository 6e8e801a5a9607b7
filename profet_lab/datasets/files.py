"""Read and write a folder of the data layout; Parquet files are read under caps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from profet_core.errors import ProfetError
from profet_core.files import only_one, sha256_hex
from profet_lab.datasets.dataset import (
    CELLS_FILE,
    LAYOUT,
    MANIFEST_FILE,
    MAX_ROWS,
    OPERATIONS_FILE,
    SCHEMAS,
    TABLES,
    VERSION,
    Dataset,
    InstanceFacts,
    Source,
)
from profet_lab.measurements.tables import DataError
from profet_recorder.profiles.profet_json import parse_json
from profet_recorder.version import VERSION as PROGRAM_VERSION


def file_bytes(path: Path, *, most_bytes: int, remedy: str) -> bytes:
    """The content of a file of at most so many bytes.

    remedy : what to do where there is none.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise DataError(f"{path} has more than {most_bytes // 2**20} MB: keep to fewer measurements.")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"No {path.name} in {path.parent}: {remedy}.") from None
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or type(error).__name__}.") from None


def parquet_table(data: bytes, path: Path, *, most_rows: int, remedy: str, schema: pa.Schema | None = None) -> pa.Table:
    """The table in a Parquet file's content.

    path : what errors name. remedy : what to do about a damaged file.
    schema : what its columns must be; None for any.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        if file.metadata.num_rows > most_rows:
            raise DataError(f"{path} has more than {most_rows:,} rows: keep to fewer measurements.")
        if schema is not None and not file.schema_arrow.equals(schema):
            raise DataError(f"{path} has other columns than docs/DATA.md lists: {remedy}.")
        table = file.read()
        table.validate(full=True)
    except (pa.ArrowException, OSError):
        # The content is in memory: an OSError is Arrow's word for what doesn't decode.
        raise DataError(f"{path} is damaged, or not Parquet: {remedy}.") from None
    return table


_MAX_MANIFEST_BYTES, _MAX_TABLE_BYTES = 16 * 2**20, 2**30
#: Columns of texts that are shown.
_TEXTS = [field.name for field in SCHEMAS[CELLS_FILE] if field.type == pa.string()]
_MAX_TEXT_CHARACTERS = 2_000
_AGAIN = "import it again with `profet data import`"


def is_dataset(folder: Path) -> bool:
    """Whether a folder says that it is of the layout."""
    return (folder / MANIFEST_FILE).is_file()


def read_dataset(folder: Path) -> Dataset:
    """Read `dataset.json`, `cells.parquet` and `operations.parquet` below `folder`."""
    document = _manifest(folder)
    try:
        hashes = {name: str(document["files"][name]) for name in TABLES}
        sources = tuple(_source(record) for record in document["sources"])
        instances = {_text(name): _facts(record) for name, record in document["instances"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged(folder / MANIFEST_FILE) from None
    tables = {name: _table(folder / name, hashes[name]) for name in TABLES}
    dataset = Dataset(tables[CELLS_FILE], tables[OPERATIONS_FILE], sources, instances, hashes)
    _check_references(folder, dataset)
    return dataset


def _manifest(folder: Path) -> dict:
    path = folder / MANIFEST_FILE
    data = file_bytes(path, most_bytes=_MAX_MANIFEST_BYTES, remedy="name a folder that `profet data import` wrote")
    try:
        document = parse_json(data)
    except ProfetError:
        raise _damaged(path) from None
    if not isinstance(document, dict) or document.get("layout") != LAYOUT:
        raise DataError(f"{path} has an unknown layout: name a folder that `profet data import` wrote.")
    version = document.get("layout_version")
    if version != VERSION or isinstance(version, bool):
        raise DataError(f"{path} has layout version {version!r}, this program reads {VERSION}: {_AGAIN}.")
    return document


def _table(path: Path, sha256: str) -> pd.DataFrame:
    data = file_bytes(path, most_bytes=_MAX_TABLE_BYTES, remedy=_AGAIN)
    if sha256_hex(data) != sha256:
        raise _damaged(path)
    schema = SCHEMAS[path.name]
    table = parquet_table(data, path, most_rows=MAX_ROWS[path.name], remedy=_AGAIN, schema=schema)
    if any(table[field.name].null_count for field in schema if not field.nullable):
        raise _damaged(path)
    return table.to_pandas(types_mapper=_NULLABLE.get)


#: Counts that may be unset keep their digits.
_NULLABLE = {pa.int64(): pd.Int64Dtype()}


def _source(record: Mapping) -> Source:
    files = {_text(name): _text(hash_) for name, hash_ in record["files"].items()}
    return Source(_text(record["name"]), _text(record["kind"]), files, _text(record["licence"]))


def _facts(record: Mapping) -> InstanceFacts:
    return InstanceFacts(_text(record["gpu"]), _text(record["driver"]), _text(record["host"]))


def _is_line(text: str) -> bool:
    """Whether it can be shown as it is."""
    return text.isprintable() and len(text) <= _MAX_TEXT_CHARACTERS


def _text(value: object) -> str:
    if not isinstance(value, str) or not _is_line(value):
        raise TypeError(f"not a line: {value!r}")
    return value


def _check_references(folder: Path, dataset: Dataset) -> None:
    cells, operations = dataset.cells, dataset.operations
    for path, known in (
        (folder / CELLS_FILE, cells["cell"].is_unique),
        (folder / CELLS_FILE, cells["instance"].isin(list(dataset.instances)).all()),
        (folder / CELLS_FILE, cells["source"].isin([source.name for source in dataset.sources]).all()),
        (folder / CELLS_FILE, all(_is_line(text) for name in _TEXTS for text in cells[name].unique())),
        (folder / OPERATIONS_FILE, all(_is_line(text) for text in operations["operation"].unique())),
        (folder / OPERATIONS_FILE, operations["cell"].isin(dataset.profiled["cell"]).all()),
    ):
        if not known:
            raise _damaged(path)


def _damaged(path: Path) -> DataError:
    return DataError(f"{path} is damaged or was changed: {_AGAIN}.")


def check_new(out: Path) -> None:
    """Refuse a folder that holds something, before any work."""
    try:
        if out.is_symlink() or (out.exists() and not out.is_dir()):
            raise DataError(f"{out} is not a folder: name a new one.")
        if out.is_dir() and next(out.iterdir(), None) is not None:
            raise DataError(f"{out} exists and is not overwritten: name a new folder.")
    except OSError as error:
        raise DataError(f"{out} can't be written: {error.strerror or error}.") from error


def write_dataset(dataset: Dataset, out: Path) -> None:
    """Write `out`, which must be new or empty; a failure leaves nothing there. Equal measurements are equal bytes."""
    out = out.absolute()
    check_new(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = out.with_name(f".{out.name}.new")
        with only_one(folder), ExitStack() as stack:
            # What a killed program left.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
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
