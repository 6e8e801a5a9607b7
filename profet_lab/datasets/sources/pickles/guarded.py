"""Have pickles read by another process, within limits of memory and time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from profet_core.sandbox.process import ReadLimits, Task, is_line, taken
from profet_lab.datasets.sources.pickles.frames import FRAME, TIMES
from profet_lab.measurements.tables import DataError

#: PROFET's largest pickle has 7 MB.
MAX_FRAME_BYTES = 128 * 2**20
#: The times of one run: two epochs of at most 10,000 steps each.
MAX_TIMES_BYTES = 2**20
#: So many files of times go to one process.
_TIMES_AT_ONCE = 1_000
#: PROFET's largest frame is 17 MB as JSON.
_MAX_ANSWER_BYTES = 512 * 2**20
LIMITS = ReadLimits(memory_mb=1_000, cpu_s=60, wall_s=180.0)
_CHILD = "profet_lab.datasets.sources.pickles.frames"

Times = list[tuple[float, float]]


def read_frame(path: Path, data: bytes, limits: ReadLimits = LIMITS) -> pd.DataFrame:
    """The frame in a pickle, as texts and numbers.

    Raises
    ------
    DataError : one line: what is wrong with the file, or that it takes more than the limits.
    """
    with taken(data) as file:
        return _FRAMES.run(file, str(path), limits, arguments=[FRAME])


def read_times(files: Sequence[tuple[Path, bytes]], limits: ReadLimits = LIMITS) -> Times:
    """Seconds of an epoch, and of its median step, of each of PROFET's `times-*.pickle`.

    Raises
    ------
    DataError : one line, about the first file that can't be read.
    """
    found: Times = []
    for path, data in files:
        if not data:
            raise DataError(f"{path} is empty: it holds no step times.")
    for first in range(0, len(files), _TIMES_AT_ONCE):
        batch = files[first : first + _TIMES_AT_ONCE]
        sent = b"".join(len(data).to_bytes(8, "big") + data for _, data in batch) + bytes(8)
        with taken(sent) as file:
            times, error = _TIMES.run(file, str(batch[0][0]), limits, arguments=[TIMES])
        if len(times) < len(batch):
            raise DataError(f"{batch[len(times)][0]}: {error or 'reading it ended without a result: get it again.'}")
        found += times
    return found


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


def _times_in(document: object) -> tuple[Times, str]:
    """Times of the files that were read, and why the next one wasn't."""
    match document:
        case {"times": list(times), "error": str(error)} if is_line(error) and all(map(_is_pair, times)):
            return [(epoch_s, step_s) for epoch_s, step_s in times], error
    raise ValueError("no times")


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(value) is float for value in pair)


_FRAMES = Task(_CHILD, _frame_in, DataError, "it is not opened", _MAX_ANSWER_BYTES)
_TIMES = Task(_CHILD, _times_in, DataError, "it is not opened", _MAX_ANSWER_BYTES)
