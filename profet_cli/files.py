"""Files that options name, read within the limits of an upload, and the user's own lists."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from profet_core.errors import InputError, ProfileError
from profet_profiles import Profile
from profet_profiles.errors import shown_file_name
from profet_profiles.sandbox import read_guarded
from profet_profiles.whole_files import open_to_read

if TYPE_CHECKING:
    from profet_core.layers.measured import TrainingLog
    from profet_core.layers.network import Network

#: A file that is read sooner than this shows no progress.
QUIET_S = 1.0
#: Endings of files, which no network's name has; and of trained weights by name (yolov8n.pt), in a folder a file's.
_FILE_ENDINGS, _WEIGHTS_ENDINGS = (".keras", ".onnx", ".csv", ".json", ".h5", ".pb", ".gz", ".zip"), (".pt", ".pth")
Content = TypeVar("Content")


def read_profile_file(path: str) -> Profile:
    """Read a file or a run's folder, streamed; a long one shows on a terminal's stderr how far it is."""
    try:
        with open_to_read(Path(path)) as file:
            return read_guarded(file, Path(path).name, progress=_shown_progress())
    except IsADirectoryError:
        from profet_profiles.reading import read_profile_folder

        return read_profile_folder(Path(path), progress=_shown_progress())
    except OSError as error:
        raise ProfileError(f"{path} can't be read: {error.strerror}.") from None


def _shown_progress() -> Callable[[float], None] | None:
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()

    def show(share: float) -> None:
        if time.monotonic() - start > QUIET_S:
            print(f"\rreading {share:4.0%}", end="\r" if share < 1 else "\r            \r", file=sys.stderr, flush=True)

    return show


def read_network_file(path: Path, pixels: int | None) -> Network:
    """Read the network in a file."""
    from profet_core.layers.reading import read_network_guarded

    return _read(path, lambda file: read_network_guarded(file, path.name, pixels))


def read_log_file(path: Path) -> TrainingLog:
    """Read the log in a file."""
    from profet_core.layers.logs import read_log_guarded

    return _read(path, lambda file: read_log_guarded(file, path.name))


def _read(path: Path, read: Callable[[BinaryIO], Content]) -> Content:
    try:
        with open_to_read(path) as file:
            return read(file)
    except OSError as error:
        raise InputError(f"{path.name} can't be read: {error.strerror}.") from None


def network_file(network: str) -> Path | None:
    """Return the network's file; None: this is a name, not a path."""
    path = Path(network)
    with suppress(OSError):
        if path.is_file():
            return path
    ending = path.suffix.lower()
    if ending in _FILE_ENDINGS or (ending in _WEIGHTS_ENDINGS and len(path.parts) > 1):
        raise InputError(f"{shown_file_name(path.name)} not found.")
    return None


def network_if_named(path: str, values: Mapping[str, object]) -> Profile | None:
    """Return the network without a profile that is meant, where there is no such file."""
    from profet_core.answers.by_layers import network_called

    return None if Path(path).exists() else network_called(path, values)
