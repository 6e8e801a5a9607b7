"""Times of events that nest or follow each other: self times, covered time, and kernel times that can't be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from profet_profiles.errors import ProfileError

FloatArray: TypeAlias = NDArray[np.float64]

#: Operations call each other some twenty deep.
MAX_DEPTH = 1_000

_PIECE = 50_000


def nesting_order(begins_us: FloatArray, durations_us: FloatArray) -> np.ndarray:
    """Return indices that put every event behind those it lies in: by start, the longer first, else as given."""
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


def innermost_events(begins_us: FloatArray, durations_us: FloatArray, at_us: FloatArray) -> np.ndarray:
    """Index of the innermost event that is open at each of some times, -1 where none is; one pass over both."""
    innermost = np.full(len(at_us), -1, dtype=np.int32)
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
            innermost[place] = open_indices[-1]
    return innermost


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


#: Work that differs by more than this share of the usual one is another step's: kernels take some percent more or less.
_WORK_SHARE = 0.2
#: Kernels that a first step has more than the next one, as libraries try some.
_TRIED_SHARE = 1.05


def usual_work(work_us: FloatArray, kernels: FloatArray | None = None) -> np.ndarray:
    """Return True for each step that did about as much as at least half of them; of as many of both the larger.

    Parameters
    ----------
    work_us : (steps,).
    kernels : (steps,), how many did it; more in the first of two steps are those that a library tried.

    >>> usual_work(np.array([90.0, 91.0, 11.0])), usual_work(np.array([10.0, 20.0, 40.0]))
    (array([ True,  True, False]), array([ True,  True,  True]))
    """
    typical = np.sort(work_us)[len(work_us) // 2]
    if kernels is not None and len(work_us) == 2 and kernels[0] > _TRIED_SHARE * kernels[1]:
        typical = work_us[1]
    alike: np.ndarray = np.abs(work_us - typical) <= _WORK_SHARE * typical
    return alike if 2 * alike.sum() >= len(work_us) else np.ones(len(work_us), bool)


def _rows(begins_us: FloatArray, durations_us: FloatArray) -> Iterator[tuple[int, float, float]]:
    """Index, start and duration as Python numbers, a piece at a time: lists of millions take much memory."""
    for first in range(0, len(begins_us), _PIECE):
        begins = begins_us[first : first + _PIECE].tolist()
        durations = durations_us[first : first + _PIECE].tolist()
        yield from zip(range(first, first + len(begins)), begins, durations, strict=True)


# --- lost and impossible times of kernels -----------------------------------------------------------------------------

#: A trace is refused if more than this share of its kernels, or of their time, is estimated.
MAX_ESTIMATED_SHARE = 0.2
#: A duration is doubted only from this multiple of the median of its like on; kernels of one name work on layers of
#: many sizes.
_OUTLIER_RATIO = 20.0
#: Kernels that follow each other overlap by less than this, as times are rounded.
_ROUNDING_US = 10.0
#: A duration of 0 is lost if kernels of its name take longer than this; old traces count whole microseconds.
_ZERO_IS_LOST_US = 10.0
#: A stream whose kernels take together more than this multiple of the time in which any runs has no sound times.
_MAX_STREAM_LOAD = 2.0
#: Starts of exactly 0 are lost if there are more of them, or if the trace ran this long after it; starts this far from
#: most are lost too.
_MAX_AT_ZERO, _LATE_US, _MAX_TRACE_US = 2, 1e6, 3.6e9
#: Kernels and copies that run beside each other for less than this share of the time are taken to run one after the
#: other.
OVERLAP_SHARE = 0.01
#: Hidden copies of less than this share of the kernels' time change nothing.
_HIDDEN_SHARE = 0.02
#: A copy beside kernels that runs alone for less than this share of its time does so in the gaps between them.
_GAPS_SHARE = 0.05


class KernelTimes(NamedTuple):
    """Times of one GPU's kernels and copies, each (kernels,); `estimated` is True where the duration was replaced."""

    begins_us: FloatArray
    durations_us: FloatArray
    estimated: np.ndarray

    @property
    def estimated_share(self) -> float | None:
        """Part of the kernels or of their time that is estimated, whichever is more, 0 to 1; None if none is."""
        if not self.estimated.any():
            return None
        total_us = float(self.durations_us.sum())
        of_time = float(self.durations_us[self.estimated].sum()) / total_us if total_us else 1.0
        return round(max(float(self.estimated.mean()), of_time), 4)

    @property
    def refusal(self) -> str:
        """Say why nothing may be predicted from these times; empty if something may."""
        share = self.estimated_share
        if share is None or share <= MAX_ESTIMATED_SHARE:
            return ""
        return (
            f"The times of {self.estimated.sum():,} kernels ({share:.0%} of the GPU's work) are missing or impossible "
            "in this trace: record the step again."
        )


def repair_times(
    begins_us: FloatArray,
    durations_us: FloatArray,
    names: np.ndarray,
    streams: np.ndarray,
    launch_order: np.ndarray,
    marked_us: FloatArray,
) -> KernelTimes:
    """Replace lost and impossible durations by the median of the kernels of the same name.

    A duration can't be if the kernels that follow on its stream run within it, or if it is longer than any step and
    than all else together.

    Parameters
    ----------
    begins_us, durations_us : (kernels,), NaN where the trace has none.
    names, streams : (kernels,), numbers of the kernel's name and of its stream.
    launch_order : (kernels,), ascending as the kernels were started.
    marked_us : (steps,), lengths of the marked steps; empty if none is marked.
    """
    begins, durations = begins_us.copy(), durations_us.copy()
    middle_us = float(np.nanmedian(begins)) if np.isfinite(begins).any() else 0.0
    at_zero = begins == 0
    zeros_are_lost = middle_us > _LATE_US or at_zero.sum() > _MAX_AT_ZERO
    begins[(np.abs(begins - middle_us) > _MAX_TRACE_US) | (at_zero & zeros_are_lost)] = np.nan
    lost = ~np.isfinite(durations)
    if lost.all():
        return KernelTimes(np.nan_to_num(begins), np.zeros(len(begins)), lost)
    if (durations == 0).any():
        lost |= (durations == 0) & (_median_of_like(durations, names, ~lost) > _ZERO_IS_LOST_US)
    overlaps_us = _overlaps_followers(begins, durations, streams)
    lost |= (overlaps_us > durations / 2) & (durations > 10 * _ROUNDING_US)
    for _ in range(2):
        # Again, since what is impossible may have been most of a name.
        # But of a kernel that is the only one of its name.
        alike = np.bincount(names[~lost], minlength=int(names.max()) + 1)[names]
        others = np.where(alike > 1, _median_of_like(durations, names, ~lost), np.nan)
        doubted = ~lost & ~(durations <= _OUTLIER_RATIO * others)
        if not doubted.any():
            break
        # Where no step is marked, only kernels of the same name tell.
        comparable = doubted if len(marked_us) else doubted & np.isfinite(others)
        lost |= (doubted & np.isfinite(others) & (overlaps_us > _ROUNDING_US)) | _dominates(
            np.where(lost, 0.0, durations), comparable, marked_us
        )
    if lost.any() or np.isnan(begins).any():
        if lost.any():
            sound = ~lost
            typical = _median_of_like(durations, names, sound)
            fallback = float(np.median(durations[sound])) if sound.any() else 0.0
            durations[lost] = np.where(np.isnan(typical[lost]), fallback, typical[lost])
        _place(begins, durations, streams, launch_order, lost)
    if overlaps_us.any():
        loaded_us = sum(covered_us(begins[rows], durations[rows]) for rows in _by_stream(streams, begins))
        if durations.sum() > _MAX_STREAM_LOAD * loaded_us:
            lost = np.ones(len(begins), bool)
    return KernelTimes(begins, durations, lost)


def _median_of_like(durations: FloatArray, names: np.ndarray, sound: np.ndarray) -> FloatArray:
    """Lower median of the sound kernels of each kernel's name, NaN where there is none."""
    rows = np.flatnonzero(sound)
    rows = rows[np.lexsort((durations[rows], names[rows]))]
    first, end = (np.searchsorted(names[rows], names, side) for side in ("left", "right"))
    medians = durations[rows[np.minimum((first + end - 1) // 2, len(rows) - 1)]] if len(rows) else np.zeros(len(names))
    return np.where(end > first, medians, np.nan)


def _overlaps_followers(begins: FloatArray, durations: FloatArray, streams: np.ndarray) -> FloatArray:
    """Measure how long later kernels of its stream run within each kernel: a stream runs one after the other."""
    overlaps_us = np.zeros(len(begins))
    ends = begins + durations
    timed = np.flatnonzero(np.isfinite(ends))
    for rows in (timed[rows] for rows in _by_stream(streams[timed], begins[timed])):
        last = np.searchsorted(begins[rows], ends[rows], side="left")
        before_us = np.concatenate([[0.0], durations[rows].cumsum()])
        followers_us = before_us[np.maximum(last, np.arange(len(rows)) + 1)] - before_us[1:]
        after_first_us = ends[rows] - np.append(begins[rows][1:], np.inf)
        overlaps_us[rows] = np.minimum(followers_us, after_first_us)
    return overlaps_us


def _dominates(durations: FloatArray, doubted: np.ndarray, marked_us: FloatArray) -> np.ndarray:
    """Return True for a doubted kernel that takes longer than any step, and than twice all others of a step."""
    dominates = np.zeros(len(durations), bool)
    others_us = float(np.nansum(durations))
    for row in sorted(np.flatnonzero(doubted).tolist(), key=lambda row: -durations[row]):
        others_us -= float(durations[row])
        if durations[row] <= max(float(marked_us.max(initial=0.0)), 2 * others_us / max(len(marked_us), 1)):
            break
        dominates[row] = True
    # One kernel alone is all there is.
    return dominates if others_us > 0 else np.zeros(len(durations), bool)


def _by_stream(streams: np.ndarray, order: np.ndarray) -> list[np.ndarray]:
    """Rows of each stream, ascending by `order`."""
    rows = np.lexsort((order, streams))
    return np.split(rows, np.flatnonzero(np.diff(streams[rows])) + 1)


def _place(begins: FloatArray, durations: FloatArray, streams: np.ndarray, order: np.ndarray, lost: np.ndarray) -> None:
    """Start what has no start behind the kernel before it, and end what is estimated before the next one starts."""
    for rows in _by_stream(streams, order):
        next_begins = np.where(np.isnan(begins[rows]), np.inf, begins[rows])
        next_begins = np.minimum.accumulate(np.append(next_begins, np.inf)[::-1])[::-1][1:]
        for at in np.flatnonzero(lost[rows] | np.isnan(begins[rows])).tolist():
            row, next_us = rows[at], next_begins[at]
            if np.isnan(begins[row]):
                before = rows[at - 1]
                begins[row] = begins[before] + durations[before] if at else next_us - durations[row]
            if lost[row] and next_us > begins[row]:
                durations[row] = min(durations[row], next_us - begins[row])
    begins[~np.isfinite(begins)] = np.min(begins, where=np.isfinite(begins), initial=np.inf)
    begins[~np.isfinite(begins)] = 0.0


def without_hidden_copies(
    begins_us: FloatArray, durations_us: FloatArray, is_copy: np.ndarray, streams: np.ndarray
) -> FloatArray:
    """Durations less what copies take while kernels run: on another stream than most kernels they keep nothing up.

    All arguments are (kernels,), of one GPU.
    """
    if not (~is_copy).any():
        return durations_us
    busiest = np.bincount(streams[~is_copy], durations_us[~is_copy]).argmax()
    copies = is_copy & (streams != busiest)
    copied_us = covered_us(begins_us[copies], durations_us[copies])
    without_us = covered_us(begins_us[~copies], durations_us[~copies])
    exposed_us = covered_us(begins_us, durations_us) - without_us
    if copied_us - exposed_us <= max(OVERLAP_SHARE * copied_us, _HIDDEN_SHARE * without_us):
        return durations_us
    # Alone for as long as the next kernel takes to start.
    exposed_share = exposed_us / copied_us if exposed_us > _GAPS_SHARE * copied_us else 0.0
    return np.where(copies, durations_us * exposed_share, durations_us)
