"""Writes a models folder of one's own: the models there are, and what cells of other GPUs told."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from profet_core.errors import InputError
from profet_core.files import manifest_checksum, shipped_folder
from profet_core.transfer.model import SHARPENED_NAME, SHARPENED_VERSION, TransferModel
from profet_core.transfer.sharpened import SharpenedGpu, sharpened_content
from profet_lab.coefficient_files import write_coefficients
from profet_lab.datasets.dataset import Dataset
from profet_lab.models_folder import new_models_folder


def check_out(out: Path) -> None:
    """Refuse to write over the models that ship.

    Raises
    ------
    InputError : `out` is their folder.
    """
    if out.resolve() == shipped_folder("models").resolve():
        raise InputError("The models that ship stay as they are: name another folder with --out, or PROFET_HOME.")


def sharpened_file(gpus: Sequence[SharpenedGpu], transfer: TransferModel, dataset: Dataset) -> dict:
    """What `sharpened.json` holds; it belongs to one `transfer.json`."""
    content = {
        "schema_version": SHARPENED_VERSION,
        "transfer_checksum": transfer.checksum,
        "gpus": [sharpened_content(gpu) for gpu in gpus],
        "fitted_on": {file: value for source in dataset.sources for file, value in source.files.items()},
    }
    return {**content, "checksum": manifest_checksum(content)}


def write_sharpened(content: dict, models: Path, out: Path) -> None:
    """Write a copy of `models` with `sharpened.json` as `out`, whole or not at all.

    Raises
    ------
    ArtifactError : `out` can't be replaced; it is as it was.
    """
    with new_models_folder(out) as folder:
        shutil.copytree(models, folder, dirs_exist_ok=True)
        write_coefficients(content, folder / SHARPENED_NAME)
