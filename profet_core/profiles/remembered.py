"""Answers about names that are remembered while a file is read, and no longer: a trace's names tell layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

_Answer = TypeVar("_Answer")

_FORGET: list[Callable[[], None]] = []


def remembered(most: int) -> Callable[[Callable[[str], _Answer]], Callable[[str], _Answer]]:
    """Remember up to `most` answers of a function of a name, until `forget_names`."""

    def remember(function: Callable[[str], _Answer]) -> Callable[[str], _Answer]:
        cached = lru_cache(maxsize=most)(function)
        _FORGET.append(cached.cache_clear)
        return cached

    return remember


def forget_names() -> None:
    """Forget all names; whoever reads another file at the same time only finds its answers anew."""
    for forget in _FORGET:
        forget()
