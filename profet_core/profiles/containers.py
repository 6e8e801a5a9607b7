"""Opens an upload as a stream of unpacked bytes: plain or gzip, under caps on size, ratio and time."""

from __future__ import annotations

import io
import time
import zlib
from collections.abc import Callable
from typing import BinaryIO

from profet_core.errors import ProfileError

#: What a reader sees to tell its format.
HEAD_BYTES = 2**20
#: Cap of formats that are read whole. At 256 MB a parser alone grew a process by half a gigabyte.
MAX_WHOLE_BYTES = 64 * 2**20
#: Cap of formats that are streamed: a PyTorch trace of several steps has hundreds of megabytes.
MAX_STREAMED_BYTES = 2**30
#: Real traces shrink 10 to 30 times; only a bomb shrinks by more than this. Small files may.
MAX_RATIO = 200
MAX_UNCHECKED_RATIO_BYTES = 64 * 2**20
#: Reading one file may take this long.
MAX_SECONDS = 120.0

_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"
_BLOCK_BYTES = 256 * 2**10

Progress = Callable[[float], None]


class Content:
    """The unpacked content of one upload, for readers.

    Attributes
    ----------
    head : the first bytes, at most `HEAD_BYTES` of them; all of a small file.

    Raises
    ------
    ProfileError : here or while reading: empty, a zip archive, a damaged, truncated or twice-compressed gzip file,
        over a cap, or over the time.
    """

    def __init__(self, source: bytes | BinaryIO, progress: Progress | None = None) -> None:
        self._source = io.BytesIO(source) if isinstance(source, bytes) else _seekable(source)
        self._size = self._source.seek(0, io.SEEK_END)
        self._progress = progress
        self._told = 0.0
        self._until = time.monotonic() + MAX_SECONDS
        magic = self._block(0, 4)
        if not magic:
            raise ProfileError("The file is empty: upload the profile of one training step.")
        if magic == _ZIP_MAGIC:
            raise ProfileError("This is a zip archive: unpack it and upload the profile inside.")
        self._packed = magic.startswith(_GZIP_MAGIC)
        if not self._packed and self._size > MAX_STREAMED_BYTES:
            raise ProfileError(_too_large(MAX_STREAMED_BYTES))
        with self.open() as stream:
            self.head = stream.read(HEAD_BYTES)
        if not self.head.strip():
            raise ProfileError("The file is empty: upload the profile of one training step.")
        if self._packed and self.head.startswith(_GZIP_MAGIC):
            raise ProfileError("The file is compressed twice: unpack it once (gunzip) and upload that.")

    def read(self, max_bytes: int = MAX_WHOLE_BYTES, too_large: str | None = None) -> bytes:
        """Everything, for a format that is parsed whole.

        Raises
        ------
        ProfileError : larger than `max_bytes`; `too_large` is its message if given.
        """
        with self.open() as stream:
            data = stream.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise ProfileError(too_large or _too_large(max_bytes))
        return data

    def open(self) -> BinaryIO:
        """A new stream over the unpacked bytes, from the start; its reads raise ProfileError."""
        return io.BufferedReader(_Unpacked(self), _BLOCK_BYTES)

    def check_time(self) -> None:
        """Raise ProfileError if reading has taken too long; streams do it with every block."""
        if time.monotonic() > self._until:
            raise ProfileError(f"Reading took more than {MAX_SECONDS:.0f} s and was stopped: record fewer steps.")

    def _block(self, position: int, size: int) -> bytes:
        """Bytes of the file as it is, packed or not."""
        self.check_time()
        self._source.seek(position)
        data = self._source.read(size)
        # Forwards only, and a hundred times: a reader may open the content more than once.
        share = (position + len(data)) / max(self._size, 1)
        if self._progress and (share >= self._told + 0.01 or share >= 1 > self._told):
            self._told = share
            self._progress(min(share, 1.0))
        return data


class _Unpacked(io.RawIOBase):
    """Unpacked bytes of a content; holds one block at a time."""

    def __init__(self, content: Content) -> None:
        super().__init__()
        self._content = content
        self._position = 0
        self._produced = 0
        # zlib stops at max_length, so a bomb never unfolds beyond what was asked for.
        self._inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if content._packed else None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        size = min(len(buffer), _BLOCK_BYTES)
        data = self._inflated(size) if self._inflater else self._taken(size)
        self._produced += len(data)
        if self._produced > MAX_STREAMED_BYTES:
            raise ProfileError(_too_large(MAX_STREAMED_BYTES))
        buffer[: len(data)] = data
        return len(data)

    def _taken(self, size: int) -> bytes:
        data = self._content._block(self._position, size)
        self._position += len(data)
        return data

    def _inflated(self, size: int) -> bytes:
        inflater = self._inflater
        while not inflater.eof:
            packed = inflater.unconsumed_tail or self._taken(_BLOCK_BYTES)
            try:
                data = inflater.decompress(packed, size)
            except zlib.error:
                raise ProfileError("The gzip file is damaged: compress or download it again.") from None
            if data:
                self._check_ratio(len(data))
                return data
            if not packed and not inflater.eof:
                raise ProfileError("The gzip file is cut short: compress or download it again.")
        self._check_tail()
        return b""

    def _check_ratio(self, more: int) -> None:
        unpacked = self._produced + more
        if unpacked > max(MAX_UNCHECKED_RATIO_BYTES, MAX_RATIO * self._position):
            raise ProfileError(
                f"The gzip file unpacks to more than {MAX_RATIO} times its size, which no profile does: "
                "record the profile again."
            )

    def _check_tail(self) -> None:
        rest = self._inflater.unused_data
        while rest:
            if rest.strip(b"\x00"):
                raise ProfileError("The gzip file holds more than one file: unpack it and upload one profile.")
            rest = self._taken(_BLOCK_BYTES)


def _seekable(source: BinaryIO) -> BinaryIO:
    if source.seekable():
        return source
    data = source.read(MAX_WHOLE_BYTES + 1)
    if len(data) > MAX_WHOLE_BYTES:
        raise ProfileError(f"More than {MAX_WHOLE_BYTES // 2**20} MB came through a pipe: name a file instead.")
    return io.BytesIO(data)


def _too_large(max_bytes: int) -> str:
    return f"The file unpacks to more than {max_bytes // 2**20} MB: upload a profile of one training step only."
