"""One queue in the order of arrival, for files that are read and for pages that are drawn."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from profet_profiles.errors import BusyError

#: Seconds between two calls of `waiting`.
BEAT_S = 0.25


class BoundedQueue:
    """Lets `at_once` threads through at a time, in the order they came.

    Parameters
    ----------
    places, places_bytes : of those that wait; more are refused.
    longest_s : whose turn takes longer no longer keeps others waiting.
    """

    def __init__(
        self, at_once: int = 1, *, places: float = math.inf, places_bytes: float = math.inf, longest_s: float = math.inf
    ) -> None:
        self._at_once, self._longest_s = at_once, longest_s
        self._places, self._places_bytes = places, places_bytes
        self._lock = threading.Lock()
        #: Who waits -> bytes, the first one first; whose turn it is -> until when.
        self._waiting: dict[threading.Event, int] = {}
        self._turns: dict[threading.Event, float] = {}

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @contextmanager
    def turn(self, size: int = 0, waiting: Callable[[int], None] | None = None) -> Iterator[None]:
        """Wait for one's turn, and have it until the block ends.

        Parameters
        ----------
        size : bytes that are held meanwhile.
        waiting : called with the place in the queue, 1 for the next one, several times a second; what it raises leaves
            the queue.

        Raises
        ------
        BusyError : the queue is full.
        """
        called = threading.Event()
        with self._lock:
            if len(self._waiting) >= self._places or sum(self._waiting.values()) + size > self._places_bytes:
                raise BusyError("Too many files are waiting on this server: try again in a minute.")
            self._waiting[called] = size
        try:
            while (left_s := self._left_s(called)) > 0:
                called.wait(left_s if waiting is None else min(left_s, BEAT_S))
                if waiting is not None:
                    waiting(list(self._waiting).index(called) + 1)
            yield
        finally:
            with self._lock:
                self._waiting.pop(called, None)
                self._turns.pop(called, None)
                self._call_the_first()

    def _left_s(self, called: threading.Event) -> float:
        """Begin, and return 0; else seconds to wait unless called: none but the first in the queue has a limit."""
        with self._lock:
            called.clear()
            if next(iter(self._waiting)) is not called:
                return threading.TIMEOUT_MAX
            now_s = time.monotonic()
            under_way = [until_s for until_s in self._turns.values() if until_s > now_s]
            if len(under_way) >= self._at_once:
                return min(min(under_way) - now_s, threading.TIMEOUT_MAX)
            del self._waiting[called]
            self._turns[called] = now_s + self._longest_s
            self._call_the_first()
            return 0.0

    def _call_the_first(self) -> None:
        for first in self._waiting:
            first.set()
            return
