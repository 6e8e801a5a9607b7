"""A cell of a grid, and what was measured of it."""

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
    """One workload: what makes it different from every other of a collection."""

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
    """What became of a cell.

    Attributes
    ----------
    framework_version : such as "2.13.0".
    why : of a cell that is not "ok", one line.
    batch_latency_ms : median step latency; null where it did not run, as the next three are empty.
    latency_repeats_ms : each timed step.
    peak_memory_bytes : of the device; on a CPU of the process.
    operations_us : total of each operation type in ONE step (`steps`).
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
        """As one flat JSON object."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "cell"}
        own["latency_repeats_ms"] = list(self.latency_repeats_ms)
        own["operations_us"] = dict(self.operations_us or {})
        return {**asdict(self.cell), **own}


def result_of(document: Mapping[str, Any]) -> CellResult:
    """The result of a document that `CellResult.document` made.

    Raises
    ------
    ValueError, KeyError, TypeError : it is none.
    """
    cell = Cell(**{field.name: document[field.name] for field in fields(Cell)})
    own = {field.name: document[field.name] for field in fields(CellResult) if field.name != "cell"}
    own["latency_repeats_ms"] = tuple(map(float, own["latency_repeats_ms"]))
    own["operations_us"] = {str(name): float(us) for name, us in own["operations_us"].items()}
    result = CellResult(cell, **own)
    _check(result)
    return result


def _check(result: CellResult) -> None:
    cell = result.cell
    if cell.framework not in FRAMEWORKS or cell.precision not in PRECISIONS or result.status not in STATUSES:
        raise ValueError("a framework, a precision or a status of another name")
    for number in (cell.pixels, cell.batch_size, result.steps):
        if type(number) is not int or number < 1:
            raise ValueError("pixels, batch size and steps are whole numbers")
    if result.status != "ok":
        return
    times = [result.batch_latency_ms or 0.0, *result.latency_repeats_ms]
    if not all(math.isfinite(ms) and ms > 0 for ms in times):
        raise ValueError("a latency that is no time")
    if not all(math.isfinite(us) and us >= 0 for us in (result.operations_us or {}).values()):
        raise ValueError("an operation's time that is none")
