"""Sums the events of one line of an xplane: a thread of the host or a stream of a GPU."""

from __future__ import annotations

import math
from array import array
from collections import Counter

from profet_core.errors import ProfileError
from profet_core.profiles.limits import MAX_KEPT_EVENTS, MAX_OPERATION_US, MAX_STEPS, check_operations
from profet_core.profiles.record import UNKNOWN
from profet_core.profiles.tensorflow.derived_lines import STEPS_LINE, is_derived_line
from profet_core.profiles.tensorflow.gpu_work import MAX_KERNELS, MAX_TRIED, NO_SPAN, STRAY_COPY_US, Span, widest
from profet_core.profiles.tensorflow.operation_names import MAX_NAME_CHARACTERS, kernel_operation
from profet_core.profiles.tensorflow.xplane.planes import Plane
from profet_core.profiles.tensorflow.xplane.schema import Event, Line, Stat

MAX_BATCH_SIZE = 100_000
#: XProf tells derived lines by their number, of which it looks at 32 bits; 390 are taken, 500 are not.
_FIRST_DERIVED_ID, _DERIVED_IDS = 0xDEADBEEF, 400
_STRAY_COPY_PS = int(STRAY_COPY_US * 1e6)
_MAX_PS = int(MAX_OPERATION_US * 1e6)


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

    def add(self, part: Line) -> None:
        """Add a part of the line's events."""
        self._is_derived |= _has_derived_id(part)
        if self._is_derived:
            return
        types = self._types
        for event in part.events:
            kind = types.get(event.metadata_id)
            if kind is not None:
                self.total_ps[kind] += event.duration_ps
                if event.metadata_id in self._graph_operations:
                    self.runs[event.metadata_id] += 1
                self._begins_ps.append(event.offset_ps)
                self._durations_ps.append(event.duration_ps)
            elif self._step_num is not None and self._marks.get(event.metadata_id, True):
                self._note_step(event)
        check_operations(len(self.total_ps))
        _check_times(self._durations_ps)
        _check_times(self._begins_ps)
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

    def _note_step(self, event: Event) -> None:
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


class DeviceLine:
    """A stream: total time by operation type and by kernel, picoseconds, and the span of all its events.

    `unnamed_ps` is the time of kernels that name no operation, by id as `kernels_ps`; `convolutions_ps` is that of
    kernels that name a convolution, by the operation's label and the kernel's id. `long_span_ps` leaves out events that
    are shorter than `STRAY_COPY_US`.
    """

    def __init__(self, plane: Plane) -> None:
        self._references = plane.references
        self._labels = plane.labels
        self._is_steps = False
        self.events = 0
        self.is_derived = False
        self.total_ps: Counter[str] = Counter()
        self.kernels_ps: Counter[int] = Counter()
        self.unnamed_ps: Counter[int] = Counter()
        self.convolutions_ps: Counter[tuple[int, int]] = Counter()
        self.span_ps = self.long_span_ps = NO_SPAN

    @property
    def steps(self) -> int:
        """Number of steps, if this is the line that marks them."""
        return self.events if self._is_steps else 0

    def add(self, part: Line) -> None:
        """Add a part of the line's events."""
        name = part.name.decode("utf-8", "replace")
        self.is_derived |= is_derived_line(name) or _has_derived_id(part)
        self._is_steps |= name == STEPS_LINE
        self.events += len(part.events)
        if self.is_derived or not part.events:
            return
        # XProf takes offsets as they are: all lines of a plane start at the same time.
        offsets_ps = array("q", [event.offset_ps for event in part.events])
        durations_ps = array("q", [event.duration_ps for event in part.events])
        _check_times(durations_ps)
        _check_times(offsets_ps)
        spans = list(zip(offsets_ps, map(int.__add__, offsets_ps, durations_ps), strict=True))
        long = [each for each in spans if each[1] - each[0] >= _STRAY_COPY_PS]
        self.span_ps = widest(self.span_ps, _span(spans))
        self.long_span_ps = widest(self.long_span_ps, _span(long))
        for event, duration_ps in zip(part.events, durations_ps, strict=True):
            kernel = event.metadata_id
            self.kernels_ps[kernel] += duration_ps
            kind, label = self._operation(event)
            if kind is None:
                self.unnamed_ps[kernel] += duration_ps
                continue
            self.total_ps[kind] += duration_ps
            if "Conv" in kind and len(self.convolutions_ps) < MAX_TRIED:
                self.convolutions_ps[label, kernel] += duration_ps
        check_operations(len(self.total_ps))
        if len(self.kernels_ps) > MAX_KERNELS:
            raise ProfileError(f"The trace has more than {MAX_KERNELS:,} different kernels: record fewer steps.")

    def _operation(self, event: Event) -> tuple[str | None, int]:
        """What the event's labels name: the first in their order that names a type, else "Unknown" if there is one.

        Beside the type a number that the events of one operation share.
        """
        found, found_rank, label = None, math.inf, 0
        for stat in event.stats:
            rank = self._labels.get(stat.metadata_id, math.inf)
            if rank < found_rank or (found == UNKNOWN and rank < math.inf):
                kind = self._kind(stat)
                if kind is not None and (found is None or kind != UNKNOWN):
                    found, found_rank = kind, rank
                    label = stat.ref_value or hash(stat.str_value)
        return found, label

    def _kind(self, stat: Stat) -> str | None:
        if stat.ref_value:
            return self._references.get(stat.ref_value, UNKNOWN)
        if stat.str_value:
            return kernel_operation(stat.str_value[:MAX_NAME_CHARACTERS].decode("utf-8", "replace"))
        return None


def _has_derived_id(part: Line) -> bool:
    return 0 <= (part.id & 0xFFFFFFFF) - _FIRST_DERIVED_ID < _DERIVED_IDS


def _span(spans_ps: list[tuple[int, int]]) -> Span:
    """From the first start to the last end."""
    return (min(spans_ps)[0], max(end for _, end in spans_ps)) if spans_ps else NO_SPAN


def _check_times(times_ps: array[int]) -> None:
    if times_ps and not 0 <= min(times_ps) <= max(times_ps) <= _MAX_PS:
        raise ProfileError("The trace has implausible times: record it again.")
