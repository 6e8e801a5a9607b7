"""One page is drawn at a time: visitors take turns instead of slowing each other down.

Python runs one thread at a time anyway. Threads that draw pages at once hand the interpreter to each other at each of
the hundred messages that a page is made of, which takes longer than drawing, and each is done as late as the last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Who draws for longer no longer keeps others waiting: an ordinary page takes a tenth of it.
LONGEST_TURN_S = 0.5


class Turns:
    """Hands out turns, to whoever has waited longest.

    Parameters
    ----------
    longest_s : after so long the next one begins, whether or not the one before is done.
    """

    def __init__(self, longest_s: float = LONGEST_TURN_S) -> None:
        self._longest_s, self._changed, self._mine = longest_s, threading.Condition(), threading.local()
        self._holder: object = None
        self._until = 0.0

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Wait for one's turn, and keep it for the block; within one's turn, go on."""
        if getattr(self._mine, "turn", None) is not None:
            yield
            return
        self._begin()
        try:
            yield
        finally:
            self._end()
            self._mine.turn = None

    @contextmanager
    def others_first(self) -> Iterator[None]:
        """Within one's turn: let others have theirs while the block waits for something else than the processor."""
        self._end()
        try:
            yield
        finally:
            self._begin()

    def _begin(self) -> None:
        with self._changed:
            while self._holder is not None and (left_s := self._until - time.monotonic()) > 0:
                self._changed.wait(left_s)
            self._holder = self._mine.turn = object()
            self._until = time.monotonic() + self._longest_s

    def _end(self) -> None:
        with self._changed:
            # Another one has begun if it took too long.
            if self._holder is self._mine.turn:
                self._holder = None
                self._changed.notify()


_turns = Turns()
in_turn, others_first = _turns.in_turn, _turns.others_first
