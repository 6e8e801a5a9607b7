"""Files that are written whole or not at all, and changed by one program at a time."""

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
    # Windows, which keeps what a program has open from being removed by another.
    fcntl = None

_SCRATCH_SUFFIX = ".new"
#: A change takes milliseconds; many may wait for each other.
WAIT_S = 60.0


def write_whole(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a file beside `path`, to the disk, and put it in its place; a link stays, what it points to is replaced.

    What a killed program left of an earlier try is removed. A device or a pipe is written to as it is.

    Raises
    ------
    FileExistsError : something is there and `replace` is false.
    OSError, RuntimeError : it can't be written (a loop of links is the latter); what was there is untouched.
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
    """Between reading and writing `path`: another program that asks for the same waits.

    The lock ends with its process, however that ends; the empty file beside `path` that carries it means nothing when
    it is left behind.

    Raises
    ------
    InputError : another program has held it for `wait_s` seconds.
    OSError : nothing can be written beside `path`.
    """
    # The catalog is read wherever someone trains, with the standard library alone; only a change needs this.
    from filelock import FileLock, Timeout

    lock = FileLock(lock_path(path), timeout=wait_s)
    try:
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise InputError(f"Another program is changing {path}: try again when it has finished.") from None
    try:
        yield
    finally:
        # Before the release: who waits sees that the file is gone, and asks anew.
        with suppress(OSError):
            lock_path(path).unlink()
        lock.release()


def lock_path(path: Path) -> Path:
    """The file that carries the lock of `path`."""
    path = path.resolve()
    return path.with_name(f".{path.name}.lock")


def _new_scratch(path: Path) -> tuple[Path, int]:
    """A new file beside `path`, open and locked: one that nobody locks was left behind."""
    while True:
        scratch = path.with_name(f".{path.name}-{secrets.token_hex(4)}{_SCRATCH_SUFFIX}")
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        # A file system without locks keeps what is left behind.
        with suppress(OSError):
            _lock(handle)
        if os.fstat(handle).st_nlink:
            return scratch, handle
        # Another program took it for one left behind before it was locked.
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
    """Lock an open file; OSError where another program has it, or the file system has no locks."""
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
