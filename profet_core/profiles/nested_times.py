"""Self times of events that lie inside each other on one thread, and which event another one lies in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profet_core.errors import ProfileError

#: Operations call each other some twenty deep.
MAX_DEPTH = 1_000

_PIECE = 50_000


def in_nesting_order(begins_us: np.ndarray, durations_us: np.ndarray) -> np.ndarray:
    """Indices that put every event behind those it lies in: by start, the longer first, else as given."""
    return np.lexsort((-durations_us, begins_us))


def nest(begins_us: np.ndarray, durations_us: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Self time and parent of events of one thread in nesting order.

    Returns
    -------
    self_us : (events,), duration less what events directly inside take; at least 0.
    parents : (events,), index of the innermost event that an event starts in, -1 if there is none.

    Raises
    ------
    ProfileError : deeper than `MAX_DEPTH`.
    """
    self_us = durations_us.astype(np.float64, copy=True)
    parents = np.full(len(begins_us), -1, dtype=np.int32)
    open_ends: list[float] = []
    open_indices: list[int] = []
    for index, begin, duration in _rows(begins_us, durations_us):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
            open_indices.pop()
        end = begin + duration
        if open_ends:
            parent = open_indices[-1]
            parents[index] = parent
            # A child that outlasts its parent by rounding takes no more than is there.
            self_us[parent] -= min(end, open_ends[-1]) - begin
        if len(open_ends) >= MAX_DEPTH:
            raise ProfileError(
                f"Operations lie inside each other more than {MAX_DEPTH:,} deep: record the trace again."
            )
        open_ends.append(end)
        open_indices.append(index)
    return np.maximum(self_us, 0.0), parents


def covered_us(begins_us: np.ndarray, durations_us: np.ndarray) -> float:
    """Length of the union of intervals."""
    if not len(begins_us):
        return 0.0
    order = np.argsort(begins_us, kind="stable")
    begins_us = begins_us[order]
    ends_us = np.maximum.accumulate(begins_us + durations_us[order])
    gaps_us = np.maximum(begins_us[1:] - ends_us[:-1], 0.0).sum()
    return float(ends_us[-1] - begins_us[0] - gaps_us)


def _rows(begins_us: np.ndarray, durations_us: np.ndarray) -> Iterator[tuple[int, float, float]]:
    """Index, start and duration as Python numbers, a piece at a time: lists of millions take much memory."""
    for first in range(0, len(begins_us), _PIECE):
        begins = begins_us[first : first + _PIECE].tolist()
        durations = durations_us[first : first + _PIECE].tolist()
        yield from zip(range(first, first + len(begins)), begins, durations, strict=True)
