"""Where models are found, and reading what is signed with its own checksum."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

from profet_core.errors import ArtifactError

HOME_VARIABLE = "PROFET_HOME"
_GET_AGAIN = "restore it (git checkout models) or run `profet train`"

#: An object of a JSON file of ours; whoever reads it checks each value that it takes.
JsonObject: TypeAlias = Mapping[str, Any]
Parsed = TypeVar("Parsed")


def default_models_folder() -> Path:
    """`$PROFET_HOME`, else `models/` of the checkout, else the copy inside an installed package."""
    home = os.environ.get(HOME_VARIABLE)
    if home:
        return Path(home)
    return shipped_folder("models")


def models_folder(folder: Path | str | None) -> Path:
    """A models folder that was named; None: the usual one, `default_models_folder`."""
    return default_models_folder() if folder is None else Path(folder)


def home_folder() -> Path | None:
    """The custom folder of `$PROFET_HOME`: models, and a catalog beside them.

    None: it names none, or the folder of what ships, which stays as it is.
    """
    home = default_models_folder()
    return None if home.resolve() == shipped_folder("models").resolve() else home


def put_aside(folder: Path) -> Path:
    """Where an old models folder is for the moment in which a new one takes its place."""
    return folder.with_name(f".{folder.name}.before")


def shipped_folder(name: str) -> Path:
    """A data folder of the project, in a checkout or inside an installed package."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / name
    return checkout if checkout.is_dir() else package / "shipped" / name


def shown(path: Path) -> str:
    """A file of ours in messages, which visitors may read: with its folder's name, not where on the machine that is.

    >>> shown(Path("/srv/app/models/memory.json"))
    'models/memory.json'
    """
    return f"{path.parent.name}/{path.name}"


def manifest_checksum(manifest: JsonObject) -> str:
    """SHA-256 of the manifest without its own checksum, over sorted compact JSON."""
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return sha256_hex(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def read_coefficients(path: Path, version: int) -> JsonObject:
    """The content of a JSON file of coefficients, signed with its own checksum.

    Raises
    ------
    ArtifactError : it is missing, damaged, changed, or of another version.
    """
    try:
        content = strict_json(path)
    except OSError:
        raise ArtifactError(f"{shown(path)} is missing: {_GET_AGAIN}.") from None
    except (ValueError, RecursionError):
        raise damaged(path) from None
    if not isinstance(content, dict) or content.get("checksum") != manifest_checksum(content):
        raise damaged(path)
    if content.get("schema_version") != version:
        raise ArtifactError(
            f"{shown(path)} has version {content.get('schema_version')}, this program reads {version}: {_GET_AGAIN}."
        )
    return content


def load_coefficients(path: Path, version: int, parse: Callable[[JsonObject], Parsed]) -> Parsed:
    """What `parse` makes of such a file; it may raise what it runs into where the content is not what it should be.

    Raises
    ------
    ArtifactError : as `read_coefficients`, or of `parse`.
    """
    content = read_coefficients(path, version)
    try:
        return parse(content)
    except ArtifactError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged(path) from None


def damaged(path: Path) -> ArtifactError:
    """What to raise where a file's content is not what it should be."""
    return ArtifactError(f"{shown(path)} is damaged or was changed: {_GET_AGAIN}.")


def finite_number(value: object) -> float:
    """A number of a file's content; TypeError for anything else, ValueError for none that is finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"not a number: {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {value!r}")
    return float(value)


def strict_json(path: Path) -> object:
    """What a JSON file of ours holds; raises OSError, RecursionError, or ValueError, which NaN and Infinity are too."""
    return json.loads(path.read_bytes(), parse_constant=_refuse)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def sha256_hex(data: bytes) -> str:
    """SHA-256 of `data` in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
