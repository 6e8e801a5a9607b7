"""Reads a folder of the data layout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa

from profet_core.errors import ProfetError
from profet_core.files import sha256_hex
from profet_core.profiles.profet_json import parse_json
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
from profet_lab.datasets.parquet import file_bytes, parquet_table
from profet_lab.measurements.tables import DataError

_MAX_MANIFEST_BYTES, _MAX_TABLE_BYTES = 16 * 2**20, 2**30
#: Columns of texts that are shown.
_TEXTS = [field.name for field in SCHEMAS[CELLS_FILE] if field.type == pa.string()]
_LONGEST_TEXT = 2_000
_AGAIN = "import it again with `profet data import`"


def is_dataset(folder: Path) -> bool:
    """Whether a folder says that it is of the layout."""
    return (folder / MANIFEST_FILE).is_file()


def read_dataset(folder: Path) -> Dataset:
    """Read `dataset.json`, `cells.parquet` and `operations.parquet` below `folder`.

    Raises
    ------
    DataError : a file is missing, damaged, changed, of another layout or of a version this program doesn't know.
    """
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
    return text.isprintable() and len(text) <= _LONGEST_TEXT


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
