"""A cell of a grid and its measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Framework = Literal["pytorch", "tensorflow"]
Precision = Literal["fp32", "tf32", "amp"]
Status = Literal["ok", "out-of-memory", "failed"]

FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One workload: the values that distinguish it in a collection."""

    framework: Framework
    precision: Precision
    model: str
    pixels: int
    batch_size: int
    repeat: int = 0

    def __str__(self) -> str:
        return f"{self.model}, {self.pixels} pixels, batch {self.batch_size}, {self.precision}, {self.framework}"


@dataclass(frozen=True, slots=True)
class CellResult:
    """Result of a cell.

    Attributes
    ----------
    framework_version : such as "2.13.0".
    why : reason that a cell is not "ok", one line.
    batch_latency_ms : median step latency; null if it did not run; then the next three are empty.
    latency_repeats_ms : each timed step.
    peak_memory_bytes : of the device; on a CPU, of the process.
    operations_us : total per operation type in ONE step (`steps`).
    recorded_at : UTC, ISO 8601.
    """

    cell: Cell
    framework_version: str
    status: Status
    recorded_at: str
    why: str = ""
    batch_latency_ms: float | None = None
    latency_repeats_ms: tuple[float, ...] = ()
    peak_memory_bytes: int | None = None
    operations_us: Mapping[str, float] | None = None
    steps: int = 1

    def document(self) -> dict[str, Any]:
        """One flat JSON object."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "cell"}
        own["latency_repeats_ms"] = list(self.latency_repeats_ms)
        own["operations_us"] = dict(self.operations_us or {})
        return {**asdict(self.cell), **own}


def result_of(document: Mapping[str, Any]) -> CellResult:
    """Parse a document of `CellResult.document`.

    Raises
    ------
    ValueError, KeyError, TypeError : the document is invalid.
    """
    cell = Cell(**{field.name: document[field.name] for field in fields(Cell)})
    own = {field.name: document[field.name] for field in fields(CellResult) if field.name != "cell"}
    repeats_ms, operations_us = own["latency_repeats_ms"], own["operations_us"]
    if not isinstance(repeats_ms, list) or not isinstance(operations_us, dict):
        raise TypeError("steps are a list, operations a mapping")
    own["latency_repeats_ms"] = tuple(map(_number, repeats_ms))
    own["operations_us"] = {name: _number(us) for name, us in operations_us.items()}
    result = CellResult(cell, **own)
    _check(result)
    return result


#: Upper bound of counts, and of bytes.
_MOST, _MOST_BYTES = 2**31 - 2, 2**63 - 1
_LONGEST_NAME, _LONGEST_WHY = 200, 10_000


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a time that is no number")
    return float(value)


def _check(result: CellResult) -> None:
    cell = result.cell
    if cell.framework not in FRAMEWORKS or cell.precision not in PRECISIONS or result.status not in STATUSES:
        raise ValueError("a framework, a precision or a status of another name")
    for number, least in ((cell.pixels, 1), (cell.batch_size, 1), (result.steps, 1), (cell.repeat, 0)):
        if type(number) is not int or not least <= number <= _MOST:
            raise ValueError("pixels, batch size, steps and repeat are whole numbers")
    peak = result.peak_memory_bytes
    if peak is not None and (type(peak) is not int or not 0 <= peak <= _MOST_BYTES):
        raise ValueError("a peak that is no number of bytes")
    names = cell.model, *(result.operations_us or ())
    for line in (*names, result.framework_version, result.recorded_at):
        if not isinstance(line, str) or not line.isprintable() or len(line) > _LONGEST_NAME:
            raise ValueError("a name or a date that is no line")
    if not all(names):
        raise ValueError("a network or an operation without a name")
    if not isinstance(result.why, str) or len(result.why) > _LONGEST_WHY:
        raise ValueError("a reason that is no text")
    _check_times(result)


def _check_times(result: CellResult) -> None:
    """Check the times: a cell that ran has some, another has none."""
    latency_ms = result.batch_latency_ms
    if latency_ms is None and result.status != "ok":
        return
    times = [_number(latency_ms), *result.latency_repeats_ms]
    if not all(math.isfinite(ms) and ms > 0 for ms in times):
        raise ValueError("a latency that is no time")
    if not all(math.isfinite(us) and us >= 0 for us in (result.operations_us or {}).values()):
        raise ValueError("an operation's time that is none")
