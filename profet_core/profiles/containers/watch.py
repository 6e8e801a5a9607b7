"""Processor time and progress of reading one upload."""

from __future__ import annotations

import time
from collections.abc import Callable

from profet_core.errors import ProfileError

#: Processor time that reading one upload may take. A PyTorch trace of 300 MB takes 8 s.
MAX_SECONDS = 15.0

Progress = Callable[[float], None]


class Watch:
    """Processor time and progress of reading one upload, over all streams that are opened for it."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._reported = 0.0
        # Of this thread: what other sessions of a server do does not count, nor does waiting for a disk.
        self._until = time.thread_time() + MAX_SECONDS

    def check_time(self) -> None:
        """Raise ProfileError if reading has taken too long."""
        if time.thread_time() > self._until:
            raise ProfileError(
                f"Reading took more than {MAX_SECONDS:.0f} s of processor time and was stopped: record fewer steps."
            )

    def report(self, share: float) -> None:
        """Report the share that is read; forwards only, and a hundred times: a reader may open the content twice."""
        if self._progress and (share >= self._reported + 0.01 or share >= 1 > self._reported):
            self._reported = share
            self._progress(min(share, 1.0))
