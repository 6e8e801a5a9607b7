"""Atomic file writes, and reads that never wait for another program."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from profet_profiles.errors import ProfetError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    # Windows doesn't let other programs remove an open file.
    fcntl = None


def open_to_read(path: Path) -> BinaryIO:
    """Open a file, or a pipe that something writes to, as `<(command)` and `/dev/stdin` are.

    OSError: it can't be read; opening a named pipe would wait for a writer.
    """
    if path.is_fifo() and path.resolve().exists():
        raise OSError(errno.EINVAL, "it is a named pipe, give a file", str(path))
    return path.open("rb")


def read_signed(path: Path, sha256: str) -> str:
    """Return the text of a table that ships with a package; carriage returns are no part of what is signed.

    ProfetError: it can't be read, is damaged or was changed.
    """
    import hashlib

    data = b""
    with suppress(OSError):
        data = path.read_bytes().replace(b"\r\n", b"\n")
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ProfetError(f"{path.name} is damaged or was changed: install the program again.")
    return data.decode()


def write_whole(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a temporary file next to `path`, flush it to disk, and move it to `path`; links are followed.

    What a killed program left is overwritten. A device or a pipe is written directly.

    Raises
    ------
    FileExistsError : `path` exists and `replace` is false.
    OSError, RuntimeError : it can't be written (RuntimeError: a loop of links); existing content is unchanged.
    """
    path = path.resolve()
    there = path.exists()
    if there and not path.is_file():
        path.write_bytes(data)
        return
    scratch = path.with_name(f".{path.name}.new")
    with _locked(scratch) as file:
        file.truncate(0)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        if there:
            scratch.chmod(path.stat().st_mode & 0o777)
        if not replace and path.exists():
            raise FileExistsError(path)
        scratch.replace(path)


@contextmanager
def _locked(scratch: Path) -> Iterator[BinaryIO]:
    """Open a file for one program at a time, where the file system has locks; an error or an interrupt removes it."""
    while True:
        with scratch.open("ab") as file:
            is_locked = is_there = False
            try:
                with suppress(OSError):
                    if fcntl is not None:
                        fcntl.flock(file, fcntl.LOCK_EX)
                is_locked = True
                with suppress(FileNotFoundError):
                    is_there = os.path.samestat(scratch.stat(), os.fstat(file.fileno()))
                if is_there:
                    yield file
                    return
            except BaseException:
                # Until it is locked, another program may write it.
                if is_locked:
                    with suppress(OSError):
                        scratch.unlink()
                raise
        # The program that held the lock has moved its file into place.
