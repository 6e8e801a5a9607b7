"""How long work reports its progress."""

from __future__ import annotations

from collections.abc import Callable

#: Called with the number of steps done since the last call.
Progress = Callable[[int], object]
