"""Reads `manycore_validation.json`, as `profet validate --manycore --card` wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from profet_core.accuracy.manycore import (
    CoresRow,
    ManycoreAccuracy,
    ModelsRow,
    OwnCores,
    OwnCoresWay,
    PublishedPrediction,
    PublishedSpeedup,
)
from profet_core.accuracy.reading import ReportFile, optional, positive, read_record, text
from profet_core.files import models_folder
from profet_core.manycore.contention import PUBLISHED_THREADS
from profet_core.manycore.published import PUBLISHED, PUBLISHED_PREDICTIONS_MIN

MANYCORE_REPORT_NAME = "manycore_validation.json"

#: Every number of the report is above 0.
_READERS = {"float": positive, "float | None": optional(positive)}


def load_manycore_accuracy(folder: Path | str | None = None) -> ManycoreAccuracy:
    """The report in a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : it is missing or damaged.
    """
    path = models_folder(folder) / MANYCORE_REPORT_NAME
    file = ReportFile(path, "The report on many-core models", "profet validate --manycore --card")
    return file.read_signed(read_manycore_accuracy)


def read_manycore_accuracy(report: Mapping) -> ManycoreAccuracy:
    """The records of a report; `KeyError`, `TypeError` or `ValueError` where a figure is missing or none."""
    found = ManycoreAccuracy(
        made=text(report["made"]),
        predictions=tuple(read_record(PublishedPrediction, row, _READERS) for row in report["predictions"]),
        models=tuple(read_record(ModelsRow, row, _READERS) for row in report["models"]),
        speedup=read_record(PublishedSpeedup, report["speedup"], _READERS),
        own_cores=_own_cores(report["own_cores"]),
    )
    published = [(name, threads) for name, row in PUBLISHED_PREDICTIONS_MIN.items() for threads in row]
    everywhere = [(name, threads) for name in PUBLISHED for threads in PUBLISHED_THREADS]
    for rows, wanted in ((found.predictions, published), (found.models, everywhere)):
        if [(row.network, row.threads) for row in rows] != wanted:
            raise ValueError("other rows")
    return found


def _own_cores(report: Mapping) -> OwnCores:
    return read_record(OwnCores, report, {**_READERS, "tuple[OwnCoresWay, ...]": _ways})


def _ways(rows: list) -> tuple[OwnCoresWay, ...]:
    found = tuple(read_record(OwnCoresWay, row, {**_READERS, "tuple[CoresRow, ...]": _rows}) for row in rows)
    if not found:
        raise ValueError("empty")
    return found


def _rows(rows: list) -> tuple[CoresRow, ...]:
    found = tuple(read_record(CoresRow, row, _READERS) for row in rows)
    if len(found) < 2 or found[0].threads != 1:
        raise ValueError("nothing to compare")
    return found
