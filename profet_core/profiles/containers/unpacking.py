"""Opens an upload as a stream of unpacked bytes: plain or gzip, under caps on size, ratio and processor time."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, BinaryIO, Protocol

from profet_core.errors import ProfileError
from profet_core.profiles.containers.watch import Watch
from profet_core.profiles.limits import MAX_RATIO, MAX_STREAMED_BYTES, MAX_UNCHECKED_RATIO_BYTES, MAX_WHOLE_BYTES

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: What a reader sees to tell its format.
HEAD_BYTES = 2**20
RATIO_REFUSAL = (
    f"The compressed file unpacks to more than {MAX_RATIO} times its size, which is too much for a profile: record the "
    "profile again."
)
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK_BYTES = 256 * 2**10


def unpacks_too_well(unpacked_bytes: int, packed_bytes: int) -> bool:
    """True for a bomb."""
    return unpacked_bytes > max(MAX_UNCHECKED_RATIO_BYTES, MAX_RATIO * packed_bytes)


class Source(Protocol):
    """Where bytes come from: a binary file, or what behaves as one."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, all that are left if it is negative."""

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a place; where that is, from the start."""

    def seekable(self) -> bool:
        """False for a pipe."""

    def close(self) -> None:
        """No more is read."""


class Content:
    """The unpacked content of one upload, or of one file in an archive, for readers.

    Parameters
    ----------
    source : the bytes, or a binary file.
    watch : that of the upload; progress is reported to it from `follow` on.
    head_bytes : length of `head`, at most.

    Attributes
    ----------
    head : the first bytes, at most `head_bytes` of them; all of a small file.
    size : bytes of the source, packed as they are.

    Raises
    ------
    ProfileError : here or while reading: empty, a damaged, truncated or twice-compressed gzip file, over a cap, or over
        the time.
    """

    def __init__(self, source: bytes | Source, *, watch: Watch | None = None, head_bytes: int = HEAD_BYTES) -> None:
        self._source: Source = io.BytesIO(source) if isinstance(source, bytes) else _seekable(source)
        self.size = self._source.seek(0, io.SEEK_END)
        self.watch = watch or Watch()
        self._is_followed = False
        start = self._block(0, 4)
        if not start:
            raise _empty()
        #: The bytes that are read are not those of the source.
        self.is_packed = start.startswith(_GZIP_MAGIC)
        if not self.is_packed and self.size > MAX_STREAMED_BYTES:
            raise ProfileError(_too_large(MAX_STREAMED_BYTES))
        with self.open() as stream:
            self.head = stream.read(head_bytes)
        if not self.head.strip():
            raise _empty()
        if self.is_packed and self.head.startswith(_GZIP_MAGIC):
            raise ProfileError("The file is compressed twice: unpack it once (gunzip) and upload that.")

    def follow(self) -> None:
        """Report the progress from now on."""
        self._is_followed = True

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

    def open(self, start: int = 0) -> BinaryIO:
        """A new stream over the unpacked bytes, from `start`; its reads raise ProfileError."""
        return io.BufferedReader(_Unpacked(self, start), _BLOCK_BYTES)

    def close(self) -> None:
        """Close the source, for who opened it."""
        self._source.close()

    def check_time(self) -> None:
        """Raise ProfileError if reading has taken too long; streams do it with every block, long loops have to."""
        self.watch.check_time()

    def _block(self, position: int, size: int) -> bytes:
        """Bytes of the source as it is, packed or not."""
        self._source.seek(position)
        data = self._source.read(size)
        if self._is_followed:
            self.watch.report((position + len(data)) / max(self.size, 1))
        return data


class _Unpacked(io.RawIOBase):
    """Unpacked bytes of a content; holds one block at a time."""

    def __init__(self, content: Content, start: int) -> None:
        super().__init__()
        self._content = content
        self._position = 0
        self._produced = 0
        # zlib stops at max_length, so a bomb never unfolds beyond `size`.
        self._inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if content.is_packed else None
        if self._inflater is None:
            self._position = start
        else:
            while start > 0 and (passed := len(self._next(min(start, _BLOCK_BYTES)))):
                start -= passed

    def readable(self) -> bool:
        return True

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
            raise ProfileError(_too_large(MAX_STREAMED_BYTES))
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
        self._check_tail(inflater.unused_data)
        return b""

    def _check_tail(self, rest: bytes) -> None:
        while rest:
            if rest.strip(b"\x00"):
                raise ProfileError("The compressed file holds more than one file: unpack it and upload one profile.")
            rest = self._taken(_BLOCK_BYTES)


def _seekable(source: Source) -> Source:
    if source.seekable():
        return source
    data = source.read(MAX_WHOLE_BYTES + 1)
    if len(data) > MAX_WHOLE_BYTES:
        raise ProfileError(f"More than {MAX_WHOLE_BYTES // 2**20} MB came through a pipe: use a file instead.")
    return io.BytesIO(data)


def _empty() -> ProfileError:
    return ProfileError("The file is empty: upload the profile of one training step.")


def _too_large(max_bytes: int) -> str:
    return f"The file unpacks to more than {max_bytes // 2**20} MB: upload a profile of one training step only."
