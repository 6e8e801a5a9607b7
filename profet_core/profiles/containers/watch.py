"""Processor time and progress of reading one upload."""

from __future__ import annotations

import time
from collections.abc import Callable

from profet_core.errors import ProfileError
from profet_core.profiles.limits import MAX_SECONDS, MAX_SMALL_SECONDS, SMALL_BYTES

Progress = Callable[[float], None]


class Watch:
    """Processor time and progress of reading one upload, over all streams that are opened for it."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._reported = 0.0
        # Of this thread: what other sessions of a server do does not count, nor does waiting for a disk.
        self._begun = time.thread_time()
        self._seconds = MAX_SECONDS

    def shorten(self, uploaded_bytes: int) -> None:
        """Allow a small upload less time."""
        if uploaded_bytes <= SMALL_BYTES:
            self._seconds = min(MAX_SMALL_SECONDS, MAX_SECONDS)

    def check_time(self) -> None:
        """Raise ProfileError if reading has taken too long."""
        if time.thread_time() > self._begun + self._seconds:
            raise ProfileError(
                f"Reading took more than {self._seconds:.0f} s of processor time and was stopped: record fewer steps."
            )

    def report(self, share: float) -> None:
        """Report the share that is read; forwards only, and a hundred times: a reader may open the content twice."""
        if self._progress and (share >= self._reported + 0.01 or share >= 1 > self._reported):
            self._reported = share
            self._progress(min(share, 1.0))
