"""The queue of files to read: a few are read at once, first come, first served."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from profet_core.errors import BusyError

#: Reading takes a core; half of them stay for the pages.
AT_ONCE = max(1, min(2, (os.cpu_count() or 1) // 2))
#: What waits is held in memory.
MAX_WAITING, MAX_WAITING_BYTES = 100, 512 * 2**20
#: Whoever waits is asked this often whether they still do.
BEAT_S = 0.25

Waiting = Callable[[int], None]


class ReadingQueue:
    """Lets `at_once` threads through at a time, in the order they came."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._changed = threading.Condition()
        self._waiting: list[object] = []
        self._waiting_bytes = 0
        self._reading = 0

    @contextmanager
    def turn(self, size: int, waiting: Waiting | None = None) -> Iterator[None]:
        """Wait for one's turn, and have it until the block ends.

        Parameters
        ----------
        size : bytes that are held while waiting.
        waiting : called with the place in the queue, 1 for the next one, several times a second; it raises to leave.

        Raises
        ------
        BusyError : the queue is full.
        """
        self._wait(size, waiting)
        try:
            yield
        finally:
            with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    def _wait(self, size: int, waiting: Waiting | None) -> None:
        ticket = object()
        with self._changed:
            if len(self._waiting) >= MAX_WAITING or self._waiting_bytes + size > MAX_WAITING_BYTES:
                raise BusyError("Too many files are waiting on this server: try again in a minute.")
            self._waiting.append(ticket)
            self._waiting_bytes += size
        try:
            while place := self._place(ticket):
                if waiting:
                    waiting(place)
        finally:
            with self._changed:
                self._waiting.remove(ticket)
                self._waiting_bytes -= size
                self._changed.notify_all()

    def _place(self, ticket: object) -> int:
        """Place in the queue after a moment, 0 when it is one's turn."""
        with self._changed:
            if not self._is_next(ticket):
                self._changed.wait(BEAT_S)
            if self._is_next(ticket):
                self._reading += 1
                return 0
            return self._waiting.index(ticket) + 1

    def _is_next(self, ticket: object) -> bool:
        return self._reading < self._at_once and self._waiting[0] is ticket


#: The whole server's.
QUEUE = ReadingQueue()
