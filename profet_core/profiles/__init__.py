"""Reads profiles: one module a format, chosen by content, never by a file's name."""

from __future__ import annotations

from types import ModuleType

from profet_core.errors import ProfileError
from profet_core.profiles import profet_json
from profet_core.profiles.containers import unpack
from profet_core.profiles.record import Profile, ProfileMeta

__all__ = ["READERS", "Profile", "ProfileMeta", "read_profile"]

#: Every format that is read, in the order it is tried: `looks_like(data) -> bool` and `read(data) -> Profile`.
READERS: tuple[ModuleType, ...] = (profet_json,)


def read_profile(data: bytes, name: str = "profile") -> Profile:
    """Read one profile from the bytes of an upload or a file.

    Parameters
    ----------
    data : the file's bytes, plain or gzip.
    name : the file's name, for messages only.

    Raises
    ------
    ProfileError : one line that says what is wrong with this file and what to do.
    """
    try:
        content = unpack(data)
        for reader in READERS:
            if reader.looks_like(content):
                return reader.read(content)
    except ProfileError as error:
        raise ProfileError(f"{_short(name)}: {error}") from None
    known = ", ".join(reader.NAME for reader in READERS)
    raise ProfileError(f"{_short(name)}: this is no profile that can be read: upload {known}.")


def _short(name: str) -> str:
    printable = "".join(character for character in name if character.isprintable()) or "profile"
    return printable if len(printable) <= 60 else printable[:57] + "..."
