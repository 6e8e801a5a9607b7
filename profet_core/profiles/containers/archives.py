"""Lists the files in a zip or tar archive, or in a folder, without ever writing one to disk or using its path."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import RATIO_REFUSAL, Content, unpacks_too_well
from profet_core.profiles.containers.watch import Watch
from profet_core.profiles.limits import MAX_FILES

MAX_NAME_CHARACTERS = 300
#: Enough to tell a format by; many files may have to be looked at.
SHORT_HEAD_BYTES = 64 * 2**10

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x1
_DAMAGED = "The archive is damaged: pack or download it again."


@dataclass(frozen=True, slots=True)
class ArchivedFile:
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
    with _refusing():
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
                name = _printable(path.relative_to(folder).as_posix())
                files.append(ArchivedFile(name, _opens_path(path, watch)))
                _check_number(len(files), "folder")
    return files


def _size_of(path: Path) -> int:
    """Bytes of a file; 0 for what is none, as a pipe, or can't be looked at."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def _opens_path(path: Path, watch: Watch) -> Callable[[int], Content]:
    def open_(head_bytes: int) -> Content:
        try:
            return Content(path.open("rb"), watch=watch, head_bytes=head_bytes)
        except OSError as error:
            raise ProfileError(f"it can't be read: {error.strerror}.") from None

    return open_


class _Member:
    """A file inside, read forwards; going back opens it anew.

    Parameters
    ----------
    start : opens it at a place.
    """

    def __init__(self, start: Callable[[int], BinaryIO], size: int) -> None:
        self._start, self._size = start, size
        self._stream: BinaryIO | None = None
        self._position = 0

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing: the archive stays open for its other files."""

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        position = offset if whence == io.SEEK_SET else self._size + offset
        if position != self._position:
            self._position, self._stream = position, None
        return position

    def read(self, size: int = -1, /) -> bytes:
        left = max(self._size - self._position, 0)
        with _refusing():
            if self._stream is None:
                self._stream = self._start(self._position)
            data = self._stream.read(left if size < 0 else min(size, left))
        self._position += len(data)
        return data


def _zip_files(content: Content) -> Iterator[ArchivedFile]:
    archive = zipfile.ZipFile(cast("BinaryIO", _Member(content.open, content.size)))
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    _check_number(len(entries), "archive")
    if entries and all(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise ProfileError("The zip archive is encrypted: pack it without a password.")
    for entry in entries:
        known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if entry.file_size and known and not entry.flag_bits & _ENCRYPTED:
            yield ArchivedFile(_printable(entry.filename), _opens_zipped(archive, entry, content.watch))


def _opens_zipped(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, watch: Watch) -> Callable[[int], Content]:
    def start(position: int) -> BinaryIO:
        stream = archive.open(entry)
        stream.seek(position)
        return cast("BinaryIO", stream)

    def open_(head_bytes: int) -> Content:
        if unpacks_too_well(entry.file_size, entry.compress_size):
            raise ProfileError(RATIO_REFUSAL)
        return Content(_Member(start, entry.file_size), watch=watch, head_bytes=head_bytes)

    return open_


def _tar_files(content: Content) -> Iterator[ArchivedFile]:
    with content.open() as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for number, entry in enumerate(archive, 1):
            _check_number(number, "archive")
            if entry.isreg() and entry.size:
                yield ArchivedFile(_printable(entry.name), _opens_tarred(content, entry))


def _opens_tarred(content: Content, entry: tarfile.TarInfo) -> Callable[[int], Content]:
    def start(position: int) -> BinaryIO:
        return content.open(entry.offset_data + position)

    return lambda head_bytes: Content(_Member(start, entry.size), watch=content.watch, head_bytes=head_bytes)


@contextmanager
def _refusing() -> Iterator[None]:
    """Say in one line that an archive is damaged, whatever the libraries raise."""
    try:
        yield
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        if isinstance(error, ProfileError):
            raise
        raise ProfileError(_DAMAGED) from None


def _check_number(count: int, what: str) -> None:
    if count > MAX_FILES:
        raise ProfileError(f"The {what} holds more than {MAX_FILES:,} files: choose the folder of one run.")


def _printable(name: str) -> str:
    return "".join(character for character in name if character.isprintable())[-MAX_NAME_CHARACTERS:]
