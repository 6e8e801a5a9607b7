"""Has pickles read by another process, within limits of memory and time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from profet_core.profiles.guarded.answers import MEMORY, TIME
from profet_core.profiles.guarded.process import Reader, ReadLimits, last_answer
from profet_core.profiles.guarded.read import taken
from profet_lab.datasets.sources.pickles.answers import FRAME, MAX_ANSWER_BYTES, TIMES, PickleAnswer, read_answer
from profet_lab.measurements.tables import DataError

#: PROFET's largest pickle has 7 MB.
MAX_FRAME_BYTES = 128 * 2**20
#: The times of one run: two epochs of at most 10,000 steps each.
MAX_TIMES_BYTES = 2**20
#: So many bytes of times go to one process.
_TIMES_AT_ONCE_BYTES = 64 * 2**20
LIMITS = ReadLimits(memory_mb=1_000, cpu_s=60, wall_s=180.0)
_READER = Reader(
    "profet_lab.datasets.sources.pickles.child", read_answer, lambda limit: PickleAnswer(limit=limit), MAX_ANSWER_BYTES
)


def read_frame(path: Path, data: bytes, limits: ReadLimits = LIMITS) -> pd.DataFrame:
    """The frame in a pickle, as texts and numbers.

    Raises
    ------
    DataError : one line: what is wrong with the file, or that it takes more than the limits.
    """
    if len(data) > MAX_FRAME_BYTES:
        raise DataError(f"{path} has more than {MAX_FRAME_BYTES // 2**20} MB: PROFET's pickles have 7 at most.")
    answer = _answer(data, FRAME, limits)
    if answer.columns is None:
        raise _refused(path, answer, limits)
    return pd.DataFrame(dict(answer.columns))


def read_times(files: Sequence[tuple[Path, bytes]], limits: ReadLimits = LIMITS) -> list[tuple[float, float]]:
    """Seconds of an epoch, and of its median step, of each of PROFET's `times-*.pickle`.

    Raises
    ------
    DataError : one line, about the first file that can't be read.
    """
    found: list[tuple[float, float]] = []
    while len(found) < len(files):
        batch = _next_batch(files[len(found) :])
        sent = b"".join(len(data).to_bytes(8, "big") + data for _, data in batch) + bytes(8)
        answer = _answer(sent, TIMES, limits)
        if answer.times is None or len(answer.times) != len(batch):
            raise _refused(batch[min(answer.place, len(batch) - 1)][0], answer, limits)
        found.extend(answer.times)
    return found


def _next_batch(files: Sequence[tuple[Path, bytes]]) -> list[tuple[Path, bytes]]:
    batch: list[tuple[Path, bytes]] = []
    size = 0
    for path, data in files:
        if not 0 < len(data) <= MAX_TIMES_BYTES:
            raise DataError(f"{path} is empty or has more than {MAX_TIMES_BYTES // 2**20} MB: it holds no step times.")
        size += len(data)
        if batch and size > _TIMES_AT_ONCE_BYTES:
            break
        batch.append((path, data))
    return batch


def _answer(data: bytes, kind: str, limits: ReadLimits) -> PickleAnswer:
    with taken(data) as file:
        file.seek(0)
        return last_answer(_READER, file, "", limits, arguments=[kind])


def _refused(path: Path, answer: PickleAnswer, limits: ReadLimits) -> DataError:
    if answer.limit == MEMORY:
        return DataError(f"{path}: it takes more than {limits.memory_mb} MB of memory to read: it is not opened.")
    if answer.limit == TIME:
        return DataError(f"{path}: it takes more than {limits.cpu_s} s to read: it is not opened.")
    return DataError(f"{path}: {answer.error or 'reading it ended without a result: get it again.'}")
