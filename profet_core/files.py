"""Model folders, JSON files signed with their own checksum, and locks between programs that change the same file."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from profet_core.errors import ArtifactError, InputError
from profet_profiles.whole_files import open_to_read

HOME_VARIABLE = "PROFET_HOME"
#: A folder with one of these has models; if others are missing it is damaged.
_MODEL_FILES = ("manifest.json", "transfer.json")
_GET_AGAIN = "restore it (git checkout models) or run `profet train`"

#: An object of one of our JSON files; readers check each value they use.
JsonObject: TypeAlias = Mapping[str, Any]
Parsed = TypeVar("Parsed")


def default_models_folder() -> Path:
    """`$PROFET_HOME` if it has models, else `models/` of the checkout, else the copy in an installed package."""
    home = home_folder()
    return shipped_folder("models") if home is None or not _has_models(home) else home


def _has_models(folder: Path) -> bool:
    """Whether a folder has models, whole or not, or is being replaced by others."""
    return put_aside(folder).exists() or any((folder / name).exists() for name in _MODEL_FILES)


def models_folder(folder: Path | str | None) -> Path:
    """Return the given models folder; None: the default, `default_models_folder`."""
    return default_models_folder() if folder is None else Path(folder)


def home_folder() -> Path | None:
    """Return the folder in `$PROFET_HOME`, of custom models, a catalog next to them, or both; it may not exist yet.

    None if unset, or if it is the shipped folder, which is never changed.
    """
    home = os.environ.get(HOME_VARIABLE)
    is_shipped = home and Path(home).resolve() == shipped_folder("models").resolve()
    return None if not home or is_shipped else Path(home)


def put_aside(folder: Path) -> Path:
    """Backup path of a models folder while a new one replaces it."""
    return folder.with_name(f".{folder.name}.before")


def shipped_folder(name: str) -> Path:
    """Return a data folder of the project, in a checkout or in an installed package."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / name
    return checkout if checkout.is_dir() else package / "shipped" / name


def shown(path: Path) -> str:
    """Display name of one of our files: its folder's name without the path, because visitors may read messages.

    >>> shown(Path("/srv/app/models/memory.json"))
    'models/memory.json'
    """
    return f"{path.parent.name}/{path.name}"


def manifest_checksum(manifest: JsonObject) -> str:
    """SHA-256 of the manifest without its own checksum, over sorted compact JSON."""
    return sha256_hex(json.dumps(_unsigned(manifest), sort_keys=True, separators=(",", ":")).encode())


def _unsigned(manifest: JsonObject) -> JsonObject:
    return {key: value for key, value in manifest.items() if key != "checksum"}


def _is_signed(content: JsonObject) -> bool:
    # msgspec writes the same JSON in a tenth of the time, but for numbers such as 1e-05.
    quick = sha256_hex(msgspec.json.encode(_unsigned(content), order="sorted"))
    return content.get("checksum") == quick or content.get("checksum") == manifest_checksum(content)


def read_coefficients(path: Path, version: int) -> JsonObject:
    """Content of a JSON file signed with its own checksum; ArtifactError if missing, changed or of another version."""
    try:
        content = strict_json(path)
    except OSError:
        raise ArtifactError(f"{shown(path)} is missing: {_GET_AGAIN}.") from None
    except (ValueError, RecursionError):
        raise damaged(path) from None
    if not isinstance(content, dict) or not _is_signed(content):
        raise damaged(path)
    if content.get("schema_version") != version:
        raise ArtifactError(
            f"{shown(path)} has version {content.get('schema_version')}, this program reads {version}: {_GET_AGAIN}."
        )
    return content


def load_coefficients(path: Path, version: int, parse: Callable[[JsonObject], Parsed]) -> Parsed:
    """Parse such a file; `parse` may raise any error of invalid content, which is an ArtifactError."""
    content = read_coefficients(path, version)
    try:
        return parse(content)
    except ArtifactError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged(path) from None


def damaged(path: Path) -> ArtifactError:
    """Error for a file with invalid content."""
    return ArtifactError(f"{shown(path)} is damaged or was changed: {_GET_AGAIN}.")


def finite_number(value: object) -> float:
    """Return a finite number in a file's content; raises TypeError for other types, ValueError for other numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"not a number: {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {value!r}")
    return float(value)


def strict_json(path: Path) -> object:
    """Parse one of our JSON files; raises OSError, RecursionError, or ValueError, also for NaN and Infinity."""
    with open_to_read(path) as file:
        document: object = msgspec.json.decode(file.read())
    return document


def sha256_hex(data: bytes) -> str:
    """SHA-256 of `data` in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


#: A change takes milliseconds; many programs may wait for each other.
WAIT_S = 60.0


@contextmanager
def only_one(path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Lock `path` between reading and writing; other programs that lock it wait, InputError after `wait_s` seconds.

    The lock ends with its process, however that ends. The empty lock file next to `path` has no meaning if it is left
    behind.
    """
    # Only a change needs it.
    from filelock import FileLock, Timeout

    lock = FileLock(lock_path(path), timeout=wait_s)
    try:
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise InputError(f"Another program is changing {path}: try again when it has finished.") from None
    try:
        yield
    finally:
        # Before the release: waiting programs see that the file is gone, and retry.
        with suppress(OSError):
            lock_path(path).unlink()
        lock.release()


def lock_path(path: Path) -> Path:
    """Lock file of `path`."""
    path = path.resolve()
    return path.with_name(f".{path.name}.lock")
