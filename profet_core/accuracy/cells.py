"""The measured accuracy on a GPU of which a few workloads were measured: `cells_validation.json`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from profet_core.accuracy.reports import read_report
from profet_core.errors import ArtifactError
from profet_core.files import finite_number, models_folder

CELLS_REPORT_NAME = "cells_validation.json"
CELLS_COMMAND = "profet validate --cells --card"


@dataclass(frozen=True, slots=True)
class CellsRow:
    """Mean error of networks held out with so many cells of a new GPU known, percent."""

    cells: int
    mean: float


def load_cells_rows(folder: Path | str | None = None) -> tuple[CellsRow, ...]:
    """The rows of the report in a models folder (`$PROFET_HOME` or the shipped one if None), the fewest cells first.

    Raises
    ------
    ArtifactError : it is missing or damaged.
    """
    report = read_report(models_folder(folder) / CELLS_REPORT_NAME, CELLS_COMMAND)
    try:
        rows = [CellsRow(int(finite_number(row["cells"])), finite_number(row["mean"])) for row in report["rows"]]
    except (KeyError, TypeError, ValueError):
        raise ArtifactError(f"{CELLS_REPORT_NAME} is damaged: run `{CELLS_COMMAND}`.") from None
    return tuple(sorted(rows, key=lambda row: row.cells))


def with_cells(rows: tuple[CellsRow, ...], cells: int) -> CellsRow | None:
    """The row of the most cells up to `cells`; None: fewer than validated."""
    known = [row for row in rows if row.cells <= cells]
    return known[-1] if known else None
