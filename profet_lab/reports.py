"""Validate, and write the reports that ship with the models, and their cards."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, manifest_checksum, shown, strict_json
from profet_core.layers.rates import load_rates
from profet_core.prediction.models import Models, load_models
from profet_core.training.memory import load_memory
from profet_core.training.scaling_model import load_scaleout
from profet_core.transfer.model import load_transfer
from profet_lab.cards.cards import (
    SCALER_MAPE,
    baseline_architectures,
    baseline_pairs,
    estimate_card,
    gpu_card,
    model_card,
    real_section,
    render,
)
from profet_lab.class_bank import class_bank
from profet_lab.class_folds import default_report, default_table, scatter
from profet_lab.documented import documented_report, documented_table, scaler_report
from profet_lab.estimate.report import estimate_report
from profet_lab.growth import growth_report, predictions_of_table
from profet_lab.measurements.tables import WORKLOAD, Measurements, pairs
from profet_lab.models_folder import signed, write_signed
from profet_lab.scaleout import scaleout_report
from profet_lab.tasks import Progress
from profet_lab.validation.cells import measured_cells_report
from profet_lab.validation.gpus import gpus_report
from profet_recorder.whole_files import write_whole

VALIDATION_NAME, REAL_REPORT_NAME, CARD_NAME = "validation.json", "real_profiles.json", "MODEL_CARD.md"

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """What a validation reads.

    data, models : folders of the measurements, and of the models that are judged.
    """

    measurements: Measurements
    data: Path
    models: Path
    seed: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class Part:
    """A validation with a report and a card of its own.

    make : its report. text : the report and the models' folder -> the card as Markdown.
    judged : file of coefficients without its ending -> what loads it. The report has their checksums.
    card : begins the card's name; the part's name if empty.
    """

    name: str
    make: Callable[[Task], dict[str, Any]]
    text: Callable[[Report, Path], str]
    judged: Mapping[str, Callable[[Path], Any]] = field(default_factory=dict)
    card: str = ""

    @property
    def report_name(self) -> str:
        """Of the file beside the models."""
        return f"{self.name}_validation.json"

    @property
    def card_name(self) -> str:
        """Of the file beside the models."""
        return f"{self.card or self.name.upper()}_CARD.md"

    def checksums(self, models: Path) -> dict[str, str]:
        """Of the coefficients in the folder that it judges."""
        return {name: load(models).checksum for name, load in self.judged.items()}

    def dated(self, report: Report, models: Path) -> dict[str, Any]:
        """The report with the day, and the checksums of what it judges."""
        checksums = {f"{name}_checksum": value for name, value in self.checksums(models).items()}
        return {"made": today(), **checksums, **report}

    def write(self, report: Report, models: Path) -> dict[str, Any]:
        """Write report and card beside the models; returns the report as it was written."""
        content = signed(self.dated(report, models))
        card = self.text(content, models)
        write_signed(content, models / self.report_name)
        write_whole(models / self.card_name, card.encode())
        return content


_PARTS = [
    Part(
        "cells",
        lambda task: measured_cells_report(task.measurements, task.data, seed=task.seed, progress=task.progress),
        lambda report, models: render("cells_card.md.j2", report=report, gpus=list(report["rows"][0]["gpus"])),
    ),
    Part(
        "gpus",
        lambda task: gpus_report(
            load_models(task.models), task.measurements, task.data, seed=task.seed, progress=task.progress
        ),
        lambda report, models: gpu_card(report, load_transfer(models), load_memory(models)),
        {"transfer": load_transfer, "memory": load_memory},
        "GPU",
    ),
    Part(
        "estimate",
        lambda task: estimate_report(task.measurements, task.data, task.progress),
        lambda report, models: estimate_card(report, load_rates(models)),
        {"estimate": load_rates},
    ),
    Part(
        "scaleout",
        lambda task: scaleout_report(task.data, task.progress),
        lambda report, models: render("scaleout_card.md.j2", report=report, model=load_scaleout(models)),
        {"scaleout": load_scaleout},
    ),
]
#: Name, an option of `profet validate` -> the part.
PARTS = {part.name: part for part in _PARTS}


def write_report(measurements: Measurements, models: Models, *, seed: int, progress: Progress | None = None) -> dict:
    """Validate both methods and the scaler, and write report and card into the folder of `models`.

    The report names the manifest it belongs to by its checksum.
    """
    documented = documented_table(measurements, pairs(measurements.instances), seed=seed, progress=progress)
    bank = class_bank(measurements)
    table = default_table(bank, measurements.workloads, pairs(bank.instances), seed=seed, progress=progress)
    report = {
        "models_checksum": models.manifest["checksum"],
        "made": today(),
        "seed": seed,
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
    _write_validation(report, models)
    return report


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


def write_real_report(real: Report, models: Models) -> None:
    """Write what third-party profiles showed into the folder of `models`, and the card anew with its section."""
    _write_compact(real, models.folder / REAL_REPORT_NAME)
    try:
        report = load_validation(models)
    except ArtifactError as error:
        raise ArtifactError(f"{REAL_REPORT_NAME} was written, {CARD_NAME} was not: {error}") from None
    _write_model_card(report, models)


def _write_validation(report: Report, models: Models) -> None:
    _write_compact(report, models.folder / VALIDATION_NAME)
    _write_model_card(report, models)


def _write_model_card(report: Report, models: Models) -> None:
    """The card, with what third-party profiles showed."""
    real = load_real_report(models)
    card = model_card(report, models.manifest, real_section(real) if real else "")
    write_whole(models.folder / CARD_NAME, card.encode())


def _write_compact(content: Report, path: Path) -> None:
    write_whole(path, (json.dumps(content, separators=(",", ":")) + "\n").encode())


def today() -> str:
    """In UTC, as YYYY-MM-DD."""
    return datetime.now(UTC).date().isoformat()


def measured_noise(measurements: Measurements) -> dict[str, float]:
    """Mean absolute deviation of a run from its workload's median, percent, per instance."""
    found = {}
    for instance, latency_ms in measurements.latency_ms.items():
        table = measurements.workloads.assign(latency_ms=latency_ms)
        median = table.groupby(WORKLOAD)["latency_ms"].transform("median")
        found[instance] = float(100 * (table["latency_ms"] / median - 1).abs().mean())
    return found
