"""Sums the events of one line of an xplane: a thread of the host or a stream of a GPU."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection
from typing import Any, TypeAlias

from profet_core.errors import ProfileError
from profet_core.profiles.limits import MAX_KEPT_EVENTS, MAX_OPERATION_US, MAX_STEPS, check_operations
from profet_core.profiles.record import UNKNOWN
from profet_core.profiles.tensorflow.gpu_work import MAX_PAIRS, NO_SPAN, STRAY_COPY_US, widest
from profet_core.profiles.tensorflow.operation_names import (
    MAX_NAME_CHARACTERS,
    STEPS_LINE,
    is_derived_line,
    kernel_operation,
)
from profet_core.profiles.tensorflow.xplane.planes import Plane

MAX_BATCH_SIZE = 100_000
#: XProf tells derived lines by their number, of which it looks at 32 bits; 390 are taken, 500 are not.
_FIRST_DERIVED_ID, _DERIVED_IDS = 0xDEADBEEF, 400
_PS_PER_US = 10**6
_MAX_PS = int(MAX_OPERATION_US * _PS_PER_US)


class HostLine:
    """A thread: total time by operation type, picoseconds; what it was idle; the steps it marks, their batch size.

    `runs` counts the operations that tell the number of steps, by id.
    """

    def __init__(self, plane: Plane) -> None:
        self._types, self._graph_operations = plane.types, plane.graph_operations
        self._is_derived = False
        self._step_num = plane.stats.get("step_num")
        self._batch_size = plane.stats.get("batch_size")
        self.batch_sizes: set[int] = set()
        self._steps: dict[int, set[int]] = {}
        # Whether events of a kind mark steps: the first of the kind tells.
        self._marks: dict[int, bool] = {}
        self._begins_ps, self._durations_ps = array("q"), array("q")
        self.total_ps: Counter[str] = Counter()
        self.runs: Counter[int] = Counter()

    @property
    def steps(self) -> int:
        """Number of steps; of several kinds of markers that of the most frequent one."""
        return max((len(numbers) for numbers in self._steps.values()), default=0)

    def add(self, part: Any) -> None:
        """Add a part of the line's events."""
        self._is_derived |= _has_derived_id(part)
        if self._is_derived:
            return
        import numpy as np  # late, as in `messages`

        # All events of a part at once: a trace has millions, of a few hundred kinds.
        kinds, which, counts = np.unique(
            np.array([event.metadata_id for event in part.events], np.int64), return_inverse=True, return_counts=True
        )
        known = np.array([kind in self._types for kind in kinds.tolist()], bool)[which]
        durations_ps = np.array([event.duration_ps for event in part.events], np.int64)
        begins_ps = np.array([event.offset_ps for event in part.events], np.int64)
        for times_ps in (begins_ps[known], durations_ps[known]):
            _check_times(times_ps)
        # Exact up to 2^53 ps, two and a half hours; beyond, without overflow.
        sums_ps = np.bincount(which, weights=durations_ps, minlength=len(kinds))
        for kind, total_ps, count in zip(kinds.tolist(), sums_ps.tolist(), counts.tolist(), strict=True):
            if kind in self._types:
                self.total_ps[self._types[kind]] += int(total_ps)
            if kind in self._graph_operations:
                self.runs[kind] += count
        self._begins_ps.frombytes(begins_ps[known].tobytes())
        self._durations_ps.frombytes(durations_ps[known].tobytes())
        if self._step_num is not None:
            for row in np.flatnonzero(~known).tolist():
                event = part.events[row]
                if self._marks.get(event.metadata_id, True):
                    self._note_step(event)
        check_operations(len(self.total_ps))
        if len(self._begins_ps) > MAX_KEPT_EVENTS:
            raise ProfileError(
                f"The trace has more than {MAX_KEPT_EVENTS:,} operations on one thread: record fewer steps."
            )

    def idle_ps(self) -> int:
        """What the operations leave of the time from the first one's start to the last one's end."""
        import numpy as np  # late, as in `messages`

        begins_ps = np.frombuffer(self._begins_ps, dtype=np.int64)
        order = np.argsort(begins_ps, kind="stable")
        begins_ps = begins_ps[order]
        ends_ps = np.maximum.accumulate(begins_ps + np.frombuffer(self._durations_ps, dtype=np.int64)[order])
        return int(np.maximum(begins_ps[1:] - ends_ps[:-1], 0).sum())

    def _note_step(self, event: Any) -> None:
        stats: dict[int | None, int] = {stat.metadata_id: stat.int64_value for stat in event.stats}
        number = stats.get(self._step_num)
        if len(self._marks) < MAX_STEPS:
            self._marks.setdefault(event.metadata_id, number is not None)
        if number is not None:
            numbers = self._steps.setdefault(event.metadata_id, set())
            numbers.add(number)
            if len(numbers) + len(self._steps) > MAX_STEPS:
                raise ProfileError(f"The trace has more than {MAX_STEPS:,} steps: record fewer.")
            if 0 < (batch_size := stats.get(self._batch_size, 0)) <= MAX_BATCH_SIZE:
                self.batch_sizes.add(batch_size)


#: Kernel (id of its metadata), the type of the operation it names (None: none), and a number of that operation.
Pair: TypeAlias = tuple[int, str | None, int]


class DeviceLine:
    """A stream: total time by kernel and operation, picoseconds, and the span of all its events.

    `long_span_ps` leaves out events that are shorter than `STRAY_COPY_US`.
    """

    def __init__(self, plane: Plane) -> None:
        self._references = plane.references
        self._labels = plane.labels
        self._is_steps = False
        self.events = 0
        self.is_derived = False
        self.sums_ps: Counter[Pair] = Counter()
        self.span_ps = self.long_span_ps = NO_SPAN

    @property
    def steps(self) -> int:
        """Number of steps, if this is the line that marks them."""
        return self.events if self._is_steps else 0

    def add(self, part: Any) -> None:
        """Add a part of the line's events."""
        name = part.name.decode("utf-8", "replace")
        self.is_derived |= is_derived_line(name) or _has_derived_id(part)
        self._is_steps |= name == STEPS_LINE
        self.events += len(part.events)
        if self.is_derived or not part.events:
            return
        import numpy as np  # late, as in `messages`

        # XProf takes offsets as they are: all lines of a plane start at the same time.
        begins_ps = np.array([event.offset_ps for event in part.events], np.int64)
        durations_ps = np.array([event.duration_ps for event in part.events], np.int64)
        _check_times(durations_ps)
        _check_times(begins_ps)
        ends_ps = begins_ps + durations_ps
        self.span_ps = widest(self.span_ps, (int(begins_ps.min()), int(ends_ps.max())))
        if (long := durations_ps >= STRAY_COPY_US * _PS_PER_US).any():
            self.long_span_ps = widest(self.long_span_ps, (int(begins_ps[long].min()), int(ends_ps[long].max())))
        sums_ps = self.sums_ps
        for event, duration_ps in zip(part.events, durations_ps.tolist(), strict=True):
            sums_ps[event.metadata_id, *self._operation(event)] += duration_ps
        check_pairs(sums_ps)

    def _operation(self, event: Any) -> tuple[str | None, int]:
        """What the event's labels name: the first in their order that names a type, else "Unknown" if there is one.

        Beside the type a number that the events of one convolution share, 0 for others.
        """
        found, found_rank, label = None, math.inf, 0
        for stat in event.stats:
            rank = self._labels.get(stat.metadata_id)
            if rank is not None and (rank < found_rank or found == UNKNOWN):
                kind = self._kind(stat)
                if kind is not None and (found is None or kind != UNKNOWN):
                    found, found_rank = kind, rank
                    label = stat.ref_value or hash(stat.str_value)
        return found, label if found is not None and "Conv" in found else 0

    def _kind(self, stat: Any) -> str | None:
        if stat.ref_value:
            return self._references.get(stat.ref_value, UNKNOWN)
        if stat.str_value:
            return kernel_operation(stat.str_value[:MAX_NAME_CHARACTERS].decode("utf-8", "replace"))
        return None


def _has_derived_id(part: Any) -> bool:
    return (part.id & 0xFFFFFFFF) - _FIRST_DERIVED_ID in range(_DERIVED_IDS)


def check_pairs(sums_ps: Collection[Pair]) -> None:
    """Refuse more kernels and operations than one GPU runs."""
    if len(sums_ps) > MAX_PAIRS:
        raise ProfileError(
            f"The trace has more than {MAX_PAIRS:,} different kernels of operations: record fewer steps."
        )


def _check_times(times_ps: Collection[int]) -> None:
    if len(times_ps) and not 0 <= min(times_ps) <= max(times_ps) <= _MAX_PS:
        raise ProfileError("The trace has implausible times: record it again.")
