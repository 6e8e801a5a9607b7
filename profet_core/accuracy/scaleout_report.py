"""Reads `scaleout_validation.json`, as `profet validate --scaleout --card` wrote it for one `scaleout.json`."""

from __future__ import annotations

from pathlib import Path

from profet_core.accuracy.reading import ReportFile, by_name, count, read_record, text
from profet_core.accuracy.scaleout import Covered, LeftOutScale, ScaleDataSet, ScaleErrors, ScaleoutAccuracy
from profet_core.files import JsonObject, finite_number, models_folder
from profet_core.scaleout.model import ScaleoutModel

SCALEOUT_REPORT_NAME = "scaleout_validation.json"


def load_scaleout_accuracy(model: ScaleoutModel, folder: Path | str | None = None) -> ScaleoutAccuracy:
    """The accuracy of these very coefficients, from a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the report is missing or damaged, or was written for another `scaleout.json`.
    """
    path = models_folder(folder) / SCALEOUT_REPORT_NAME
    file = ReportFile(path, "The accuracy report", "profet validate --scaleout --card")
    return file.read_signed(read_scaleout_accuracy, scaleout=model.checksum)


def read_scaleout_accuracy(report: JsonObject) -> ScaleoutAccuracy:
    """The records of a report; `KeyError`, `TypeError` or `ValueError` where a figure is missing or none."""
    found = ScaleoutAccuracy(
        made=text(report["made"]),
        scaleout_checksum=text(report["scaleout_checksum"]),
        data_sets=by_name(report["data_sets"], _data_set),
        on_64=_errors(report["on_64"]),
        network_64=by_name(report["network_64"], finite_number),
    )
    if not found.data_sets or not found.network_64:
        raise ValueError("empty")
    return found


def _data_set(row: JsonObject) -> ScaleDataSet:
    return ScaleDataSet(
        n=count(row["n"]),
        networks=_left_out(row["networks"]),
        gpus=_left_out(row["gpus"]),
        excluded=by_name(row["excluded"], count),
        with_excluded=_errors(row["with_excluded"]),
    )


def _left_out(row: JsonObject) -> LeftOutScale:
    return LeftOutScale(
        every=_errors(row["every"]),
        hard=_errors(row["hard"]),
        covered_90=finite_number(row["covered_90"]),
        median_interval_pct=finite_number(row["median_interval_pct"]),
        by_fold=by_name(row["by_fold"], _errors),
        by_strategy=by_name(row["by_strategy"], _errors),
        covered_by_strategy=by_name(row["covered_by_strategy"], _covered),
        covered_by_gpus=by_name(row["covered_by_gpus"], _covered),
    )


def _covered(row: JsonObject) -> Covered:
    return read_record(Covered, row)


def _errors(row: JsonObject) -> ScaleErrors:
    return read_record(ScaleErrors, row)
