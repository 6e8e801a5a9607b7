"""Reads `trace.json`, the chrome trace that XProf makes of TensorFlow's profile, by the rules of the xplane reader.

Every event of the host named "name:Type" (in `long_name`, if it has one) counts with its total time, a thread is idle
for what these leave of its span; a kernel counts for its `tf_op`, or in TensorFlow 2.2 to 2.5 its `annotation`. On
recorded traces the result is that of the xplane.pb they were made from, idle times included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from typing import Any, TypeAlias

from profet_profiles.chrome_trace import (
    MAX_TIME_US,
    NO_DURATION,
    ChromeTrace,
    Event,
    Where,
    is_chrome_trace,
    nothing_found,
)
from profet_profiles.kernel_names import MAX_KERNEL_CHARACTERS
from profet_profiles.limits import TraceNames
from profet_profiles.record import IDLE, UNKNOWN, Profile
from profet_profiles.tensorflow_trace import (
    GPU_PREFIX,
    HOST,
    MAX_NAME_CHARACTERS,
    STEPS_LINE,
    GpuTrace,
    Thread,
    Trace,
    is_derived_line,
    is_graph_operation,
    kernel_operation,
    operation_type,
)
from profet_profiles.unpacking import Content, Reader

NAME = "TensorFlow trace.json"
Args: TypeAlias = dict[str, object]

#: XProf leaves the shortest events out of a trace that would have more than this.
XPROF_MAX_EVENTS = 1_000_000
#: Different operations, kernels and steps, of all threads together.
MAX_NAMES = 50_000
#: What may name a kernel's operation, in the order it is believed.
_LABELS = ("tf_op", "annotation", *(f"level {depth}" for depth in range(16)))
#: Of a process or a thread: "Framework Ops - from #14(Compute)".
_MAX_LABEL_CHARACTERS = 200
_PROCESS = re.compile(rb'"/(?:host|device):\w')
_NOTHING = (
    f"The trace has no operation of a {HOST} or {GPU_PREFIX}N process: record a training step "
    "with TensorFlow's profiler."
)


def looks_like(head: bytes) -> bool:
    """Return True if `head` opens as a chrome trace with processes named as TensorFlow names them."""
    return is_chrome_trace(head) and bool(_PROCESS.search(head))


def read(content: Content) -> Profile:
    """Read a trace of one step, or of several marked ones."""
    events = _Events()
    for part in ChromeTrace(content, Args).events():
        for event in part:
            events.add(event)
    return events.trace().profile(NAME, nothing_found(content.head, _NOTHING), content.check_time)


def times_of(event: Event[Any]) -> tuple[float, float]:
    """Start and duration, microseconds, NaN both if they are no times."""
    begin_us, duration_us = event.ts, 0.0 if event.dur == NO_DURATION else event.dur
    is_time = abs(begin_us) <= MAX_TIME_US and 0 <= duration_us <= MAX_TIME_US
    return (begin_us, duration_us) if is_time else (math.nan, math.nan)


class _Events:
    """Adds up a trace while its events pass by; processes and threads are named before their events."""

    def __init__(self) -> None:
        self._found = Trace()
        self._gpus: dict[object, GpuTrace] = {}
        # None for threads of other processes, the number of a GPU's stream.
        self._lines: dict[Where, Thread | int | None] = {}
        self._processes: dict[object, str] = {}
        self._thread_names: dict[Where, str] = {}
        # Threads, operations and steps.
        self._names: TraceNames[Hashable] = TraceNames(MAX_NAMES)
        self._count = self._untimed = 0

    def add(self, event: Event[Args]) -> None:
        """Add an event."""
        args, where = event.args or {}, (event.pid, event.tid)
        if event.ph == "M":
            if isinstance(name := args.get("name"), str):
                self._names.number(where)
                if event.name == "process_name":
                    self._processes[where[0]] = name[:_MAX_LABEL_CHARACTERS]
                elif event.name == "thread_name":
                    self._thread_names[where] = name[:_MAX_LABEL_CHARACTERS]
        elif event.ph == "X":
            self._count += 1
            name = event.name or ""
            name = name if len(name) <= MAX_NAME_CHARACTERS else ""
            process = self._processes.get(where[0], "")
            is_device = process.startswith(GPU_PREFIX)
            if where not in self._lines:
                self._names.number(where)
                self._lines[where] = len(self._lines) if is_device else Thread() if process == HOST else None
            begin_us, duration_us = times_of(event)
            line = self._lines[where]
            if isinstance(line, int):
                # XProf starts a trace at 0, so that a kernel may begin there, but not without a duration.
                lost = begin_us == duration_us == 0
                times_us = (math.nan, math.nan) if lost else (begin_us, duration_us)
                self._add_kernel(line, where, name[:MAX_KERNEL_CHARACTERS], args, *times_us)
            elif math.isnan(begin_us):
                self._untimed += 1
            elif line is not None:
                self._add_host(line, name, args, begin_us, duration_us)

    def _add_kernel(
        self, stream: int, where: Where, name: str, args: Args, begin_us: float, duration_us: float
    ) -> None:
        number = self._processes[where[0]].removeprefix(GPU_PREFIX)[:10]
        gpu = self._gpus.setdefault(where[0], GpuTrace(number=number))
        if is_derived_line(line := self._thread_names.get(where, "")):
            gpu.steps += line == STEPS_LINE
            return
        kind, operation = None, ""
        for label in (args[key] for key in _LABELS if key in args):
            if isinstance(label, str) and label and kind in (None, UNKNOWN):
                self._found.note_name(label)
                kind, operation = kernel_operation(label) if len(label) <= MAX_NAME_CHARACTERS else UNKNOWN, label
        names = name, kind, hash(operation) if kind and "Conv" in kind else 0
        gpu.add_kernel(stream, names, begin_us, duration_us)

    def _add_host(self, thread: Thread, name: str, args: Args, begin_us: float, duration_us: float) -> None:
        # An event whose name is short already has no long one ("Iterator::Root").
        long_name = args.get("long_name", name)
        if not isinstance(long_name, str) or len(long_name) > MAX_NAME_CHARACTERS:
            return
        self._found.note_name(long_name)
        if kind := operation_type(long_name):
            self._names.number(kind)
            self._found.host_us[kind] += duration_us
            if is_graph_operation(long_name, kind):
                # By the hash of the name, which is long and tells nothing more.
                self._names.number(hash(long_name))
                self._found.runs[hash(long_name)] += 1
            thread.add((begin_us,), (duration_us,))
        elif isinstance(number := args.get("step_num"), str | int):
            # "train" of "train #12".
            bare = name.rstrip("0123456789")
            kind_of_step = bare.rstrip(" #") if len(bare) < len(name) else name
            mark = kind_of_step, str(number)[:100]
            self._names.number(mark)
            thread.marks.setdefault(kind_of_step, set()).add(mark)

    def trace(self) -> Trace:
        """Return the trace, once all events are added."""
        trace, others = self._found, 0
        for line in self._lines.values():
            match line:
                case None:
                    others += 1
                case Thread():
                    trace.marked = max([trace.marked, *map(len, line.marks.values())])
                    if line.begins:
                        trace.host_us[IDLE] += line.idle
        trace.gpus, trace.devices = list(self._gpus.values()), list(self._processes.values())
        if others:
            trace.ignored.append(f"{others} threads that belong to neither the host nor a GPU")
        if self._untimed:
            trace.ignored.append(f"{self._untimed} events of the CPU without a valid time")
        if self._count >= XPROF_MAX_EVENTS:
            trace.warnings.append(
                f"XProf writes at most {XPROF_MAX_EVENTS:,} events, and this trace has that many, so others are "
                "missing: upload the xplane.pb beside it."
            )
        return trace


READER = Reader(NAME, looks_like, read)
