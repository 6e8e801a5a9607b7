"""Have a pickle read by another process, within limits of memory and time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from profet_core.sandbox.process import ReadLimits, Task, taken
from profet_lab.measurements.tables import DataError

#: PROFET's largest pickle has 7 MB, its largest frame is 17 MB as JSON.
MAX_FRAME_BYTES, _MAX_ANSWER_BYTES = 128 * 2**20, 512 * 2**20
LIMITS = ReadLimits(memory_mb=1_000, cpu_s=60, wall_s=180.0)


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


_CHILD = "profet_lab.datasets.sources.pickles.frames"
_FRAMES = Task(_CHILD, _frame_in, DataError, "it is not opened", _MAX_ANSWER_BYTES)
