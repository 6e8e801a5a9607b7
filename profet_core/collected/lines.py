"""Lines of `cells.jsonl`: one finished cell per line, with a checksum."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator

from profet_core.collected.record import CellResult, result_of
from profet_core.errors import InputError


def line_of(result: CellResult) -> bytes:
    """`{"crc": CRC-32 of the cell as sorted compact JSON, "cell": {...}}` and a newline."""
    cell = result.document()
    return _compact({"crc": _crc(cell), "cell": cell}) + b"\n"


def whole_lines(data: bytes, name: str) -> Iterator[tuple[CellResult, int]]:
    """Each finished cell and the byte offset after its line.

    A truncated last line is skipped.

    Raises
    ------
    InputError : a line before the last is damaged, or a cell appears twice.
    """
    end, seen = 0, set()
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        end += len(line) + 1
        result = _result(line)
        if result is None:
            if end == len(data):
                # The newline reached the disk before the content did.
                return
            raise InputError(f"line {number} of {name} is damaged: remove that line, and its cell is measured again.")
        if result.cell in seen:
            raise InputError(f"line {number} of {name} has a cell twice: remove one of the lines.")
        seen.add(result.cell)
        yield result, end


def _result(line: bytes) -> CellResult | None:
    try:
        document = json.loads(line)
        cell = document["cell"]
        return result_of(cell) if document["crc"] == _crc(cell) else None
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError, OverflowError):
        return None


def _crc(cell: object) -> int:
    return zlib.crc32(_compact(cell))


def _compact(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
