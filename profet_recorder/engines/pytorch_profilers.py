"""Detect other running torch profilers: two at once end the process."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any


class OtherProfilers:
    """Profilers that the script itself started, from `watch` on."""

    def __init__(self) -> None:
        self._running: weakref.WeakSet[Any] = weakref.WeakSet()
        self._own: Any = None
        self._step_aside: Callable[[], None] | None = None
        self._is_watching = False

    def watch(self, torch: ModuleType) -> None:
        """Note from here on which start and stop."""
        if self._is_watching:
            return
        self._is_watching = True
        kind = torch.profiler.profile
        start, stop = kind.start, kind.stop

        @functools.wraps(start)
        def noted_start(profiler):
            if profiler is not self._own:
                if self._step_aside is not None:
                    self._step_aside()
                self._running.add(profiler)
            return start(profiler)

        @functools.wraps(stop)
        def noted_stop(profiler):
            self._running.discard(profiler)
            return stop(profiler)

        kind.start, kind.stop = noted_start, noted_stop

    def are_on(self, torch: ModuleType) -> bool:
        """True while one of the script's is on, or waits for its steps to come."""
        return bool(self._running) or (self._own is None and torch.autograd.profiler._is_profiler_enabled)

    def begin_own(self, profiler: object, step_aside: Callable[[], None]) -> None:
        """`profiler` is the recorder's; `step_aside()` stops it before one of the script's starts."""
        self._own, self._step_aside = profiler, step_aside

    def end_own(self) -> None:
        """The recorder's is over."""
        self._own = self._step_aside = None


#: One a process, as torch has one profiler a process.
OTHER_PROFILERS = OtherProfilers()
