"""Sums of times by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, MutableMapping
from typing import TypeVar

Key = TypeVar("Key")


def no_times() -> defaultdict[str, float]:
    """Sums of nothing yet: every name has 0."""
    return defaultdict(float)


def add_times(sums: MutableMapping[Key, float], more: Mapping[Key, float]) -> None:
    """Add times to sums, name by name."""
    for name, time in more.items():
        sums[name] = sums.get(name, 0.0) + time
