"""Locks between programs that change the same file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profet_core.errors import InputError

#: A change takes milliseconds; many programs may wait for each other.
WAIT_S = 60.0


@contextmanager
def only_one(path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Lock `path` between reading and writing; other programs that lock it wait, InputError after `wait_s` seconds.

    The lock ends with its process, however that ends. The empty lock file next to `path` has no meaning if it is left
    behind.
    """
    # Only a change needs it.
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
