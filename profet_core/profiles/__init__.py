"""Reads profiles: one module a format, chosen by content, never by a file's name."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Protocol

from profet_core.errors import ProfileError
from profet_core.profiles.containers.archives import files_in_archive, files_in_folder, is_archive
from profet_core.profiles.containers.best_file import read_best
from profet_core.profiles.containers.content import Content, Progress, Watch
from profet_core.profiles.containers.other_files import what_it_is
from profet_core.profiles.profet_json import reader as profet_json
from profet_core.profiles.profet_json.writer import write_profile
from profet_core.profiles.pytorch import trace as pytorch_trace
from profet_core.profiles.record import Profile, ProfileMeta
from profet_core.profiles.tensorflow import timeline as tensorflow_timeline
from profet_core.profiles.tensorflow import trace as tensorflow_trace
from profet_core.profiles.tensorflow.siblings import refused_sibling
from profet_core.profiles.tensorflow.statistics import framework_op_stats, statistics_csv, tensorflow_stats
from profet_core.profiles.tensorflow.xplane import reader as xplane

__all__ = [
    "READERS",
    "Content",
    "Profile",
    "ProfileMeta",
    "Reader",
    "read_profile",
    "read_profile_folder",
    "write_profile",
]


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
    tensorflow_stats,
    xplane,
    tensorflow_timeline,
    tensorflow_trace,
    pytorch_trace,
    profet_json,
)


def read_profile(source: bytes | BinaryIO, name: str = "profile", *, progress: Progress | None = None) -> Profile:
    """Read one profile from the bytes of an upload or from a file.

    Parameters
    ----------
    source : the bytes, or a binary file, plain or gzip; a seekable file is streamed where its format allows. Of a zip
        or tar archive the file that tells most is read, and `ignored` names it.
    name : the file's name, for messages only.
    progress : called with the share that is read, above 0 up to 1, never falling; at most about a hundred times.

    Raises
    ------
    ProfileError : one line that says what is wrong with this file and what to do.
    """
    try:
        return _read(Content(source, watch=Watch(progress)), name)
    except ProfileError as error:
        raise ProfileError(f"{_short(name)}: {error}") from None


def read_profile_folder(path: Path, *, progress: Progress | None = None) -> Profile:
    """Read the file that tells most in a folder, such as the `plugins/profile/<run>` that TensorFlow writes.

    Parameters
    ----------
    progress : as for `read_profile`, of the file that is read.

    Raises
    ------
    ProfileError : one line: nothing in it is a profile, or what is can't be read.
    """
    try:
        watch = Watch(progress)
        return read_best(files_in_folder(path, watch), READERS, "folder", watch)
    except ProfileError as error:
        raise ProfileError(f"{_short(path.resolve().name)}: {error}") from None


def _read(content: Content, name: str) -> Profile:
    if is_archive(content):
        return read_best(files_in_archive(content), READERS, "archive", content.watch)
    content.follow()
    if refusal := refused_sibling(content.head):
        raise ProfileError(refusal)
    for reader in READERS:
        if reader.looks_like(content.head):
            return reader.read(content)
    what, instead = what_it_is(content.head, name) or ("", "")
    formats = "upload " + ", ".join(reader.NAME for reader in reversed(READERS))
    raise ProfileError(f"this is {what and what + ', '}no profile that can be read: {instead or formats}.")


def _short(name: str) -> str:
    printable = "".join(character for character in name if character.isprintable()) or "profile"
    return printable if len(printable) <= 60 else printable[:57] + "..."
