"""What the process that reads pickles says: one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FRAME, TIMES = "frame", "times"
#: PROFET's largest frame is 17 MB as JSON.
MAX_ANSWER_BYTES = 512 * 2**20


@dataclass(frozen=True, slots=True)
class PickleAnswer:
    """One of the fields is set.

    Attributes
    ----------
    columns : column -> values of all rows, texts or numbers.
    times : seconds of an epoch, and of its median step, a file each.
    error : why it can't be read, one line; `place` : the number of the file it is about.
    limit : `MEMORY` or `TIME`, which of them was reached.
    """

    columns: Mapping[str, list] | None = None
    times: Sequence[tuple[float, float]] | None = None
    error: str | None = None
    limit: str | None = None
    place: int = 0

    @property
    def share(self) -> None:
        """It says nothing before its last word."""


def write_answer(answer: PickleAnswer) -> bytes:
    """The line."""
    fields = {name: getattr(answer, name) for name in ("columns", "times", "error", "limit", "place")}
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode() + b"\n"


def read_answer(line: bytes) -> PickleAnswer:
    """The answer in a line.

    Raises
    ------
    ValueError : invalid: output of the reading process is not trusted.
    """
    match json.loads(line):
        case {"error": str(error), "place": int(place)} if error.isprintable() and place >= 0:
            return PickleAnswer(error=error, place=place)
        case {"limit": "memory" | "time" as limit}:
            return PickleAnswer(limit=limit)
        case {"times": list(times)} if all(_is_pair(pair) for pair in times):
            return PickleAnswer(times=[(epoch_s, step_s) for epoch_s, step_s in times])
        case {"columns": dict(columns)} if _are_columns(columns):
            return PickleAnswer(columns=columns)
    raise ValueError("no answer")


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(value) is float for value in pair)


def _are_columns(columns: Mapping[str, object]) -> bool:
    values = list(columns.values())
    return (
        all(name.isprintable() for name in columns)
        and all(isinstance(column, list) for column in values)
        and len({len(column) for column in values if isinstance(column, list)}) <= 1
        and all(
            isinstance(value, int | float) or (isinstance(value, str) and value.isprintable())
            for column in values
            if isinstance(column, list)
            for value in column
        )
    )
