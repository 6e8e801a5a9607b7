"""Reads profiles: one module a format, chosen by content, never by a file's name."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from profet_core.errors import ProfileError
from profet_core.profiles import (
    framework_op_stats,
    profet_json,
    pytorch_trace,
    statistics_csv,
    tensorflow_trace,
    xplane,
)
from profet_core.profiles.containers import Content, Progress
from profet_core.profiles.profet_json_writer import write_profile
from profet_core.profiles.record import Profile, ProfileMeta

__all__ = ["READERS", "Content", "Profile", "ProfileMeta", "Reader", "read_profile", "write_profile"]


class Reader(Protocol):
    """What a module that reads a format has; a new format is one such module and its line in `READERS`."""

    #: The format's name for a person: "PROFET JSON".
    NAME: str

    def looks_like(self, head: bytes) -> bool:
        """True if the first unpacked bytes of a file (at most 1 MiB) are of this format."""

    def read(self, content: Content) -> Profile:
        """Read it: `content.read(max_bytes)` for all of it, `content.open()` to stream; ProfileError if it can't be."""


#: Every format that is read, in the order it is tried. PyTorch's reader takes any chrome trace that TensorFlow's left,
#: PROFET JSON any JSON that all others left.
READERS: tuple[Reader, ...] = (
    statistics_csv,
    framework_op_stats,
    xplane,
    tensorflow_trace,
    pytorch_trace,
    profet_json,
)


def read_profile(source: bytes | BinaryIO, name: str = "profile", *, progress: Progress | None = None) -> Profile:
    """Read one profile from the bytes of an upload or from a file.

    Parameters
    ----------
    source : the bytes, or a binary file, plain or gzip; a seekable file is streamed where its format allows.
    name : the file's name, for messages only.
    progress : called with the share that is read, above 0 up to 1, never falling; at most about a hundred times.

    Raises
    ------
    ProfileError : one line that says what is wrong with this file and what to do.
    """
    try:
        content = Content(source, progress)
        for reader in READERS:
            if reader.looks_like(content.head):
                return reader.read(content)
    except ProfileError as error:
        raise ProfileError(f"{_short(name)}: {error}") from None
    known = ", ".join(reader.NAME for reader in reversed(READERS))
    raise ProfileError(f"{_short(name)}: this is no profile that can be read: upload {known}.")


def _short(name: str) -> str:
    printable = "".join(character for character in name if character.isprintable()) or "profile"
    return printable if len(printable) <= 60 else printable[:57] + "..."
