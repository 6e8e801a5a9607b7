"""Reads `cells_validation.json`, as `profet validate --cells --card` wrote it."""

from __future__ import annotations

from pathlib import Path

from profet_core.accuracy.cells import CellsAccuracy, CellsErrors, CellsRow
from profet_core.accuracy.reading import ReportFile, by_name, count, read_record, text
from profet_core.files import JsonObject, finite_number, models_folder

CELLS_REPORT_NAME = "cells_validation.json"


def load_cells_accuracy(folder: Path | str | None = None) -> CellsAccuracy:
    """The report in a models folder (`$PROFET_HOME` or the shipped one if None). It judges the method: no models of it
    see the judged GPU.

    Raises
    ------
    ArtifactError : it is missing or damaged.
    """
    path = models_folder(folder) / CELLS_REPORT_NAME
    return ReportFile(path, "The accuracy report", "profet validate --cells --card").read(read_cells_accuracy)


def read_cells_accuracy(report: JsonObject) -> CellsAccuracy:
    """The records of a report; `KeyError`, `TypeError` or `ValueError` where a figure is missing or none."""
    found = CellsAccuracy(
        made=text(report["made"]),
        draws=count(report["draws"]),
        networks=count(report["networks"]),
        workloads=count(report["workloads"]),
        rows=tuple(_row(row) for row in report["rows"]),
    )
    numbers = [row.cells for row in found.rows]
    if not numbers or numbers != sorted(set(numbers)) or not found.instances:
        raise ValueError("no rows, or not in their order")
    if any(tuple(row.gpus) != found.instances for row in found.rows):
        raise ValueError("rows of different GPUs")
    return found


def _row(row: JsonObject) -> CellsRow:
    return CellsRow(
        cells=count(row["cells"]),
        gpus=by_name(row["gpus"], lambda errors: read_record(CellsErrors, errors)),
        mean=finite_number(row["mean"]),
    )
