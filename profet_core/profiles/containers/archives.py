"""Lists the files in a zip or tar archive, or in a folder, without ever writing one to disk or using its path."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import GZIP_MAGIC, Content
from profet_core.profiles.containers.watch import Watch
from profet_core.profiles.limits import MAX_FILES

MAX_DIRECTORY_BYTES = 2**20
MAX_NAME_CHARACTERS = 300
#: Enough to tell a format by; many files may have to be looked at.
SHORT_HEAD_BYTES = 64 * 2**10

ZIP_MAGIC = b"PK\x03\x04"
_EMPTY_ZIP_MAGIC = b"PK\x05\x06"
#: Signature, disks, entries on this disk and in all, size and place of the directory, length of the comment.
_ZIP_END = struct.Struct("<4s4H2LH")
#: Signature, versions, flags, method, time, date, CRC, sizes packed and not, lengths of name, extra and comment, disk,
#: attributes, place of the file.
_ZIP_ENTRY = struct.Struct("<4s4B4H3L5H2L")
#: Signature up to the sizes, then lengths of name and extra.
_ZIP_LOCAL = struct.Struct("<4s22x2H")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1
_ZIP64_COUNT, _ZIP64_SIZE = 0xFFFF, 0xFFFFFFFF

_TAR_BLOCK = 512
_TAR_MAGIC = b"ustar"
_TAR_FILES = b"0\x007"


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """One file of an archive or a folder.

    Attributes
    ----------
    name : its path inside, for choosing and for messages.
    size : unpacked bytes as the archive says, which may be wrong.
    open : makes its content, given the number of bytes of the head; ProfileError if it can't be read.
    """

    name: str
    size: int
    open: Callable[[int], Content]


def is_archive(content: Content) -> bool:
    """True for a zip archive and for a tar archive, packed with gzip or not."""
    return _is_zip(content) or content.head[257:262] == _TAR_MAGIC


def _is_zip(content: Content) -> bool:
    return content.head.startswith((ZIP_MAGIC, _EMPTY_ZIP_MAGIC)) and not content.is_packed


def files_in_archive(content: Content) -> list[ArchivedFile]:
    """Every file in a zip or tar archive, in its order.

    Raises
    ------
    ProfileError : damaged, encrypted throughout, too many files, or a zip of more than 4 GB.
    """
    files = list(_zip_files(content) if _is_zip(content) else _tar_files(content))
    return [file for file in files if file.size]


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
            if size := _size_of(path):
                name = _printable(path.relative_to(folder).as_posix())
                files.append(ArchivedFile(name, size, _opens_path(path, watch)))
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


class _Part:
    """A stretch of a content's unpacked bytes, read forwards; going back opens the content anew."""

    def __init__(self, content: Content, start: int, size: int) -> None:
        self._content, self._start, self._size = content, start, size
        self._stream: BinaryIO | None = None
        self._position = 0

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing: the content stays open for its other parts."""

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        position = offset if whence == io.SEEK_SET else self._size + offset
        if position != self._position:
            self._position, self._stream = position, None
        return position

    def read(self, size: int = -1, /) -> bytes:
        left = max(self._size - self._position, 0)
        if self._stream is None:
            self._stream = self._content.open(self._start + self._position)
        data = self._stream.read(left if size < 0 else min(size, left))
        self._position += len(data)
        return data


# --- zip --------------------------------------------------------------------------------------------------------------


def _zip_files(content: Content) -> Iterator[ArchivedFile]:
    directory, count = _zip_directory(content)
    position, locked = 0, 0
    for number in range(count):
        _check_number(number + 1, "archive")
        try:
            fields = _ZIP_ENTRY.unpack_from(directory, position)
        except struct.error:
            raise _damaged() from None
        signature, flags, method, checksum, packed_size, size = fields[0], fields[5], fields[6], *fields[9:12]
        name_length, extra_length, comment_length, start = *fields[12:15], fields[-1]
        if signature != b"PK\x01\x02":
            raise _damaged()
        if _ZIP64_SIZE in (packed_size, size, start):
            raise _zip64()
        position += _ZIP_ENTRY.size
        name = directory[position : position + name_length].decode("utf-8", "replace")
        position += name_length + extra_length + comment_length
        if flags & _ENCRYPTED:
            locked += 1
        elif method in (_STORED, _DEFLATED) and not name.endswith("/"):
            opens = _opens_zipped(content, start, packed_size, size, checksum, method == _DEFLATED)
            yield ArchivedFile(_printable(name), size, opens)
    if locked == count > 0:
        raise ProfileError("The zip archive is encrypted: pack it without a password.")


def _zip_directory(content: Content) -> tuple[bytes, int]:
    """The table at the archive's end, and how many files it lists."""
    # Behind it stands its place, and a comment.
    tail_start = max(content.size - _ZIP_END.size - 0xFFFF, 0)
    tail = _read_at(content, tail_start, content.size - tail_start)
    at = tail.rfind(_EMPTY_ZIP_MAGIC)
    if at < 0 or len(tail) - at < _ZIP_END.size:
        raise ProfileError("The zip archive is truncated: pack or download it again.")
    _, _, _, _, count, size, start, _ = _ZIP_END.unpack_from(tail, at)
    if count == _ZIP64_COUNT or _ZIP64_SIZE in (size, start):
        raise _zip64()
    _check_number(count, "archive")
    if size > MAX_DIRECTORY_BYTES:
        raise _damaged()
    directory = _read_at(content, start, size)
    if len(directory) < size:
        raise _damaged()
    return directory, count


def _opens_zipped(
    content: Content, start: int, packed_size: int, size: int, checksum: int, deflated: bool
) -> Callable[[int], Content]:
    def open_(head_bytes: int) -> Content:
        # The lengths here may differ from those of the directory.
        try:
            signature, name_length, extra_length = _ZIP_LOCAL.unpack(_read_at(content, start, _ZIP_LOCAL.size))
        except struct.error:
            raise _damaged() from None
        if signature != ZIP_MAGIC:
            raise _damaged()
        part = _Part(content, start + _ZIP_LOCAL.size + name_length + extra_length, packed_size)
        packing: Literal["deflate", "none"] = "deflate" if deflated else "none"
        opened = Content(part, watch=content.watch, head_bytes=head_bytes, packing=packing, checksum=checksum)
        if not opened.head.startswith(GZIP_MAGIC):
            return opened
        # The checksum is that of the file as it was packed; a second content unpacks gzip's.
        return Content(_Part(opened, 0, size), watch=content.watch, head_bytes=head_bytes)

    return open_


def _zip64() -> ProfileError:
    return ProfileError("The zip archive is too large (zip64): upload the profile inside.")


# --- tar --------------------------------------------------------------------------------------------------------------


def _tar_files(content: Content) -> Iterator[ArchivedFile]:
    """Names longer than a header are cut: they are for choosing and messages only."""
    count = position = 0
    with content.open() as stream:
        while len(header := stream.read(_TAR_BLOCK)) == _TAR_BLOCK and header.strip(b"\x00"):
            if header[257:262] != _TAR_MAGIC:
                raise _damaged()
            count += 1
            _check_number(count, "archive")
            position += _TAR_BLOCK
            size = _tar_size(header[124:136])
            if header[156:157] in _TAR_FILES:
                prefix, name = (_text(header[345:500]), _text(header[:100]))
                name = f"{prefix}/{name}" if prefix and header[257:263] == b"ustar\x00" else name
                yield ArchivedFile(_printable(name), size, _opens_tarred(content, position, size))
            padded = -(-size // _TAR_BLOCK) * _TAR_BLOCK
            _skip(stream, padded)
            position += padded


def _tar_size(field: bytes) -> int:
    digits = field.strip(b" \x00") or b"0"
    if not digits.isdigit() or max(digits) > ord("7"):
        raise _damaged()
    return int(digits, 8)


def _opens_tarred(content: Content, start: int, size: int) -> Callable[[int], Content]:
    return lambda head_bytes: Content(_Part(content, start, size), watch=content.watch, head_bytes=head_bytes)


def _skip(stream: BinaryIO, size: int) -> None:
    while size > 0:
        passed = len(stream.read(min(size, 2**20)))
        if not passed:
            raise ProfileError("The tar archive is truncated: pack or download it again.")
        size -= passed


def _text(field: bytes) -> str:
    return field.partition(b"\x00")[0].decode("utf-8", "replace")


# ----------------------------------------------------------------------------------------------------------------------


def _read_at(content: Content, start: int, size: int) -> bytes:
    with content.open(start) as stream:
        return stream.read(size)


def _check_number(count: int, what: str) -> None:
    if count > MAX_FILES:
        raise ProfileError(f"The {what} holds more than {MAX_FILES:,} files: choose the folder of one run.")


def _printable(name: str) -> str:
    return "".join(character for character in name if character.isprintable())[-MAX_NAME_CHARACTERS:]


def _damaged() -> ProfileError:
    return ProfileError("The archive is damaged: pack or download it again.")
