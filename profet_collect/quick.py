"""The cells that tell most of a new GPU, in the order in which they do: what `--quick` measures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from itertools import takewhile

from profet_collect.grid import Grid
from profet_core.collected.record import Cell

#: Each cell lowered the error of a Gaussian process over log ratios most, on each of the four GPUs as the new one and
#: networks held out. The same GPUs chose and judged: on another one the error is larger.
TABLE_NAME = "quick_cells.csv"
QUICK_S = 20 * 60.0
_LARGEST_SHARE = 0.1

Workload = tuple[str, int, int]


@cache
def quick_workloads() -> dict[Workload, float]:
    """(model, pixels, batch size) -> error in per cent on a held-out GPU with this cell and all before it known."""
    text = resources.files(__package__).joinpath(TABLE_NAME).read_text(encoding="utf-8")
    return {
        (row["model"], int(row["pixels"]), int(row["batch_size"])): float(row["error_percent"])
        for row in csv.DictReader(text.splitlines())
    }


def quick_cells(grid: Grid, seconds_of: Callable[[Cell], float], within_s: float = QUICK_S) -> list[Cell]:
    """As many of the grid's cells as fit into the time, those that tell most first; at least one if the table has any.

    A cell that takes more than a tenth of the time is skipped: it is not worth ten others.

    In the first framework and precision of the grid: what another one changes takes cells of its own.
    """
    found: list[Cell] = []
    left_s = within_s
    for model, pixels, batch_size in quick_workloads():
        if model in grid.models and pixels in grid.pixels and batch_size in grid.batch_sizes:
            cell = Cell(grid.frameworks[0], grid.precisions[0], model, pixels, batch_size)
            seconds = seconds_of(cell)
            if seconds <= within_s * _LARGEST_SHARE:
                left_s -= seconds
                if found and left_s < 0:
                    break
                found.append(cell)
    return found


def known_error(cells: Sequence[Cell]) -> tuple[int, float] | None:
    """How many of the table's workloads, from its top without a gap, are among these cells, and its error after them.

    None: not even the first is. The table knows no error of workloads with a gap between them.
    """
    there = {(cell.model, cell.pixels, cell.batch_size) for cell in cells}
    errors = [error for _, error in takewhile(lambda row: row[0] in there, quick_workloads().items())]
    return (len(errors), errors[-1]) if errors else None
