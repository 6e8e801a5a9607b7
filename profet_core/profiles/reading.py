"""Reads a profile from bytes, a file or a folder: its format is known by the content, never by a file's name."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from profet_core.errors import ProfileError
from profet_core.profiles.best_file import read_best
from profet_core.profiles.containers.archives import files_in_archive, files_in_folder, is_archive
from profet_core.profiles.containers.foreign_files import what_it_is
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.containers.watch import Progress, Watch
from profet_core.profiles.formats import READERS, reader_of
from profet_core.profiles.record import Profile
from profet_core.profiles.tensorflow.tensorboard_files import refused_sibling
from profet_core.profiles.trace_events.kernel_names import forget_names


def read_profile(source: bytes | BinaryIO | Path | str, name: str = "", *, progress: Progress | None = None) -> Profile:
    """Read one profile from the bytes of an upload, from a file or from a path.

    Parameters
    ----------
    source : the bytes, a binary file or a path, plain or gzip; a seekable file is streamed where its format allows. Of
        a zip or tar archive, or of a folder, the file that tells most is read, and `ignored` names it.
    name : the file's name, for messages only; empty: the path's, or "profile".
    progress : called with the share that is read, above 0 up to 1, never falling; at most about a hundred times.

    Raises
    ------
    ProfileError : one line that says what is wrong with this file and what to do.

    >>> profile = read_profile(b'{"Device_Conv2D": 51425.8, "Host_IDLE": 613483.8}')
    >>> profile.source_format, profile.steps, profile.operations["Device_Conv2D"]
    ('PROFET JSON, version 1', 2, 25712.9)
    >>> read_profile(b'{"Device_Conv2D": -1}', "mine.json")
    Traceback (most recent call last):
    profet_core.errors.ProfileError: mine.json: 'Device_Conv2D' is negative: times are 0 or more microseconds.
    """
    if isinstance(source, str | Path):
        return _read_path(Path(source), name, progress)
    name = name or "profile"
    try:
        content = Content(source, watch=Watch(progress))
        content.watch.shorten(content.size)
        return _read(content, name)
    except ProfileError as error:
        raise ProfileError(f"{shown_file_name(name)}: {error}") from None
    finally:
        forget_names()


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
        return read_best(files_in_folder(path, watch), "folder", watch)
    except ProfileError as error:
        raise ProfileError(f"{shown_file_name(path.resolve().name)}: {error}") from None
    finally:
        forget_names()


def _read_path(path: Path, name: str, progress: Progress | None) -> Profile:
    name = name or path.name
    try:
        if path.is_dir():
            return read_profile_folder(path, progress=progress)
        with path.open("rb") as file:
            return read_profile(file, name, progress=progress)
    except (OSError, ValueError) as error:
        # `ProfetError` is a `ValueError` and says it better; a text that is no path may hold a null byte.
        if isinstance(error, ProfileError):
            raise
        why = getattr(error, "strerror", None) or error
        raise ProfileError(f"{shown_file_name(name)} can't be read: {why}. Give a path, bytes or a file.") from None


def _read(content: Content, name: str) -> Profile:
    if is_archive(content):
        return read_best(files_in_archive(content), "archive", content.watch)
    content.follow()
    if refusal := refused_sibling(content.head):
        raise ProfileError(refusal)
    if reader := reader_of(content.head):
        return reader.read(content)
    what, instead = what_it_is(content.head, name) or ("", "")
    formats = "upload " + ", ".join(reader.NAME for reader in reversed(READERS))
    raise ProfileError(f"this is {what and what + ', '}not a supported profile: {instead or formats}.")


def shown_file_name(name: str) -> str:
    """A file's name as messages have it: printable, and not too long."""
    printable = "".join(character for character in name if character.isprintable()) or "profile"
    return printable if len(printable) <= 60 else printable[:57] + "..."
