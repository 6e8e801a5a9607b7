"""Atomic, locked file writes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from profet_core.errors import InputError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    # Windows doesn't let other programs remove an open file.
    fcntl = None

_SCRATCH_SUFFIX = ".new"
#: A change takes milliseconds; many programs may wait for each other.
WAIT_S = 60.0


def write_whole(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a temporary file next to `path`, flush it to disk, and move it to `path`; links are followed.

    Files that a killed program left are removed. A device or a pipe is written directly.

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
    _remove_left_behind(path)
    scratch, handle = _new_scratch(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if there:
                scratch.chmod(path.stat().st_mode & 0o777)
            if replace:
                scratch.replace(path)
            else:
                _put_if_free(scratch, path)
    except BaseException:
        with suppress(OSError):
            scratch.unlink()
        raise


@contextmanager
def only_one(path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Lock `path` between reading and writing; other programs that lock it wait.

    The lock ends with its process, however that ends. The empty lock file next to `path` has no meaning if it is left
    behind.

    Raises
    ------
    InputError : another program has held the lock for `wait_s` seconds.
    OSError : the folder of `path` is not writable.
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


def _new_scratch(path: Path) -> tuple[Path, int]:
    """Create a temporary file next to `path`, open and locked; an unlocked one was left behind."""
    while True:
        scratch = path.with_name(f".{path.name}-{secrets.token_hex(4)}{_SCRATCH_SUFFIX}")
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        # A file system without locks keeps files that were left behind.
        with suppress(OSError):
            _lock(handle)
        if os.fstat(handle).st_nlink:
            return scratch, handle
        # Another program removed it as left behind before it was locked.
        os.close(handle)


def _remove_left_behind(path: Path) -> None:
    with suppress(OSError):
        for scratch in path.parent.iterdir():
            if scratch.name.startswith(f".{path.name}-") and scratch.suffix == _SCRATCH_SUFFIX:
                with suppress(OSError):
                    _remove_unlocked(scratch)


def _remove_unlocked(scratch: Path) -> None:
    if fcntl is None:
        scratch.unlink()
        return
    with scratch.open("rb") as file:
        _lock(file.fileno())
        scratch.unlink()


def _lock(handle: int) -> None:
    """Lock an open file; OSError if another program holds the lock, or the file system has no locks."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _put_if_free(scratch: Path, path: Path) -> None:
    try:
        path.hardlink_to(scratch)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links.
        if path.exists():
            raise FileExistsError(path) from None
        scratch.replace(path)
    else:
        scratch.unlink()
