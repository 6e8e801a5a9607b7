"""What several commands read from their arguments: a profile and the models."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profet_core.answers.context import Context
from profet_core.answers.fields import NUMBERS, PROFILE, Fields
from profet_core.catalog import Gpus, load_catalog, load_gpus
from profet_core.catalog.custom_gpus import CUSTOM_GPUS_NAME, custom_gpus_path, read_custom_gpus
from profet_core.catalog.custom_instances import CUSTOM_NAME
from profet_core.errors import InputError, ProfileError
from profet_core.prediction.checks import read_as
from profet_core.prediction.models import Models, load_models
from profet_core.sandbox import read_guarded
from profet_recorder.profiles import Profile, read_profile_folder

if TYPE_CHECKING:
    from profet_core.layers.network import Network

#: A file that is read sooner than this shows no progress.
QUIET_S = 1.0


def given_values(options: argparse.Namespace, fields: Fields) -> dict[str, Any]:
    """The fields that were given, their profiles read."""
    given = {name: getattr(options, name) for name in fields if hasattr(options, name)}
    if "measured" not in given:
        # Another profile is of interest only where something was measured.
        given.pop("measured_trace", None)
    for name, value in given.items():
        if fields[name].kind is PROFILE:
            given[name] = read_profile_file(value)
        elif fields[name].kind is NUMBERS:
            given[name] = dict(value)
    return given


def read_trace(options: argparse.Namespace) -> Profile:
    """TRACE, read as covering `--steps` steps if that is given."""
    return read_as(read_profile_file(options.trace), getattr(options, "steps", None))


def read_profile_file(path: str) -> Profile:
    """The profile in a file or in a run's folder, streamed; a long one shows on a terminal's stderr how far it is."""
    try:
        with Path(path).open("rb") as file:
            return read_guarded(file, Path(path).name, progress=_shown_progress())
    except IsADirectoryError:
        return read_profile_folder(Path(path), progress=_shown_progress())
    except OSError as error:
        raise ProfileError(f"{path} can't be read: {error.strerror}.") from None


def read_network_file(path: Path, pixels: int | None) -> Network:
    """The network in a file, read within the limits of an upload."""
    from profet_core.layers.reading import read_network_guarded

    try:
        with path.open("rb") as file:
            return read_network_guarded(file, path.name, pixels)
    except OSError as error:
        raise InputError(f"{path.name} can't be read: {error.strerror}.") from None


def _shown_progress() -> Callable[[float], None] | None:
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()

    def show(share: float) -> None:
        if time.monotonic() - start > QUIET_S:
            print(f"\rreading {share:4.0%}", end="\r" if share < 1 else "\r            \r", file=sys.stderr, flush=True)

    return show


def known_gpus() -> Gpus:
    """The GPUs with specs, the user's after them."""
    shipped = load_gpus()
    return shipped.with_custom(row.gpu for row in read_custom_gpus(custom_gpus_path(), shipped))


def open_context(options: argparse.Namespace) -> Context:
    """Models, and the catalog with the user's instances and GPUs; lists in the `--models` folder come first."""
    gpus, catalog = load_gpus(), load_catalog(own=_in_folder(options, CUSTOM_NAME))
    own = read_custom_gpus(_in_folder(options, CUSTOM_GPUS_NAME) or custom_gpus_path(), gpus)
    return Context(open_models(options), catalog, gpus).with_custom_gpus(own)


def _in_folder(options: argparse.Namespace, name: str) -> Path | None:
    path = Path(options.models or "") / name
    return path if options.models and path.is_file() else None


def open_models(options: argparse.Namespace) -> Models:
    """The models the arguments name, else the shipped ones."""
    return load_models(options.models)
