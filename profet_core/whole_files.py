"""Atomic, locked file writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from profet_core.errors import InputError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    # Windows doesn't let other programs remove an open file.
    fcntl = None

#: A change takes milliseconds; many programs may wait for each other.
WAIT_S = 60.0


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
        try:
            file.truncate(0)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if there:
                scratch.chmod(path.stat().st_mode & 0o777)
            if not replace and path.exists():
                raise FileExistsError(path)
            scratch.replace(path)
        except BaseException:
            with suppress(OSError):
                scratch.unlink()
            raise


@contextmanager
def only_one(path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Lock `path` between reading and writing; other programs that lock it wait, InputError after `wait_s` seconds.

    The lock ends with its process, however that ends. The empty lock file next to `path` has no meaning if it is left
    behind.
    """
    # Training environments read the catalog with the standard library alone; only a change needs this import.
    from filelock import FileLock, Timeout

    lock = FileLock(lock_path(path), timeout=wait_s)
    try:
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise InputError(f"Another program is changing {path}: try again when it has finished.") from None
    try:
        yield
    finally:
        # Before the release: waiting programs see that the file is gone, and retry.
        with suppress(OSError):
            lock_path(path).unlink()
        lock.release()


def lock_path(path: Path) -> Path:
    """Lock file of `path`."""
    path = path.resolve()
    return path.with_name(f".{path.name}.lock")


def _locked(scratch: Path) -> BinaryIO:
    """Open a file for one program at a time, where the file system has locks."""
    while True:
        file = scratch.open("ab")
        with suppress(OSError):
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(scratch.stat(), os.fstat(file.fileno())):
                return file
        # The program that held the lock has moved its file into place.
        file.close()
