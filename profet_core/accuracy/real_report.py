"""Reads `real_profiles.json`, as `profet validate --real DIR --card` wrote it for one set of models."""

from __future__ import annotations

from profet_core.accuracy.reading import ReportFile, positive, read_record, text
from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_checks import PredictedLatency, RealCheck, RealReading
from profet_core.artifacts.models import Models
from profet_core.files import JsonObject
from profet_core.latency import Basis

REAL_REPORT_NAME = "real_profiles.json"


def load_real_report(models: Models) -> RealReport | None:
    """Results with these very models; None if there are none.

    Raises
    ------
    ArtifactError : the report is damaged, or was written for other models.
    """
    command = "profet validate --real DIR --card"
    file = ReportFile(models.folder / REAL_REPORT_NAME, "The report on real profiles", command)
    found = file.read_if_there(_report)
    if found is not None:
        file.check_belongs(found.models_checksum, models.manifest["checksum"], "models")
    return found


def _report(document: JsonObject) -> RealReport:
    return RealReport(
        models_checksum=text(document["models_checksum"]),
        made=text(document["made"]),
        checks=tuple(_check(row) for row in document["profiles"]),
        readings=tuple(read_record(RealReading, row) for row in document["read"]),
    )


def _check(row: JsonObject) -> RealCheck:
    return read_record(RealCheck, row, {"float": positive, "Basis": Basis, "PredictedLatency": _predicted})


def _predicted(row: JsonObject) -> PredictedLatency:
    return read_record(PredictedLatency, row, {"float": positive})
