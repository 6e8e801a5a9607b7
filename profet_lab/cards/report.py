"""Writes what ships with the models: validation.json, real_profiles.json and MODEL_CARD.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_report import REAL_REPORT_NAME, load_real_report
from profet_core.accuracy.validation_report import VALIDATION_NAME, load_validation
from profet_core.artifacts.models import Models
from profet_core.errors import ArtifactError
from profet_core.files import strict_json
from profet_lab.cards.model import CARD_NAME, model_card
from profet_lab.classes.bank import class_bank
from profet_lab.documented.original import SCALER_MAPE, original_architectures, original_pairs
from profet_lab.measurements.data import Measurements, pairs
from profet_lab.validation.default import default_report, default_table, scatter
from profet_lab.validation.documented import anchor_report, predict_left_out, scaler_report


def write_report(
    measurements: Measurements, models: Models, *, seed: int, progress: Callable[[int], object] | None = None
) -> dict:
    """Validate both methods and the scaler, and write report and card into the folder of `models`.

    The report names the manifest it belongs to by its checksum; the app shows it only beside those models.
    """
    documented = predict_left_out(measurements, pairs(measurements.instances), seed=seed, progress=progress)
    bank = class_bank(measurements)
    table = default_table(bank, measurements.workloads, pairs(bank.instances), seed=seed, progress=progress)
    report = {
        "models_checksum": models.manifest["checksum"],
        "made": datetime.now(UTC).date().isoformat(),
        "seed": seed,
        "noise_percent": measured_noise(measurements),
        "default": default_report(table),
        "profet": anchor_report(documented),
        "original": {
            "pairs": original_pairs().reset_index().to_dict("records"),
            "mean": original_pairs().mean().to_dict(),
            "by_model": original_architectures().to_dict("index"),
            "scaler_mape": SCALER_MAPE,
        },
        "scaler": scaler_report(measurements, documented),
        "scatter": scatter(table),
    }
    (models.folder / VALIDATION_NAME).write_text(json.dumps(report, separators=(",", ":")) + "\n")
    try:
        real = load_real_report(models)
    except ArtifactError:
        # Of other models: its section is left out until `profet validate --real DIR --card` has looked again.
        real = None
    (models.folder / CARD_NAME).write_text(model_card(report, models.manifest, real))
    return report


def write_real_report(real: RealReport, models: Models) -> None:
    """Write what profiles of strangers showed into the folder of `models`, and the card anew with its section.

    Raises
    ------
    ArtifactError : the card's other figures are missing or of other models; the report is written all the same.
    """
    (models.folder / REAL_REPORT_NAME).write_text(json.dumps(real.document(), separators=(",", ":")) + "\n")
    try:
        load_validation(models)
    except ArtifactError as error:
        raise ArtifactError(f"{REAL_REPORT_NAME} was written, {CARD_NAME} was not: {error}") from None
    validation = strict_json(models.folder / VALIDATION_NAME)
    (models.folder / CARD_NAME).write_text(model_card(validation, models.manifest, real))


def measured_noise(measurements: Measurements) -> dict[str, float]:
    """Mean absolute deviation of a run from its workload's median, percent, per instance."""
    keys = ["model", "pixels", "batch_size"]
    found = {}
    for instance, latency_ms in measurements.latency_ms.items():
        table = measurements.workloads.assign(latency_ms=latency_ms)
        median = table.groupby(keys)["latency_ms"].transform("median")
        found[instance] = float(100 * (table["latency_ms"] / median - 1).abs().mean())
    return found
