"""Write a custom models folder: the shipped models plus those from your measurements."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from profet_core.errors import InputError
from profet_core.files import manifest_checksum, shipped_folder
from profet_core.transfer.model import (
    CALIBRATED_NAME,
    CALIBRATED_VERSION,
    CalibratedGpu,
    TransferModel,
    calibrated_content,
)
from profet_lab.coefficient_files import write_coefficients
from profet_lab.datasets.dataset import Dataset
from profet_lab.models_folder import MEASUREMENTS, OWN_PARTS, new_models_folder


def check_out(out: Path) -> None:
    """Refuse to write over the models that ship.

    Raises
    ------
    InputError : `out` is their folder.
    """
    if out.resolve() == shipped_folder("models").resolve():
        raise InputError("The shipped models can't be overwritten: name another folder with --out, or PROFET_HOME.")


def read_files(dataset: Dataset) -> dict[str, str]:
    """File -> SHA-256 of all that a dataset was made of."""
    return {file: value for source in dataset.sources for file, value in source.files.items()}


def calibrated_file(gpus: Sequence[CalibratedGpu], transfer: TransferModel, dataset: Dataset) -> dict:
    """Content of `calibrated.json`, for one `transfer.json`."""
    content = {
        "schema_version": CALIBRATED_VERSION,
        "transfer_checksum": transfer.checksum,
        "gpus": [calibrated_content(gpu) for gpu in gpus],
        "fitted_on": read_files(dataset),
    }
    return {**content, "checksum": manifest_checksum(content)}


def write_own(models: Path, out: Path, *, calibrated: dict | None, write_pairs: Callable[[Path], None] | None) -> None:
    """Write a copy of `models` with `calibrated.json` and models of pairs as `out`, whole or not at all.

    Parameters
    ----------
    calibrated : content of that file, or None.
    write_pairs : trains the pairs and writes them over the models in a folder; None: there are none.

    Raises
    ------
    ArtifactError : `out` can't be replaced; it is as it was.
    """
    # Found now: the new folder may take the place of the old one.
    copied = [path for path in models.rglob("*") if path.is_file() and not _is_own(path.relative_to(models))]
    with new_models_folder(out) as folder:
        for path in copied:
            there = folder / path.relative_to(models)
            there.parent.mkdir(parents=True, exist_ok=True)
            # Without its mode: what ships may be read-only.
            shutil.copyfile(path, there)
        if calibrated is not None:
            write_coefficients(calibrated, folder / CALIBRATED_NAME)
        if write_pairs is not None:
            write_pairs(folder)


def _is_own(name: Path) -> bool:
    """Files that an earlier custom training added, or measurements beside the models."""
    return name.parts[0] in (*OWN_PARTS, *MEASUREMENTS)
