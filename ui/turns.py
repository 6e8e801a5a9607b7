"""One page is drawn at a time: visitors take turns instead of slowing each other down.

Python runs one thread at a time anyway. Threads that draw pages at once hand the interpreter to each other at each of
the hundred messages that a page is made of, which takes longer than drawing, and each is done as late as the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_turn = Lock()


@contextmanager
def in_turn() -> Iterator[None]:
    """Wait for one's turn, and keep it for the block."""
    with _turn:
        yield


@contextmanager
def others_first() -> Iterator[None]:
    """Within one's turn: let others have theirs while the block waits for something else than the processor."""
    _turn.release()
    try:
        yield
    finally:
        _turn.acquire()
