"""Self times of events that lie inside each other on one thread, and which of them is open at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from profet_recorder.errors import ProfileError

FloatArray: TypeAlias = NDArray[np.float64]

#: Operations call each other some twenty deep.
MAX_DEPTH = 1_000

_PIECE = 50_000


def in_nesting_order(begins_us: FloatArray, durations_us: FloatArray) -> np.ndarray:
    """Indices that put every event behind those it lies in: by start, the longer first, else as given."""
    return np.lexsort((-durations_us, begins_us))


def self_times(begins_us: FloatArray, durations_us: FloatArray) -> FloatArray:
    """Self times of events of one thread in nesting order.

    Returns
    -------
    self_us : (events,), duration less what events directly inside take; at least 0.

    Raises
    ------
    ProfileError : deeper than `MAX_DEPTH`.

    >>> self_times(np.array([0.0, 2.0, 3.0]), np.array([10.0, 5.0, 1.0]))
    array([5., 4., 1.])
    """
    self_us = durations_us.astype(np.float64, copy=True)
    open_ends: list[float] = []
    open_indices: list[int] = []
    for index, begin, duration in _rows(begins_us, durations_us):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
            open_indices.pop()
        end = begin + duration
        if open_ends:
            # A child that outlasts its parent by rounding takes no more than is there.
            self_us[open_indices[-1]] -= min(end, open_ends[-1]) - begin
        if len(open_ends) >= MAX_DEPTH:
            raise ProfileError(f"Operations are nested more than {MAX_DEPTH:,} deep: record the trace again.")
        open_ends.append(end)
        open_indices.append(index)
    return np.maximum(self_us, 0.0)


def innermost(begins_us: FloatArray, durations_us: FloatArray, at_us: FloatArray) -> np.ndarray:
    """Index of the innermost event that is open at each of some times, -1 where none is; one pass over both."""
    found = np.full(len(at_us), -1, dtype=np.int32)
    open_ends: list[float] = []
    open_indices: list[int] = []
    rows = _rows(begins_us, durations_us)
    row = next(rows, None)
    for place, at, _ in _rows(at_us, at_us):
        while row is not None and row[1] <= at:
            index, begin, duration = row
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
                open_indices.pop()
            open_ends.append(begin + duration)
            open_indices.append(index)
            row = next(rows, None)
        while open_ends and open_ends[-1] <= at:
            open_ends.pop()
            open_indices.pop()
        if open_indices:
            found[place] = open_indices[-1]
    return found


def gaps_us(begins_us: FloatArray, durations_us: FloatArray) -> FloatArray:
    """Time before each event but the first in which no earlier one is open; events ascend by start."""
    ends_us = np.maximum.accumulate(begins_us + durations_us)
    return np.maximum(begins_us[1:] - ends_us[:-1], 0.0)


def covered_us(begins_us: FloatArray, durations_us: FloatArray) -> float:
    """Length of the union of intervals.

    >>> covered_us(np.array([0.0, 1.0, 10.0]), np.array([2.0, 3.0, 5.0]))
    9.0
    """
    if not len(begins_us):
        return 0.0
    order = np.argsort(begins_us, kind="stable")
    begins_us, durations_us = begins_us[order], durations_us[order]
    last_us = (begins_us + durations_us).max()
    return float(last_us - begins_us[0] - gaps_us(begins_us, durations_us).sum())


def covered_within_us(begins_us: FloatArray, durations_us: FloatArray, windows_us: FloatArray) -> FloatArray:
    """Length of the union of intervals inside each window.

    Parameters
    ----------
    windows_us : (windows, 2), start and end.
    """
    order = np.argsort(begins_us, kind="stable")
    begins, ends = begins_us[order], np.maximum.accumulate((begins_us + durations_us)[order])
    starts = np.maximum(begins, np.concatenate([begins[:1], ends[:-1]]))
    before = np.concatenate([[0.0], np.maximum(ends - starts, 0.0).cumsum()])

    def until(times: FloatArray) -> FloatArray:
        """Covered before each time: what began before it, less what of the union lies behind it."""
        begun = np.searchsorted(starts, times, side="left")
        last_ends = np.where(begun > 0, ends[np.maximum(begun - 1, 0)], -np.inf)
        return before[begun] - np.maximum(last_ends - times, 0.0)

    return until(windows_us[:, 1]) - until(windows_us[:, 0])


def _rows(begins_us: FloatArray, durations_us: FloatArray) -> Iterator[tuple[int, float, float]]:
    """Index, start and duration as Python numbers, a piece at a time: lists of millions take much memory."""
    for first in range(0, len(begins_us), _PIECE):
        begins = begins_us[first : first + _PIECE].tolist()
        durations = durations_us[first : first + _PIECE].tolist()
        yield from zip(range(first, first + len(begins)), begins, durations, strict=True)
