"""Opens an upload as a stream of unpacked bytes, under caps on size, ratio and processor time; lists archives."""

from __future__ import annotations

import io
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple

from profet_profiles.errors import ProfileError
from profet_profiles.limits import (
    MAX_FILES,
    MAX_RATIO,
    MAX_SECONDS,
    MAX_SMALL_SECONDS,
    MAX_STREAMED_BYTES,
    MAX_UNCHECKED_RATIO_BYTES,
    MAX_WHOLE_BYTES,
    SMALL_BYTES,
    TraceTooLargeError,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from profet_profiles.record import Profile

#: What a reader sees to tell its format.
HEAD_BYTES = 2**20
RATIO_REFUSAL = (
    f"The compressed file unpacks to more than {MAX_RATIO} times its size, which is too much for a profile: record the "
    "profile again."
)
_EMPTY = "The file is empty. Upload the profile of one training step."
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK_BYTES = 256 * 2**10

Progress = Callable[[float], None]


@contextmanager
def reading_archive() -> Iterator[None]:
    """Turn what zipfile and tarfile raise on a damaged archive into ProfileError."""
    import tarfile  # late: few files are archives

    try:
        yield
    except ProfileError:
        raise
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, ValueError):
        # The last two: a compression that zipfile doesn't know, and numbers in a header that are none.
        raise ProfileError("The archive is damaged: pack or download it again.") from None


def unpacks_too_well(unpacked_bytes: int, packed_bytes: int) -> bool:
    """Tell whether it is a bomb."""
    return unpacked_bytes > max(MAX_UNCHECKED_RATIO_BYTES, MAX_RATIO * packed_bytes)


class Watch:
    """Processor time and progress of reading one upload, over all streams that are opened for it."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._reported = 0.0
        # Of this thread: what other sessions of a server do does not count, nor does waiting for a disk.
        self._begun = time.thread_time()
        self._seconds = MAX_SECONDS

    def shorten(self, uploaded_bytes: int) -> None:
        """Allow a small upload less time."""
        if uploaded_bytes <= SMALL_BYTES:
            self._seconds = min(MAX_SMALL_SECONDS, MAX_SECONDS)

    def check_time(self) -> None:
        """Raise ProfileError if reading has taken too long."""
        if time.thread_time() > self._begun + self._seconds:
            raise TraceTooLargeError(f"Reading took more than {self._seconds:.0f} s of processor time and was stopped")

    def report(self, share: float) -> None:
        """Report the share that is read; forwards only, and a hundred times: a reader may open the content twice."""
        if self._progress and (share >= self._reported + 0.01 or share >= 1 > self._reported):
            self._reported = share
            self._progress(min(share, 1.0))


class Content:
    """The unpacked content of one upload, or of one file in an archive, for readers.

    Attributes
    ----------
    head : the first bytes, at most `head_bytes` of them; all of a small file.
    size : bytes of the source, packed as they are.
    is_packed : the bytes that are read are not those of the source.
    """

    def __init__(
        self,
        source: bytes | BinaryIO,
        *,
        watch: Watch | None = None,
        head_bytes: int = HEAD_BYTES,
        size: int | None = None,
    ) -> None:
        if not isinstance(source, bytes) and not source.seekable():
            source = source.read(MAX_WHOLE_BYTES + 1)
            if len(source) > MAX_WHOLE_BYTES:
                raise ProfileError(f"More than {MAX_WHOLE_BYTES // 2**20} MB came through a pipe: use a file instead.")
        self._source = io.BytesIO(source) if isinstance(source, bytes) else source
        self.size = self._source.seek(0, io.SEEK_END) if size is None else size
        self.watch = watch or Watch()
        self._is_followed = False
        start = self._block(0, 4)
        self.is_packed = start.startswith(_GZIP_MAGIC)
        if not self.is_packed and self.size > MAX_STREAMED_BYTES:
            raise TraceTooLargeError(_too_large(MAX_STREAMED_BYTES))
        with self.open() as stream:
            self.head = stream.read(head_bytes) if start else b""
        if not self.head.strip():
            raise ProfileError(_EMPTY)
        if self.is_packed and self.head.startswith(_GZIP_MAGIC):
            raise ProfileError("The file is compressed twice: unpack it once (gunzip) and upload that.")

    def follow(self) -> None:
        """Report the progress from now on."""
        self._is_followed = True

    def read(self, max_bytes: int = MAX_WHOLE_BYTES, too_large: str | None = None) -> bytes:
        """Everything, for a format that is parsed whole."""
        with self.open() as stream:
            data = stream.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise ProfileError(too_large) if too_large else TraceTooLargeError(_too_large(max_bytes))
        return data

    def open(self) -> BinaryIO:
        """Open a new stream over the unpacked bytes; its reads raise ProfileError, and going back starts anew."""
        return io.BufferedReader(_Unpacked(self), _BLOCK_BYTES)

    def close(self) -> None:
        """Close the source, for who opened it."""
        self._source.close()

    def check_time(self) -> None:
        """Raise ProfileError if reading has taken too long; streams do it with every block, long loops have to."""
        self.watch.check_time()

    def _block(self, position: int, size: int) -> bytes:
        """Bytes of the source as it is, packed or not."""
        with reading_archive():
            self._source.seek(position)
            data = self._source.read(size)
        if self._is_followed:
            self.watch.report((position + len(data)) / max(self.size, 1))
        return data


class Reader(NamedTuple):
    """Reader of one format.

    Attributes
    ----------
    name : for a person: "PROFET JSON".
    looks_like : whether the first unpacked bytes of a file (at most 1 MiB) are of this format.
    read : `content.read(max_bytes)` for all of it, `content.open()` to stream; ProfileError if it can't be read.
    """

    name: str
    looks_like: Callable[[bytes], bool]
    read: Callable[[Content], Profile]


class _Unpacked(io.RawIOBase):
    """Unpacked bytes of a content; holds one block at a time."""

    def __init__(self, content: Content) -> None:
        super().__init__()
        self._content = content
        self._start()

    def _start(self) -> None:
        # The place in the source, and in what is unpacked of it.
        self._position = self._produced = 0
        # zlib stops at max_length, so a bomb never unfolds beyond `size`.
        self._inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if self._content.is_packed else None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._produced

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        target = offset + (0, self._produced, self._content.size)[whence]
        if self._inflater is None:
            self._position = self._produced = target
            return target
        if target < self._produced:
            self._start()
        while self._produced < target and self._next(min(target - self._produced, _BLOCK_BYTES)):
            pass
        return self._produced

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self._next(min(len(view), _BLOCK_BYTES))
        view[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        """At most `size` unpacked bytes, none at the end."""
        self._content.check_time()
        data = self._taken(size) if self._inflater is None else self._inflated(self._inflater, size)
        self._produced += len(data)
        if self._produced > MAX_STREAMED_BYTES:
            raise TraceTooLargeError(_too_large(MAX_STREAMED_BYTES))
        return data

    def _taken(self, size: int) -> bytes:
        data = self._content._block(self._position, size)
        self._position += len(data)
        return data

    def _inflated(self, inflater: zlib._Decompress, size: int) -> bytes:
        while not inflater.eof:
            packed = inflater.unconsumed_tail or self._taken(_BLOCK_BYTES)
            try:
                data = inflater.decompress(packed, size)
            except zlib.error:
                raise ProfileError("The compressed file is damaged: compress or download it again.") from None
            if data:
                if unpacks_too_well(self._produced + len(data), self._position):
                    raise ProfileError(RATIO_REFUSAL)
                return data
            if not packed and not inflater.eof:
                raise ProfileError("The compressed file is truncated: compress or download it again.")
        rest = inflater.unused_data
        while rest:
            if rest.strip(b"\x00"):
                raise ProfileError("The compressed file holds more than one file: unpack it and upload one profile.")
            rest = self._taken(_BLOCK_BYTES)
        return b""


def _too_large(max_bytes: int) -> str:
    return f"The file unpacks to more than {max_bytes // 2**20} MB"


MAX_NAME_CHARACTERS = 300
#: Enough to tell a format by; many files may have to be looked at.
SHORT_HEAD_BYTES = 64 * 2**10

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x1


class ArchivedFile(NamedTuple):
    """One file of an archive or a folder."""

    name: str
    open: Callable[[int], Content]


def is_archive(content: Content) -> bool:
    """Return True for a zip archive and for a tar archive, packed with gzip or not."""
    return _is_zip(content) or content.head[257:262] == b"ustar"


def _is_zip(content: Content) -> bool:
    return content.head.startswith(_ZIP_STARTS) and not content.is_packed


def files_in_archive(content: Content) -> list[ArchivedFile]:
    """Every file in a zip or tar archive that is not empty, in its order."""
    with reading_archive():
        return list(_zip_files(content) if _is_zip(content) else _tar_files(content))


def files_in_folder(folder: Path, watch: Watch) -> list[ArchivedFile]:
    """Every file in a folder and the folders in it, by name."""

    def fail(error: OSError) -> None:
        raise ProfileError(f"the folder can't be read: {error.strerror}.") from None

    files = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders.sort()
        for path in (Path(parent, name) for name in sorted(names)):
            # Not a pipe, and nothing that can't be looked at.
            with suppress(OSError):
                if path.is_file() and path.stat().st_size:
                    files.append(_file(path.relative_to(folder).as_posix(), partial(path.open, "rb"), watch))
            _check_number(len(files), "folder")
    return files


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
    import tarfile

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
