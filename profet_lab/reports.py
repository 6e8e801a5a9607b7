"""Write the reports that ship with the models, and their cards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_report import REAL_REPORT_NAME, load_real_report
from profet_core.accuracy.scaleout_report import SCALEOUT_REPORT_NAME, read_scaleout_accuracy
from profet_core.accuracy.transfer_report import TRANSFER_REPORT_NAME, read_transfer_accuracy
from profet_core.accuracy.validation_report import VALIDATION_NAME, load_validation
from profet_core.artifacts.models import Models
from profet_core.errors import ArtifactError
from profet_core.estimate.model import ESTIMATE_NAME, ESTIMATE_VERSION, EstimateModel
from profet_core.files import JsonObject, manifest_checksum, read_coefficients, shown, strict_json
from profet_core.memory.model import MemoryModel
from profet_core.precision.model import PrecisionModel
from profet_core.scaleout.model import ScaleoutModel
from profet_core.transfer.model import TRANSFER_NAME, TransferModel
from profet_core.whole_files import write_whole
from profet_lab.cards.cells import CELLS_CARD_NAME, CELLS_REPORT_NAME, cells_card
from profet_lab.cards.estimate import ESTIMATE_CARD_NAME, ESTIMATE_REPORT_NAME, estimate_card
from profet_lab.cards.model import CARD_NAME, model_card
from profet_lab.cards.precision import PRECISION_CARD_NAME, PRECISION_REPORT_NAME, precision_card
from profet_lab.cards.scaleout import SCALEOUT_CARD_NAME, scaleout_card
from profet_lab.cards.transfer import TRANSFER_CARD_NAME, transfer_card
from profet_lab.classes.bank import class_bank
from profet_lab.coefficient_files import signed, write_signed
from profet_lab.documented.baseline import SCALER_MAPE, baseline_architectures, baseline_pairs
from profet_lab.measurements.tables import WORKLOAD, Measurements, pairs
from profet_lab.progress import Progress
from profet_lab.validation.default import default_table
from profet_lab.validation.default_report import default_report, scatter
from profet_lab.validation.documented import documented_report, documented_table
from profet_lab.validation.growth import growth_report, predictions_of_table
from profet_lab.validation.scalers import scaler_report


def write_report(measurements: Measurements, models: Models, *, seed: int, progress: Progress | None = None) -> dict:
    """Validate both methods and the scaler, and write report and card into the folder of `models`.

    The report names the manifest it belongs to by its checksum.
    """
    documented = documented_table(measurements, pairs(measurements.instances), seed=seed, progress=progress)
    bank = class_bank(measurements)
    table = default_table(bank, measurements.workloads, pairs(bank.instances), seed=seed, progress=progress)
    report = {
        "models_checksum": models.manifest["checksum"],
        "made": _today(),
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


def write_sizes_report(growth: Mapping, models: Models) -> None:
    """Write what was found of other sizes into `validation.json`, whose other figures stay, and the card anew.

    Raises
    ------
    ArtifactError : the other figures are missing or of other models.
    """
    load_validation(models)
    _write_validation({**_validation_document(models), "growth": growth}, models)


def _write_validation(report: Mapping, models: Models) -> None:
    """The report, and its card with what third-party profiles showed."""
    write_whole(models.folder / VALIDATION_NAME, (json.dumps(report, separators=(",", ":")) + "\n").encode())
    write_whole(models.folder / CARD_NAME, model_card(report, models.manifest, _real_report(models)).encode())


def _validation_document(models: Models) -> Mapping:
    """`validation.json` as it is."""
    document = strict_json(models.folder / VALIDATION_NAME)
    if not isinstance(document, Mapping):
        raise ArtifactError(f"{VALIDATION_NAME} is damaged: run `profet validate --card`.")
    return document


def _real_report(models: Models) -> RealReport | None:
    """None for other models, until `profet validate --real DIR --card` runs again."""
    try:
        return load_real_report(models)
    except ArtifactError:
        return None


def write_real_report(real: RealReport, models: Models) -> None:
    """Write what third-party profiles showed into the folder of `models`, and the card anew with its section.

    Raises
    ------
    ArtifactError : the card's other figures are missing or of other models; the report is written all the same.
    """
    write_whole(models.folder / REAL_REPORT_NAME, (json.dumps(real.document(), separators=(",", ":")) + "\n").encode())
    try:
        load_validation(models)
    except ArtifactError as error:
        raise ArtifactError(f"{REAL_REPORT_NAME} was written, {CARD_NAME} was not: {error}") from None
    validation = strict_json(models.folder / VALIDATION_NAME)
    write_whole(models.folder / CARD_NAME, model_card(cast(JsonObject, validation), models.manifest, real).encode())


def write_transfer_report(report: Mapping, model: TransferModel, memory: MemoryModel, folder: Path) -> dict:
    """Write report and card beside `transfer.json` and `memory.json`; returns the report as it was written.

    Checksums tie it to those two files and to itself; the app shows it only beside them.
    """
    made_for = {"transfer_checksum": model.checksum, "memory_checksum": memory.checksum}
    return _write_transfer({"made": _today(), **made_for, **report}, model, memory, folder)


def _write_transfer(content: Mapping, model: TransferModel, memory: MemoryModel, folder: Path) -> dict:
    content = signed(content)
    card = transfer_card(read_transfer_accuracy(content), model, memory)
    write_signed(content, folder / TRANSFER_REPORT_NAME)
    write_whole(folder / TRANSFER_CARD_NAME, card.encode())
    return content


def write_memory_report(report: Mapping, model: TransferModel, memory: MemoryModel, folder: Path) -> None:
    """Write what `profet validate --memory` found into the report beside `transfer.json`, whose other figures stay, and
    the card anew.

    Raises
    ------
    ArtifactError : the other figures are missing, damaged, or of another `transfer.json`.
    """
    path = folder / TRANSFER_REPORT_NAME
    ask = "run `profet validate --transfer --card`."
    if not path.is_file():
        raise ArtifactError(f"{TRANSFER_REPORT_NAME} is missing: {ask}")
    try:
        content = strict_json(path)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, Mapping) or content.get("checksum") != manifest_checksum(content):
        raise ArtifactError(f"{TRANSFER_REPORT_NAME} is damaged or was changed: {ask}")
    if content.get("transfer_checksum") != model.checksum:
        raise ArtifactError(f"{TRANSFER_REPORT_NAME} belongs to another {TRANSFER_NAME}: {ask}")
    _write_transfer({**content, "memory_checksum": memory.checksum, "memory": report}, model, memory, folder)


def write_estimate_report(report: Mapping, model: EstimateModel, folder: Path) -> dict:
    """Write report and card beside `estimate.json`; returns the report as it was written, tied to that file."""
    content = signed({"made": _today(), "estimate_checksum": model.checksum, **report})
    coefficients = read_coefficients(folder / ESTIMATE_NAME, ESTIMATE_VERSION)
    write_signed(content, folder / ESTIMATE_REPORT_NAME)
    write_whole(folder / ESTIMATE_CARD_NAME, estimate_card(content, coefficients).encode())
    return content


def write_scaleout_report(report: Mapping, model: ScaleoutModel, folder: Path) -> dict:
    """Write report and card beside `scaleout.json`, tied to it by its checksum; returns the report as written."""
    content = signed({"made": _today(), "scaleout_checksum": model.checksum, **report})
    card = scaleout_card(read_scaleout_accuracy(content), model)
    write_signed(content, folder / SCALEOUT_REPORT_NAME)
    write_whole(folder / SCALEOUT_CARD_NAME, card.encode())
    return content


def write_precision_report(report: Mapping, model: PrecisionModel, folder: Path) -> dict:
    """Write report and card beside `precision.json`, tied to it by its checksum; returns the report as written."""
    content = signed({"made": _today(), "precision_checksum": model.checksum, **report})
    card = precision_card(content, model)
    write_signed(content, folder / PRECISION_REPORT_NAME)
    write_whole(folder / PRECISION_CARD_NAME, card.encode())
    return content


def write_cells_report(report: Mapping, folder: Path) -> dict:
    """Write the report on a new GPU's cells and its card; returns the report as written."""
    return _write_cells({**_of_pairs(folder), "made": _today(), **report}, folder)


def write_pairs_report(report: Mapping, folder: Path) -> dict:
    """Write what models of a new GPU's pairs bring into the report on its cells, and its card; returns `report`.

    Raises
    ------
    ArtifactError : the report on cells is missing.
    """
    _write_cells({**_cells_report(folder), "pairs": {"made": _today(), **report}}, folder)
    return dict(report)


def _cells_report(folder: Path) -> dict:
    path = folder / CELLS_REPORT_NAME
    try:
        content = strict_json(path)
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("checksum") != manifest_checksum(content):
        raise ArtifactError(f"{shown(path)} is missing or damaged: run `profet validate --cells --card` first.")
    return content


def _of_pairs(folder: Path) -> dict:
    """What a report on cells says of pairs, if there is one."""
    try:
        return {"pairs": _cells_report(folder)["pairs"]}
    except (ArtifactError, KeyError):
        return {}


def _write_cells(content: Mapping, folder: Path) -> dict:
    content = signed(content)
    write_signed(content, folder / CELLS_REPORT_NAME)
    write_whole(folder / CELLS_CARD_NAME, cells_card(content).encode())
    return content


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def measured_noise(measurements: Measurements) -> dict[str, float]:
    """Mean absolute deviation of a run from its workload's median, percent, per instance."""
    found = {}
    for instance, latency_ms in measurements.latency_ms.items():
        table = measurements.workloads.assign(latency_ms=latency_ms)
        median = table.groupby(WORKLOAD)["latency_ms"].transform("median")
        found[instance] = float(100 * (table["latency_ms"] / median - 1).abs().mean())
    return found
