"""Read PROFET's published pickles: frames of profiles and latencies, one row per run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from profet_core.files import sha256_hex
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.sandbox.process import ReadLimits, Task, taken
from profet_core.units import MS_PER_S
from profet_lab.datasets.dataset import Dataset, Source
from profet_lab.datasets.parquet import file_bytes
from profet_lab.datasets.sources.tables import PROFET_LICENCE, profet_dataset
from profet_lab.measurements.tables import DataError

#: Endings of pickles.
ENDINGS = (".pickle", ".pkl")
#: PROFET's columns -> the layout's. Latencies are in seconds there.
_NAMES = {"instance_name": "instance", "exp_name": "repeat", "dataset": "pixels", "batchsize": "batch_size"}
_RUN = ["instance", "model", "pixels", "batch_size", "repeat"]
_LATENCIES = {"batch_latency": "batch_latency_ms", "epoch_latency": "epoch_latency_s"}
_TIMES = list(_LATENCIES.values())
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

    Raises
    ------
    DataError : a file can't be read, is not a PROFET frame, or contradicts another one.
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
    """The frame in a pickle, as texts and numbers.

    Raises
    ------
    DataError : one line: what is wrong with the file, or that it takes more than the limits.
    """
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


_FRAMES = Task("profet_lab.datasets.sources.unpickler", _frame_in, DataError, "it is not opened", _MAX_ANSWER_BYTES)
