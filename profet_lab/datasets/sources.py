"""Import datasets from PROFET's pickles and tables and from `profet collect`, each recognized by its content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_core.collected.record import CELLS_NAME, MANIFEST_NAME, read_collection
from profet_core.errors import ProfetError
from profet_core.files import sha256_hex
from profet_core.profiles.profet_json import VERSION_1_STEPS
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.sandbox.process import ReadLimits, Task, taken
from profet_core.units import MS_PER_S
from profet_lab.datasets.dataset import (
    CELLS_FILE,
    LONGEST_NAME,
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


#: Endings of pickles.
ENDINGS = (".pickle", ".pkl")
#: PROFET's columns -> the layout's. Latencies are in seconds there.
_NAMES = {"instance_name": "instance", "exp_name": "repeat", "dataset": "pixels", "batchsize": "batch_size"}
_LATENCIES = {"batch_latency": "batch_latency_ms", "epoch_latency": "epoch_latency_s"}
#: The one optimizer of the published runs.
_OPTIMIZER = "SGD"
#: PROFET's largest pickle has 7 MB, its largest frame is 17 MB as JSON.
MAX_FRAME_BYTES, _MAX_ANSWER_BYTES = 128 * 2**20, 512 * 2**20
LIMITS = ReadLimits(memory_mb=1_000, cpu_s=60, wall_s=180.0)


def pickles_in(folder: Path) -> list[Path]:
    """All pickles at or below a folder, without those of raw folders (`raw_data`), which hold times."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    return sorted(path for path in found if "raw_data" not in path.relative_to(folder).parts)


def read_pickles(paths: Sequence[Path]) -> Dataset:
    """PROFET's runs, of frames that may repeat each other.

    What a frame of anchors says of other instances' latencies is left to those instances' own frames.
    """
    profiles: list[pd.DataFrame] = []
    latencies: list[pd.DataFrame] = []
    hashes: dict[str, str] = {}
    for path in paths:
        data = file_bytes(path, most_bytes=MAX_FRAME_BYTES, remedy="name another one")
        frame = _runs(path, read_frame(path, data))
        hashes[f"{len(hashes) + 1}-{path.name}" if path.name in hashes else path.name] = sha256_hex(data)
        operations = [name for name in frame.columns if name.startswith((DEVICE_PREFIX, HOST_PREFIX))]
        if operations:
            profiles.append(frame[[*_RUN, *operations]])
        if set(_TIMES) <= set(frame):
            latencies.append(frame[[*_RUN, *_TIMES]])
    if not latencies:
        raise DataError(f"{paths[0]}: no frame holds latencies: add target_preprocessing.pickle.")
    timed = _once(latencies, "latencies")
    profiled = _once([part.fillna(0.0) for part in _same_columns(profiles)], "profiles").merge(timed, on=_RUN)
    return profet_dataset(profiled, timed, Source("profet", "profet pickles", hashes, PROFET_LICENCE))


def _runs(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """A frame in the layout's names and units."""
    frame = frame.rename(columns=_NAMES)
    missing = next((old for old, name in [*_NAMES.items(), ("model", "model")] if name not in frame), None)
    if missing:
        raise DataError(f"{path}: its frame has no column {missing}: name PROFET's own pickles.")
    if "optimizer" in frame and not (frame["optimizer"] == _OPTIMIZER).all():
        raise DataError(f"{path}: some runs use an optimizer other than {_OPTIMIZER}: leave them out.")
    numbers = [name for name in frame.columns if name.startswith((DEVICE_PREFIX, HOST_PREFIX)) or name in _LATENCIES]
    for name in [*numbers, "batch_size"]:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            raise DataError(f"{path}: column {name} holds texts: name PROFET's own pickles.")
    frame = frame.assign(
        pixels=_whole(path, frame["pixels"], r"(\d{1,5})(?:dataset)?"),
        repeat=_whole(path, frame["repeat"], r"exp(\d{1,4})"),
        batch_size=_whole(path, frame["batch_size"], r"(\d{1,6})(?:\.0)?"),
    )
    if "batch_latency" in frame and "epoch_latency" in frame:
        frame["batch_latency_ms"] = frame["batch_latency"] * MS_PER_S
        frame["epoch_latency_s"] = frame["epoch_latency"].astype(float)
    return frame


def _whole(path: Path, column: pd.Series, pattern: str) -> pd.Series:
    """The number in each text of a column."""
    numbers = column.astype("str").str.fullmatch(pattern)
    if not numbers.all():
        raise DataError(f"{path}: {str(column[~numbers].iloc[0])!r} is not a {column.name}: name PROFET's own pickles.")
    return column.astype("str").str.extract(pattern)[0].astype("int64")


def _same_columns(frames: Iterable[pd.DataFrame]) -> list[pd.DataFrame]:
    """Frames with all of their operations each, in one order; one that a frame lacks took no time there."""
    frames = list(frames) or [pd.DataFrame(columns=_RUN)]
    operations = sorted({name for frame in frames for name in frame.columns if name not in _RUN})
    return [frame.reindex(columns=[*_RUN, *operations]) for frame in frames]


def _once(frames: list[pd.DataFrame], what: str) -> pd.DataFrame:
    """Every run once; frames repeat each other, and must not differ."""
    rows = pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True)
    twice = rows[rows.duplicated(_RUN)]
    if len(twice):
        run = ", ".join(str(twice.iloc[0][name]) for name in _RUN)
        raise DataError(f"The pickles hold two different {what} of one run ({run}): name files of one release.")
    return rows


def read_frame(path: Path, data: bytes, limits: ReadLimits = LIMITS) -> pd.DataFrame:
    """The frame in a pickle, as texts and numbers."""
    with taken(data) as file:
        return _FRAMES.run(file, str(path), limits)


def _frame_in(document: object) -> pd.DataFrame:
    """The frame of a document: columns of one length, of texts and numbers."""
    match document:
        case dict(columns) if (
            all(name.isprintable() and isinstance(column, list) for name, column in columns.items())
            and len({len(column) for column in columns.values()}) <= 1
            and all(_is_value(value) for column in columns.values() for value in column)
        ):
            return pd.DataFrame(columns)
    raise ValueError("no frame")


def _is_value(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.isprintable())


_FRAMES = Task("profet_lab.datasets.unpickler", _frame_in, DataError, "it is not opened", _MAX_ANSWER_BYTES)


_LONGEST_WHY, _LONGEST_FACT = 500, 1_500


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
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
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
                "why": _text(result.why)[:_LONGEST_WHY],
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
    return " ".join(line.split())[:_LONGEST_FACT]


def read_folder(path: Path) -> Dataset:
    """A folder of the layout, or one source."""
    return read_dataset(path) if is_dataset(path) else read_sources([path])


def read_sources(paths: Sequence[Path]) -> Dataset:
    """One dataset of several sources; pickles that are named one by one are of one release."""
    pickles = [path for path in paths if path.suffix.lower() in ENDINGS and path.is_file()]
    others = [path for path in paths if path not in pickles]
    try:
        datasets = [_read(path) for path in others]
        if pickles:
            datasets.append(read_pickles(pickles))
    except OSError as error:
        raise DataError(f"{error.filename or 'A source'} can't be read: {error.strerror or error}.") from None
    return merged(datasets, [str(path) for path in (*others, *pickles[:1])])


def _read(path: Path) -> Dataset:
    if not path.exists():
        raise DataError(f"{path} does not exist: name a folder of measurements or pickle files.")
    if not path.is_dir():
        raise DataError(f"{path} is not a PROFET pickle: name its folder.")
    if is_dataset(path):
        raise DataError(f"{path} is already in the layout: use `profet data merge`.")
    if is_collection(path):
        return read_store(path)
    for folder in (path, path / PROFILES_FILE.parent):
        if is_tables(folder):
            return read_tables(folder)
    if pickles := pickles_in(path):
        return read_pickles(pickles)
    raise DataError(f"{path} has no collection, pickles or tables of measurements: name another folder.")
