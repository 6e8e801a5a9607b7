"""Validate, and write the reports that ship with the models, and their cards."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, manifest_checksum, shown, strict_json
from profet_core.layers.rates import load_rates
from profet_core.prediction.models import Models, load_models
from profet_core.training.many_core import check_rows, speedup_row
from profet_core.training.memory import load_memory
from profet_core.training.scaling_model import load_scaleout
from profet_core.transfer.model import load_transfer
from profet_lab.cards import (
    SCALER_MAPE,
    Report,
    baseline_architectures,
    baseline_pairs,
    cells_card,
    estimate_card,
    gpu_card,
    manycore_card,
    model_card,
    real_section,
    scaleout_card,
)
from profet_lab.class_bank import class_bank
from profet_lab.class_folds import default_report, default_table, scatter
from profet_lab.documented import documented_report, documented_table, scaler_report
from profet_lab.estimate_report import estimate_report
from profet_lab.growth import growth_report, predictions_of_table
from profet_lab.measurements.tables import WORKLOAD, Measurements, pairs
from profet_lab.models_folder import signed, write_signed
from profet_lab.scaleout import scaleout_report
from profet_lab.tasks import Progress
from profet_lab.validation.cells import measured_cells_report
from profet_lab.validation.gpus import gpus_report
from profet_lab.validation.real_profiles import (
    measured_latencies,
    read_index,
    real_report,
)
from profet_recorder.whole_files import write_whole

VALIDATION_NAME, REAL_REPORT_NAME, CARD_NAME = "validation.json", "real_profiles.json", "MODEL_CARD.md"


@dataclass(frozen=True)
class Task:
    """What a validation reads.

    open_data : the measurements and their folder. models : folder of the models that are judged.
    profiles : folder of third-party profiles, for "real".
    """

    open_data: Callable[[], tuple[Measurements, Path]]
    models: Path
    seed: int
    progress: Progress
    profiles: str = ""

    @cached_property
    def _data(self) -> tuple[Measurements, Path]:
        return self.open_data()

    @property
    def measurements(self) -> Measurements:
        """Those that are learned from and judged on."""
        return self._data[0]

    @property
    def data(self) -> Path:
        """Their folder."""
        return self._data[1]


@dataclass(frozen=True, slots=True)
class Part:
    """A validation, its report and its card.

    make : the report. text : the report and the models' folder -> the card as Markdown.
    judged : what it judges -> its checksum in a folder of models, which the report has too.
    report_name, card_name : of the files beside the models; no report file if empty.
    """

    make: Callable[[Task], dict[str, Any]]
    text: Callable[[Report, Path], str]
    report_name: str
    card_name: str
    judged: Mapping[str, Callable[[Path], str]] = field(default_factory=dict)

    def checksums(self, models: Path) -> dict[str, str]:
        """Of what it judges in the folder."""
        return {name: checksum(models) for name, checksum in self.judged.items()}

    def dated(self, report: Report, models: Path) -> dict[str, Any]:
        """The report with the day, and the checksums of what it judges."""
        checksums = {f"{name}_checksum": value for name, value in self.checksums(models).items()}
        return {"made": datetime.now(UTC).date().isoformat(), **checksums, **report}

    def write(self, report: Report, models: Path) -> dict[str, Any]:
        """Write a dated report and its card beside the models; returns the report as it was written.

        Two reports share the card of the models: each is written with what the other one shows.
        """
        content = dict(report)
        if self.card_name == CARD_NAME:
            data = json.dumps(content, separators=(",", ":")) + "\n"
            write_whole(models / self.report_name, data.encode())
            text = _whole_model_card(load_models(models), self.report_name)
        else:
            content = signed(report)
            text = self.text(content, models)
            if self.report_name:
                write_signed(content, models / self.report_name)
        write_whole(models / self.card_name, text.encode())
        return content


def _models_checksum(folder: Path) -> str:
    return str(load_models(folder).manifest["checksum"])


def _models_report(task: Task) -> dict[str, Any]:
    """Both methods, the scaler and other sizes."""
    measurements = task.measurements
    how: dict[str, Any] = {"seed": task.seed, "progress": task.progress}
    documented = documented_table(measurements, pairs(measurements.instances), **how)
    bank = class_bank(measurements)
    table = default_table(bank, measurements.workloads, pairs(bank.instances), **how)
    return {
        "seed": task.seed,
        "noise_percent": measured_noise(measurements),
        "default": default_report(table),
        "profet": documented_report(documented),
        "original": {
            "pairs": baseline_pairs().reset_index().to_dict("records"),
            "mean": baseline_pairs().mean().to_dict(),
            "by_model": baseline_architectures().to_dict("index"),
            "scaler_mape": SCALER_MAPE,
        },
        "scaler": scaler_report(measurements, documented),
        "growth": growth_report(measurements, bank, predictions_of_table(table)),
        "scatter": scatter(table),
    }


def _real_report(task: Task) -> dict[str, Any]:
    index = read_index(task.profiles)
    is_measured = any(entry.measured is not None for entry in index.profiles)
    known = (lambda workload: measured_latencies(task.measurements, workload)) if is_measured else None
    return real_report(load_models(task.models), index, known)


#: Name, an option of `profet validate` -> the part; "models" is what `--card` alone writes.
PARTS = {
    "models": Part(
        _models_report,
        lambda report, folder: _model_card(report, load_models(folder)),
        VALIDATION_NAME,
        CARD_NAME,
        {"models": _models_checksum},
    ),
    "real": Part(
        _real_report, lambda report, _: real_section(report), REAL_REPORT_NAME, CARD_NAME, {"models": _models_checksum}
    ),
    "cells": Part(
        lambda task: measured_cells_report(task.measurements, task.data, seed=task.seed, progress=task.progress),
        lambda report, _: cells_card(report),
        "cells_validation.json",
        "CELLS_CARD.md",
    ),
    "gpus": Part(
        lambda task: gpus_report(
            load_models(task.models), task.measurements, task.data, seed=task.seed, progress=task.progress
        ),
        lambda report, folder: gpu_card(report, load_transfer(folder), load_memory(folder)),
        "gpus_validation.json",
        "GPU_CARD.md",
        {
            "transfer": lambda folder: load_transfer(folder).checksum,
            "memory": lambda folder: load_memory(folder).checksum,
        },
    ),
    "estimate": Part(
        lambda task: estimate_report(task.measurements, task.data, task.progress),
        lambda report, folder: estimate_card(report, load_rates(folder)),
        "estimate_validation.json",
        "ESTIMATE_CARD.md",
        {"estimate": lambda folder: load_rates(folder).checksum},
    ),
    "scaleout": Part(
        lambda task: scaleout_report(task.data, task.progress),
        lambda report, folder: scaleout_card(report, load_scaleout(folder)),
        "scaleout_validation.json",
        "SCALEOUT_CARD.md",
        {"scaleout": lambda folder: load_scaleout(folder).checksum},
    ),
    "manycore": Part(
        lambda _: {"rows": [asdict(row) for row in check_rows()], "speedup": asdict(speedup_row())},
        lambda report, _: manycore_card(report["made"], check_rows(), speedup_row()),
        "",
        "MANYCORE_CARD.md",
    ),
}


def read_report(path: Path, command: str, **made_for: str) -> JsonObject:
    """A report as `command` wrote it.

    made_for : what it judges, "models" or the name of a file of coefficients without its ending -> the checksum of the
        loaded one. A report on models has no checksum of its own.
    """
    remedy = f"restore it (git checkout models) or run `{command}`"
    try:
        report = strict_json(path)
    except OSError:
        raise ArtifactError(f"The accuracy report {shown(path)} is missing: {remedy}.") from None
    except (ValueError, RecursionError):
        report = None
    whole = isinstance(report, Mapping) and (
        "models" in made_for or report.get("checksum") == manifest_checksum(report)
    )
    if not isinstance(report, Mapping) or not whole:
        raise ArtifactError(f"The accuracy report {shown(path)} is damaged or was changed: {remedy}.")
    for name, loaded in made_for.items():
        if report.get(f"{name}_checksum") != loaded:
            other = "other models than those" if name == "models" else f"another {name}.json than that"
            raise ArtifactError(f"The figures in {shown(path)} belong to {other} loaded: {remedy}.")
    return report


def load_validation(models: Models) -> Report:
    """The report on these very models, `validation.json`."""
    path = models.folder / VALIDATION_NAME
    return read_report(path, "profet validate --card", models=models.manifest["checksum"])


def load_real_report(models: Models) -> Report | None:
    """Results on third-party profiles with these very models; None until `profet validate --real DIR --card` runs."""
    path = models.folder / REAL_REPORT_NAME
    try:
        return read_report(path, "", models=models.manifest["checksum"])
    except ArtifactError:
        return None


def _whole_model_card(models: Models, written: str) -> str:
    """The card of the models from both reports in their folder, the first of which must be there."""
    try:
        return _model_card(load_validation(models), models)
    except ArtifactError as error:
        raise ArtifactError(f"{written} was written, {CARD_NAME} was not: {error}") from None


def _model_card(report: Report, models: Models) -> str:
    """With what third-party profiles showed, if that is known of these models."""
    real = load_real_report(models)
    return model_card(report, models.manifest, real_section(real) if real else "")


def measured_noise(measurements: Measurements) -> dict[str, float]:
    """Mean absolute deviation of a run from its workload's median, percent, per instance."""
    found = {}
    for instance, latency_ms in measurements.latency_ms.items():
        table = measurements.workloads.assign(latency_ms=latency_ms)
        median = table.groupby(WORKLOAD)["latency_ms"].transform("median")
        found[instance] = float(100 * (table["latency_ms"] / median - 1).abs().mean())
    return found
