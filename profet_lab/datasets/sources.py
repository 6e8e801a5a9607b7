"""Import datasets from PROFET's tables and from `profet collect`, each recognized by its content."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from profet_collect.record import CELLS_NAME, MANIFEST_NAME, read_collection
from profet_core.catalog.gpus import load_gpus
from profet_core.errors import ProfetError
from profet_core.files import sha256_hex
from profet_lab.datasets.dataset import (
    CELLS_FILE,
    MAX_NAME_LENGTH,
    MAX_ROWS,
    Dataset,
    InstanceFacts,
    Source,
    dataset_of,
    known_gpu,
    merged,
)
from profet_lab.datasets.files import file_bytes, is_dataset, parquet_table, read_dataset
from profet_lab.measurements.tables import LATENCIES_FILE, PROFILES_FILE, DataError
from profet_recorder.profiles.profet_json import VERSION_1_STEPS
from profet_recorder.profiles.record import DEVICE_PREFIX, HOST_PREFIX

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
    """Read `profiles.parquet` and `latencies.parquet` in `folder`."""
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

    profiles : columns instance, model, pixels, batch_size, repeat, batch_latency_ms, epoch_latency_s, and an operation
        each, microseconds of two steps.
    latencies : the same without operations, of every run.
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


_MAX_WHY_CHARACTERS, _MAX_FACT_CHARACTERS = 500, 1_500


def is_collection(folder: Path) -> bool:
    """Whether a folder holds finished cells."""
    return (folder / CELLS_NAME).is_file()


def read_store(folder: Path) -> Dataset:
    """Every finished cell, those too that ran out of memory or failed."""
    try:
        collection = read_collection(folder)
        data = (folder / CELLS_NAME).read_bytes()
    except ProfetError as error:
        raise DataError(str(error)) from None
    except OSError as error:
        raise DataError(f"{folder} can't be read: {error.strerror}.") from None
    name = collection.manifest.get("instance")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_NAME_LENGTH:
        raise DataError(f"{folder / MANIFEST_NAME} names no instance: collect into another folder.")
    cells = []
    operations: list[tuple[int, str, float]] = []
    for number, result in enumerate(collection.results):
        ran = result.status == "ok"
        operations.extend((number, operation, us) for operation, us in (result.operations_us or {}).items())
        cells.append(
            {
                "cell": number,
                "instance": name,
                **asdict(result.cell),
                "framework_version": result.framework_version,
                # The first run of a collection is 0, as that of PROFET is 1.
                "repeat": result.cell.repeat + 1,
                "status": result.status,
                "why": _text(result.why)[:_MAX_WHY_CHARACTERS],
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
        gpu=_gpu(collection.manifest, name),
        driver=_text(collection.manifest.get("driver")),
        host=_text(collection.manifest.get("host")),
    )
    return dataset_of(pd.DataFrame(cells), table, Source(name, "collection", hashes), {name: facts})


def _gpu(manifest: Mapping[str, Any], instance: str) -> str:
    """The catalog's full name of a GPU as a driver calls it; as it is called where the catalog has none."""
    name = _text(manifest.get("gpu"))
    if not name:
        return known_gpu(instance)
    if manifest.get("device") == "cpu":
        # A processor that stands in for a GPU.
        return name
    try:
        return load_gpus().find(name).name
    except ProfetError:
        return name


def _text(value: object) -> str:
    """A fact of the manifest as one line."""
    if isinstance(value, dict | list):
        value = json.dumps(value, sort_keys=True)
    line = "".join(sign if sign.isprintable() else " " for sign in str(value)) if value not in (None, "") else ""
    return " ".join(line.split())[:_MAX_FACT_CHARACTERS]


def read_folder(path: Path) -> Dataset:
    """A folder of the layout, or one source."""
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
    if is_collection(path):
        return read_store(path)
    for folder in (path, path / PROFILES_FILE.parent):
        if is_tables(folder):
            return read_tables(folder)
    raise DataError(f"{path} has no collection or tables of measurements: PROFET's are in a checkout's data folder.")
