"""Lists the files in a zip or tar archive, or in a folder, without ever writing one to disk or using its path."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import (
    RATIO_REFUSAL,
    Content,
    Watch,
    reading_archive,
    unpacks_too_well,
)
from profet_core.profiles.limits import MAX_FILES

MAX_NAME_CHARACTERS = 300
#: Enough to tell a format by; many files may have to be looked at.
SHORT_HEAD_BYTES = 64 * 2**10

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x1


class ArchivedFile(NamedTuple):
    """One file of an archive or a folder.

    Attributes
    ----------
    name : its path inside, for choosing and for messages.
    open : makes its content, given the number of bytes of the head; ProfileError if it can't be read.
    """

    name: str
    open: Callable[[int], Content]


def is_archive(content: Content) -> bool:
    """True for a zip archive and for a tar archive, packed with gzip or not."""
    return _is_zip(content) or content.head[257:262] == b"ustar"


def _is_zip(content: Content) -> bool:
    return content.head.startswith(_ZIP_STARTS) and not content.is_packed


def files_in_archive(content: Content) -> list[ArchivedFile]:
    """Every file in a zip or tar archive that is not empty, in its order.

    Raises
    ------
    ProfileError : damaged, encrypted throughout, or too many files.
    """
    with reading_archive():
        return list(_zip_files(content) if _is_zip(content) else _tar_files(content))


def files_in_folder(folder: Path, watch: Watch) -> list[ArchivedFile]:
    """Every file in a folder and the folders in it, by name.

    Raises
    ------
    ProfileError : too many files, or a folder that can't be read.
    """

    def fail(error: OSError) -> None:
        raise ProfileError(f"the folder can't be read: {error.strerror}.") from None

    files = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders.sort()
        for path in (Path(parent, name) for name in sorted(names)):
            if _size_of(path):
                files.append(_file(path.relative_to(folder).as_posix(), partial(path.open, "rb"), watch))
                _check_number(len(files), "folder")
    return files


def _size_of(path: Path) -> int:
    """Bytes of a file; 0 for what is none, as a pipe, or can't be looked at."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def _zip_files(content: Content) -> Iterator[ArchivedFile]:
    archive = zipfile.ZipFile(content.open())
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    _check_number(len(entries), "archive")
    if entries and all(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise ProfileError("The zip archive is encrypted: pack it without a password.")

    def start(entry: zipfile.ZipInfo) -> IO[bytes]:
        if unpacks_too_well(entry.file_size, entry.compress_size):
            raise ProfileError(RATIO_REFUSAL)
        return archive.open(entry)

    for entry in entries:
        known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if entry.file_size and known and not entry.flag_bits & _ENCRYPTED:
            yield _file(entry.filename, partial(start, entry), content.watch, entry.file_size)


def _tar_files(content: Content) -> Iterator[ArchivedFile]:
    archive = tarfile.TarFile(fileobj=content.open())
    for number, entry in enumerate(archive, 1):
        _check_number(number, "archive")
        if entry.isreg() and entry.size > 0:
            yield _file(entry.name, partial(archive.extractfile, entry), content.watch, entry.size)


def _file(name: str, start: Callable[[], Any], watch: Watch, size: int | None = None) -> ArchivedFile:
    def open_(head_bytes: int) -> Content:
        try:
            with reading_archive():
                return Content(start(), watch=watch, head_bytes=head_bytes, size=size)
        except OSError as error:
            raise ProfileError(f"it can't be read: {error.strerror}.") from None

    printable = "".join(character for character in name if character.isprintable())[-MAX_NAME_CHARACTERS:]
    return ArchivedFile(printable, open_)


def _check_number(count: int, what: str) -> None:
    if count > MAX_FILES:
        raise ProfileError(f"The {what} holds more than {MAX_FILES:,} files: choose the folder of one run.")
