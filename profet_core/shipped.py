"""Tables that ship with this package, read only if they are whole; `python -m profet_core.shipped` signs them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from profet_core.errors import ArtifactError
from profet_core.files import sha256_hex

_PACKAGE = Path(__file__).parent
#: A line a table, as `sha256sum` writes them; text has no carriage returns to it.
CHECKSUMS = _PACKAGE / "checksums.txt"


def shipped_bytes(name: str) -> bytes:
    """Content of a table, such as `catalog/gpus.csv`; raises ArtifactError if it is missing or another than signed."""
    try:
        data = (_PACKAGE / name).read_bytes()
    except OSError as error:
        raise ArtifactError(f"{name} can't be read: {error.strerror}: {_GET_AGAIN}.") from None
    if _checksum(data) != _signed().get(name):
        raise ArtifactError(f"{name} is damaged or was changed: {_GET_AGAIN}, or sign it: python -m {__name__}.")
    return data


def shipped_text(name: str) -> str:
    """Return the same as text."""
    return shipped_bytes(name).decode()


_GET_AGAIN = f"install the program again, or restore it (git checkout {_PACKAGE.name})"


@cache
def _signed() -> dict[str, str]:
    try:
        lines = CHECKSUMS.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise ArtifactError(f"{CHECKSUMS.name} can't be read: {_GET_AGAIN}.") from None
    return {name: digits for digits, _, name in (line.partition("  ") for line in lines)}


def _checksum(data: bytes) -> str:
    return sha256_hex(data.replace(b"\r\n", b"\n"))


def signed_text() -> str:
    """Return the checksums of the tables as they are."""
    tables = sorted(path for pattern in ("*/*.csv", "*/*.csv.gz") for path in _PACKAGE.glob(pattern))
    return "".join(f"{_checksum(path.read_bytes())}  {path.relative_to(_PACKAGE).as_posix()}\n" for path in tables)


def write_shipped(name: str, data: bytes) -> Path:
    """Write a table, sign it, and return where it is."""
    path = _PACKAGE / name
    path.write_bytes(data)
    CHECKSUMS.write_text(signed_text(), encoding="utf-8")
    return path


if __name__ == "__main__":
    CHECKSUMS.write_text(signed_text(), encoding="utf-8")
