"""A server's models, custom catalog and custom GPUs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from profet_core.answers.questions import Context
from profet_core.artifacts.models import MANIFEST_NAME, OWN_PAIRS_NAME, load_models
from profet_core.catalog import OWN_LEFT_OUT, load_gpus, load_served_catalog
from profet_core.catalog.own import served_own_path
from profet_core.catalog.own_gpus import read_own_gpus, served_own_gpus_path
from profet_core.errors import CatalogError, InputError
from profet_core.files import default_models_folder
from profet_core.transfer.model import CALIBRATED_NAME, TRANSFER_NAME

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """Context that the server answers every request from.

    Attributes
    ----------
    files : files that may change while the server runs, each with its modification time, nanoseconds; None: missing.
    own_left_out : the server's custom list of instances or GPUs can't be read and is skipped; its log says so.
    """

    context: Context
    files: Mapping[Path, int | None]
    own_left_out: bool

    @property
    def is_outdated(self) -> bool:
        """Whether models or lists were modified since they were loaded."""
        return any(_written_ns(path) != loaded for path, loaded in self.files.items())


def load_served() -> Served:
    """Load models, checked file by file, with the custom catalog and GPUs.

    `$PROFET_HOME` or `$PROFET_APP_INSTANCES` add the latter.

    Raises
    ------
    ArtifactError : a model is missing, damaged or changed.
    """
    files = {path: _written_ns(path) for path in _changing()}
    models = load_models()
    models.verify()
    catalog, problem = load_served_catalog()
    context, left_out = Context(models, catalog, load_gpus()), problem is not None
    try:
        context = context.with_own_gpus(read_own_gpus(served_own_gpus_path(), load_gpus()))
    except (CatalogError, InputError):
        left_out = True
    if left_out:
        _LOG.warning(OWN_LEFT_OUT)
    return Served(context, files, left_out)


def _changing() -> Iterator[Path]:
    folder = default_models_folder()
    yield from (folder / name for name in (MANIFEST_NAME, TRANSFER_NAME, CALIBRATED_NAME, OWN_PAIRS_NAME))
    try:
        lists = served_own_path(), served_own_gpus_path()
    except CatalogError:
        return
    yield from (path for path in lists if path is not None)


def _written_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
