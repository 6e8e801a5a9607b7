"""Training data of custom models, if such models are loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from profet_core.artifacts.models import MANIFEST_NAME, Models
from profet_core.files import shipped_folder, strict_json
from profet_core.transfer.model import CALIBRATED_NAME, CalibratedGpu

_FILES = (MANIFEST_NAME, CALIBRATED_NAME)


@dataclass(frozen=True, slots=True)
class OwnModels:
    """A custom models folder: date of its newest file (ISO 8601, UTC), and what its models were trained on.

    `base_ships`: its models are those that ship with this version.
    """

    written: str
    instances: tuple[str, ...]
    networks: tuple[str, ...]
    calibrated: tuple[CalibratedGpu, ...]
    base_ships: bool


def own_models(models: Models) -> OwnModels | None:
    """Describe the loaded models; None if they are the shipped ones."""
    shipped = shipped_folder("models")
    if models.folder.resolve() == shipped.resolve():
        return None
    times = [path.stat().st_mtime for name in _FILES if (path := models.folder / name).is_file()]
    networks = models.manifest.get("training_data", {}).get("architectures", ())
    calibrated = models.transfer.calibrated.values()
    return OwnModels(
        written=datetime.fromtimestamp(max(times), UTC).date().isoformat() if times else "",
        instances=models.instances,
        networks=tuple(map(str, networks)),
        calibrated=tuple(sorted(calibrated, key=lambda one: (one.instance, one.tf32))),
        base_ships=models.manifest.get("checksum") == _checksum(shipped / MANIFEST_NAME),
    )


def _checksum(manifest: Path) -> object:
    try:
        found = strict_json(manifest)
    except (OSError, ValueError, RecursionError):
        return None
    return found.get("checksum") if isinstance(found, Mapping) else None
