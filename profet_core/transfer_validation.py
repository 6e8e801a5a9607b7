"""Reads `transfer_validation.json`, as `profet validate --transfer --card` wrote it for one `transfer.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from profet_core.errors import ArtifactError
from profet_core.model_files import default_models_folder, manifest_checksum
from profet_core.transfer_model import TransferModel

TRANSFER_REPORT_NAME = "transfer_validation.json"

_WRITE_AGAIN = "get it again (git checkout models) or run `profet validate --transfer --card`"


def load_transfer_validation(model: TransferModel, folder: Path | str | None = None) -> Mapping:
    """The report's sections by name ("left_out_gpus", "derived", ...) with the day it was "made".

    Raises
    ------
    ArtifactError : it is missing or damaged, or was written for another `transfer.json`.
    """
    path = (Path(folder) if folder is not None else default_models_folder()) / TRANSFER_REPORT_NAME
    try:
        report = json.loads(path.read_bytes())
    except OSError:
        raise ArtifactError(f"The accuracy report {path} is missing: {_WRITE_AGAIN}.") from None
    except (ValueError, RecursionError):
        raise ArtifactError(f"The accuracy report {path} is damaged: {_WRITE_AGAIN}.") from None
    if not isinstance(report, dict) or report.get("checksum") != manifest_checksum(report):
        raise ArtifactError(f"The accuracy report {path} is damaged: {_WRITE_AGAIN}.")
    if report.get("transfer_checksum") != model.checksum:
        raise ArtifactError(f"The figures in {path} belong to another transfer.json than that loaded: {_WRITE_AGAIN}.")
    return MappingProxyType(report)
