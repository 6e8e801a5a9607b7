"""Read and write folders of the data layout, and import PROFET's tables and collections into it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import asdict

from profet_collect.store import CELLS_NAME, MANIFEST_NAME, read_collection
from profet_core.catalog.gpus import load_gpus
from profet_core.errors import ProfetError
from profet_core.files import only_one, sha256_hex
from profet_lab.dataset import (
    CELLS_FILE,
    LAYOUT,
    MANIFEST_FILE,
    MAX_NAME_LENGTH,
    MAX_ROWS,
    OPERATIONS_FILE,
    SCHEMAS,
    TABLES,
    VERSION,
    Dataset,
    DataSource,
    InstanceFacts,
    dataset_from_tables,
    known_gpu,
    merged,
)
from profet_lab.measurements.tables import LATENCIES_FILE, PROFILES_FILE, DataError
from profet_profiles import VERSION as PROGRAM_VERSION
from profet_profiles.profet_json import VERSION_1_STEPS, parse_json
from profet_profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_profiles.whole_files import open_to_read


def file_bytes(path: Path, *, most_bytes: int, remedy: str) -> bytes:
    """Return the content of a file of at most so many bytes.

    Parameters
    ----------
    remedy : what to do where there is none.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise DataError(f"{path} has more than {most_bytes // 2**20} MB: keep to fewer measurements.")
        with open_to_read(path) as file:
            return file.read()
    except FileNotFoundError:
        raise DataError(f"No {path.name} in {path.parent}: {remedy}.") from None
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or type(error).__name__}.") from None


def parquet_table(data: bytes, path: Path, *, most_rows: int, remedy: str, schema: pa.Schema | None = None) -> pa.Table:
    """Return the table in a Parquet file's content.

    Parameters
    ----------
    path : what errors name.
    remedy : what to do about a damaged file.
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
        sources = tuple(
            DataSource(
                _text(source["name"]),
                _text(source["kind"]),
                {_text(name): _text(hash_) for name, hash_ in source["files"].items()},
                _text(source["licence"]),
            )
            for source in document["sources"]
        )
        instances = {
            _text(name): InstanceFacts(*(_text(facts[fact]) for fact in ("gpu", "driver", "host")))
            for name, facts in document["instances"].items()
        }
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


def _is_line(text: str) -> bool:
    """Whether it can be shown as it is."""
    return text.isprintable() and len(text) <= _MAX_TEXT_CHARACTERS


def _text(value: object) -> str:
    if not isinstance(value, str) or not _is_line(value):
        raise TypeError(f"not a line: {value!r}")
    return value


def _check_references(folder: Path, dataset: Dataset) -> None:
    cells, operations = dataset.cells, dataset.operations
    for path, names in (
        (folder / CELLS_FILE, cells["cell"].is_unique),
        (folder / CELLS_FILE, cells["instance"].isin(list(dataset.instances)).all()),
        (folder / CELLS_FILE, cells["source"].isin([source.name for source in dataset.sources]).all()),
        (folder / CELLS_FILE, all(_is_line(text) for name in _TEXTS for text in cells[name].unique())),
        (folder / OPERATIONS_FILE, all(_is_line(text) for text in operations["operation"].unique())),
        (folder / OPERATIONS_FILE, operations["cell"].isin(dataset.profiled["cell"]).all()),
    ):
        if not names:
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


#: What PROFET's repository says of its measurements and code.
PROFET_LICENSE = "MIT License, copyright (c) 2022 ddps-lab: https://github.com/ddps-lab/profet"
#: What all of PROFET's measurements were made with.
PROFET_RUNS = {"framework": "tensorflow", "framework_version": "2.5", "precision": "fp32"}
_MAX_BYTES = 512 * 2**20
_GET_AGAIN = "get it again"
_COUNTS = ("pixels", "batch_size", "repeat")
_RUN = ["instance", "model", "pixels", "batch_size", "repeat"]
_TIMES = ["batch_latency_ms", "epoch_latency_s"]


def _profet_table(path: Path) -> tuple[pd.DataFrame, str]:
    data = file_bytes(path, most_bytes=_MAX_BYTES, remedy=_GET_AGAIN)
    read = parquet_table(data, path, most_rows=MAX_ROWS[CELLS_FILE], remedy=_GET_AGAIN)
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


def read_tables(folder: Path) -> Dataset:
    """Read `profiles.parquet`, with operations of two steps, and `latencies.parquet`, of every run, in `folder`."""
    profiles, profiles_hash = _profet_table(folder / PROFILES_FILE.name)
    latencies, latencies_hash = _profet_table(folder / LATENCIES_FILE.name)
    hashes = {PROFILES_FILE.name: profiles_hash, LATENCIES_FILE.name: latencies_hash}
    source = DataSource("profet", "profet tables", hashes, PROFET_LICENSE)
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
    return dataset_from_tables(cells, long, source)


_MAX_WHY_CHARACTERS, _MAX_FACT_CHARACTERS = 500, 1_500


def read_store(folder: Path) -> Dataset:
    """Every finished cell, those too that ran out of memory or failed."""
    try:
        manifest, results = read_collection(folder)
        data = (folder / CELLS_NAME).read_bytes()
    except ProfetError as error:
        raise DataError(str(error)) from None
    except OSError as error:
        raise DataError(f"{folder} can't be read: {error.strerror}.") from None
    name = manifest.get("instance")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_NAME_LENGTH:
        raise DataError(f"{folder / MANIFEST_NAME} names no instance: collect into another folder.")
    cells = []
    operations: list[tuple[int, str, float]] = []
    for number, result in enumerate(results):
        ran = result.status == "ok"
        operations.extend((number, operation, us) for operation, us in result.operations_us.items())
        cells.append(
            {
                "cell": number,
                "instance": name,
                **asdict(result.cell),
                "framework_version": result.framework_version,
                # The first run of a collection is 0, as that of PROFET is 1.
                "repeat": result.cell.repeat + 1,
                "status": result.status,
                "why": _fact_line(result.why)[:_MAX_WHY_CHARACTERS],
                "batch_latency_ms": result.batch_latency_ms if ran else None,
                "latency_repeats_ms": list(result.latency_repeats_ms) if ran else [],
                "peak_memory_bytes": result.peak_memory_bytes,
                "steps_profiled": result.steps if result.operations_us else None,
                "recorded_at": result.recorded_at,
            }
        )
    table = pd.DataFrame(operations, columns=["cell", "operation", "time_us"])
    hashes = {CELLS_NAME: sha256_hex(data), MANIFEST_NAME: sha256_hex((folder / MANIFEST_NAME).read_bytes())}
    facts = InstanceFacts(
        gpu=_gpu(manifest, name), driver=_fact_line(manifest.get("driver")), host=_fact_line(manifest.get("host"))
    )
    return dataset_from_tables(pd.DataFrame(cells), table, DataSource(name, "collection", hashes), {name: facts})


def _gpu(manifest: Mapping[str, Any], instance: str) -> str:
    """Return the catalog's full name of a GPU as a driver calls it; as it is called where the catalog has none."""
    name = _fact_line(manifest.get("gpu"))
    if not name:
        return known_gpu(instance)
    if manifest.get("device") == "cpu":
        # A processor that stands in for a GPU.
        return name
    try:
        return load_gpus().find(name).name
    except ProfetError:
        return name


def _fact_line(value: object) -> str:
    """Return a fact of the manifest as one line."""
    if isinstance(value, dict | list):
        value = json.dumps(value, sort_keys=True)
    line = "".join(sign if sign.isprintable() else " " for sign in str(value)) if value not in (None, "") else ""
    return " ".join(line.split())[:_MAX_FACT_CHARACTERS]


def read_folder(path: Path) -> Dataset:
    """Return a folder of the layout, or one source."""
    return read_dataset(path) if is_dataset(path) else read_sources([path])


def read_sources(paths: Sequence[Path]) -> Dataset:
    """One dataset of several sources."""
    try:
        datasets = [_read(path) for path in paths]
    except OSError as error:
        raise DataError(f"{error.filename or 'A source'} can't be read: {error.strerror or error}.") from None
    return merged(datasets, [str(path) for path in paths])


def _read(path: Path) -> Dataset:
    if not path.exists():
        raise DataError(f"{path} does not exist: name a folder of measurements.")
    if not path.is_dir():
        raise DataError(f"{path} is a file: name a folder of measurements.")
    if is_dataset(path):
        raise DataError(f"{path} is already in the layout: use `profet data merge`.")
    if (path / CELLS_NAME).is_file():
        return read_store(path)
    for folder in (path, path / PROFILES_FILE.parent):
        if all((folder / name).is_file() for name in (PROFILES_FILE.name, LATENCIES_FILE.name)):
            return read_tables(folder)
    raise DataError(f"{path} has no collection or tables of measurements: PROFET's are in a checkout's data folder.")
