"""Runs the whole validation and writes what ships with the models: validation.json and MODEL_CARD.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

from profet_core.artifacts import Models
from profet_lab.class_bank import class_bank
from profet_lab.data import Measurements, pairs
from profet_lab.model_card import model_card
from profet_lab.original import SCALER_MAPE, original_architectures, original_pairs
from profet_lab.validate import anchor_report, predict_left_out, scaler_report
from profet_lab.validate_default import default_report, default_table, scatter

VALIDATION_NAME, CARD_NAME = "validation.json", "MODEL_CARD.md"


def write_report(
    measurements: Measurements, models: Models, *, seed: int, progress: Callable[[int], object] | None = None
) -> dict:
    """Validate both methods and the scaler, and write both files into the folder of `models`.

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
    (models.folder / CARD_NAME).write_text(model_card(report, models.manifest))
    return report


def measured_noise(measurements: Measurements) -> dict[str, float]:
    """Mean absolute deviation of a run from its workload's median, percent, per instance."""
    keys = ["model", "pixels", "batch_size"]
    found = {}
    for instance, latency_ms in measurements.latency_ms.items():
        table = measurements.workloads.assign(latency_ms=latency_ms)
        median = table.groupby(keys)["latency_ms"].transform("median")
        found[instance] = float(100 * (table["latency_ms"] / median - 1).abs().mean())
    return found
