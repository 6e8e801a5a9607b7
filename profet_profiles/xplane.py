"""Reads `*.xplane.pb`, the trace that TensorFlow writes today, without TensorFlow.

The rules are XProf's, so that the result is that of its statistics (checked against XProf 2.24 on recorded and made-up
traces): all events named `name:Type` on a thread of the host count with their total time, also inside each other; the
thread is idle for what they leave of its span. A kernel counts for the operation its `tf_op` names, or its `annotation`
and `level 0` in TensorFlow 2.2 to 2.5. Unlike the statistics it is not cut after 500 operations.

Names and numbers of the fields are those of `tsl/profiler/protobuf/xplane.proto`. A space holds planes (the host, each
GPU), a plane holds lines (threads, streams), a line holds events, and an event names its metadata by id.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

from profet_profiles.errors import ProfileError
from profet_profiles.kernel_names import MAX_KERNEL_CHARACTERS
from profet_profiles.limits import (
    MAX_LINES,
    MAX_METADATA,
    MAX_OPERATION_US,
    MAX_STEPS,
    TraceNames,
    TraceTooLargeError,
    check_operations,
)
from profet_profiles.protobuf_wire import PIECE_BYTES, WireStream, damaged, message_classes
from profet_profiles.record import IDLE, NO_OPERATION, UNKNOWN, Profile, is_forward
from profet_profiles.tensorflow_trace import (
    GPU_PREFIX,
    HOST,
    MAX_NAME_CHARACTERS,
    STEPS_LINE,
    GpuTrace,
    Thread,
    Trace,
    eager_type,
    is_derived_line,
    is_graph_operation,
    kernel_operation,
    operation_type,
)
from profet_profiles.unpacking import Content, Reader

NAME = "TensorFlow xplane.pb"

#: A host with eight GPUs has a dozen planes.
MAX_PLANES = 1000
MAX_FACTS = 10_000
MAX_BATCH_SIZE = 100_000
_FACTS = ("compute_cap_major", "compute_cap_minor", "core_count", "memory_size")
_STATS = ("step_num", "batch_size", *_FACTS)
#: The stats of a kernel that may name its operation, in the order they are believed: today's, then those of TensorFlow
#: 2.2 to 2.5, where "level 0" repeats the outermost level of "annotation".
_LABELS = {"tf_op": 0, "annotation": 1} | {f"level {depth}": 2 + depth for depth in range(16)}
#: XProf tells derived lines by their number, of which it looks at 32 bits; 390 are taken, 500 are not.
_FIRST_DERIVED_ID, _DERIVED_IDS = 0xDEADBEEF, 400
_PS_PER_US = 10**6
_MAX_PS = int(MAX_OPERATION_US * _PS_PER_US)

_GIB = 2**30
#: Compute capability, multiprocessors, least memory in GiB of what is sold for servers, and name; boards for desks with
#: as many multiprocessors have less memory. Facts: NVIDIA's specs.
_SERVER_GPUS = (
    ((3, 7), 13, 10, "Tesla K80"),
    ((5, 2), 16, 7, "Tesla M60"),
    ((6, 0), 56, 11, "Tesla P100"),
    ((7, 0), 80, 15, "Tesla V100"),
    ((7, 5), 40, 14, "Tesla T4"),
    ((8, 0), 108, 38, "A100"),
    ((8, 6), 72, 20, "A10"),
    ((8, 6), 80, 20, "A10G"),
    ((8, 9), 58, 20, "L4"),
    ((9, 0), 114, 75, "H100"),
    ((9, 0), 132, 130, "H200"),
    ((9, 0), 132, 75, "H100"),
)

#: Numbers of the fields that are found without parsing what is around them.
_SPACE_PLANES = 1
_PLANE_NAME, _PLANE_LINES, _PLANE_EVENT_METADATA, _PLANE_STAT_METADATA, _PLANE_STATS = 2, 3, 4, 5, 6
#: A `MetadataEntry` is one of a plane's map from id to metadata; of stats the same fields are used.
_MESSAGES = {
    "Stat": """
        int64 metadata_id = 1; double double_value = 2; uint64 uint64_value = 3; int64 int64_value = 4;
        bytes str_value = 5; uint64 ref_value = 7
    """,
    "Event": "int64 metadata_id = 1; int64 offset_ps = 2; int64 duration_ps = 3; repeated Stat stats = 4",
    "Line": "int64 id = 1; bytes name = 2; int64 timestamp_ns = 3; repeated Event events = 4",
    "Metadata": "int64 id = 1; bytes name = 2",
    "MetadataEntry": "int64 key = 1; Metadata value = 2",
    "Plane": """
        int64 id = 1; bytes name = 2; repeated Line lines = 3; repeated MetadataEntry event_metadata = 4;
        repeated MetadataEntry stat_metadata = 5; repeated Stat stats = 6
    """,
    "Space": "repeated Plane planes = 1; repeated bytes hostnames = 4",
}


@cache
def messages() -> SimpleNamespace:
    """Return the message classes by name: `messages().Line`; texts are bytes, since files may hold any."""
    return message_classes("xplane", _MESSAGES)


#: Tag and length of the first plane, perhaps its number, then its name's length.
_START = re.compile(rb"(?s)\x0a[\x80-\xff]{0,9}[\x00-\x7f](?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?\x12(.)")


def looks_like(head: bytes) -> bool:
    """Return True if `head` opens with a plane that has a name."""
    start = _START.match(head)
    name = head[start.end() : start.end() + start[1][0]] if start else b""
    return len(name) > 1 and name.isascii() and name.decode().isprintable()


def read(content: Content) -> Profile:
    """Read a trace of one step, or of several marked ones, in two passes: names, then times."""
    from google.protobuf.message import DecodeError  # late, as in `messages`

    trace = Trace()
    try:
        planes = _read_planes(content, trace)
        if not any(plane.is_host or plane.is_device for plane in planes):
            raise ProfileError(
                f"The trace has neither a {HOST} nor a {GPU_PREFIX}N plane: "
                "record a training step with TensorFlow's profiler."
            )
        with content.open() as stream:
            wire = WireStream(stream)
            left = iter(planes)
            for number, size in wire.fields():
                if number == _SPACE_PLANES:
                    plane = next(left)
                    if plane.is_host:
                        _add_host(trace, wire, size, plane)
                    elif plane.is_device:
                        _add_gpu(trace, wire, size, plane)
    except DecodeError:
        raise damaged() from None
    # Planes that describe the task or the host's libraries are in every trace and hold no operation.
    if others := sum(plane.name.startswith("/device:") and not plane.is_device for plane in planes):
        trace.ignored.append(f"devices other than GPUs: {others}")
    return trace.profile(NAME, NO_OPERATION, content.check_time)


@dataclass(slots=True)
class _Plane:
    """Facts of a plane before its lines are read; keys are ids of the metadata of events and of stats.

    Attributes
    ----------
    types, eager_types : of the host, operation types of events in a graph, and of operations that Python called.
    graph_operations : of the host, the operations whose number of runs tells the number of steps.
    kernels, gpu : of a GPU, names of its kernels, and its own name.
    references : of a GPU, the operation type that the name of a stat's metadata spells.
    labels : of a GPU, the stats that may name a kernel's operation -> rank, the lowest is believed first.
    stats : name -> id of the stats that are looked at.
    """

    name: str = ""
    types: dict[int, str] = field(default_factory=dict)
    eager_types: dict[int, str] = field(default_factory=dict)
    graph_operations: set[int] = field(default_factory=set)
    kernels: dict[int, str] = field(default_factory=dict)
    gpu: str | None = None
    references: dict[int, str] = field(default_factory=dict)
    labels: dict[int, int] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)

    @property
    def is_host(self) -> bool:
        return self.name == HOST

    @property
    def is_device(self) -> bool:
        return self.name.startswith(GPU_PREFIX)


def _read_planes(content: Content, trace: Trace) -> list[_Plane]:
    """Name and metadata of every plane, in the file's order; metadata of the host and of GPUs only."""
    planes, names, names_left = [], TraceNames[str](MAX_METADATA), MAX_METADATA
    with content.open() as stream:
        wire = WireStream(stream)
        for number, size in wire.fields():
            if number != _SPACE_PLANES:
                continue
            plane, facts = _Plane(), {}
            planes.append(plane)
            if len(planes) > MAX_PLANES:
                raise damaged()
            for part, length in wire.fields(size):
                if part == _PLANE_NAME and length <= MAX_NAME_CHARACTERS:
                    plane.name = _text(wire.read(length))
                elif part in (_PLANE_EVENT_METADATA, _PLANE_STAT_METADATA) and length <= PIECE_BYTES:
                    if (names_left := names_left - 1) < 0:
                        raise TraceTooLargeError(f"The trace has more than {MAX_METADATA:,} names")
                    _keep_metadata(trace, plane, part, wire.read(length), names)
                elif part == _PLANE_STATS and length <= PIECE_BYTES:
                    fact = messages().Stat.FromString(wire.read(length))
                    facts[fact.metadata_id] = fact.int64_value or fact.uint64_value
                    if len(facts) > MAX_FACTS:
                        raise damaged()
            if not any(map(is_forward, plane.types.values())) and any(map(is_forward, plane.eager_types.values())):
                # A step without a graph, whose operations XProf does not count.
                plane.types |= plane.eager_types
            trace.kinds |= {*plane.types.values()}
            # Names come after what they name.
            major, minor, multiprocessors, memory_bytes = (facts.get(plane.stats.get(name), 0) for name in _FACTS)
            plane.gpu = gpu_from_properties((major, minor), multiprocessors, memory_bytes)
            if major:
                trace.capability = min(trace.capability or major, major)
    trace.devices = [plane.name for plane in planes]
    return planes


def gpu_from_properties(capability: tuple[int, int], multiprocessors: int, memory_bytes: int) -> str | None:
    """Return the name of the GPU with these properties if it is one of those that clouds rent out, else None.

    >>> gpu_from_properties((7, 5), 40, 15_843_721_216)
    'Tesla T4'
    """
    for server_capability, count, least_gib, name in _SERVER_GPUS:
        if (server_capability, count) == (capability, multiprocessors) and memory_bytes >= least_gib * _GIB:
            return name
    return None


def _keep_metadata(trace: Trace, plane: _Plane, part: int, data: bytes, names: TraceNames[str]) -> None:
    entry = messages().MetadataEntry.FromString(data)
    name = _text(entry.value.name[:MAX_NAME_CHARACTERS])
    trace.note_name(name)
    if part == _PLANE_EVENT_METADATA:
        if plane.is_host and (kind := operation_type(name)):
            plane.types[entry.key] = names.keep(kind)
            if is_graph_operation(name, kind):
                plane.graph_operations.add(entry.key)
        elif plane.is_host and (kind := eager_type(name)):
            plane.eager_types[entry.key] = names.keep(kind)
        elif plane.is_device:
            plane.kernels[entry.key] = names.keep(name[:MAX_KERNEL_CHARACTERS])
    elif name in _STATS:
        plane.stats[name] = entry.key
    elif plane.is_device and name in _LABELS:
        plane.labels[entry.key] = _LABELS[name]
    elif plane.is_device:
        plane.references[entry.key] = names.keep(kernel_operation(name))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _lines(wire: WireStream, size: int) -> Iterator[Iterator[Any]]:
    """Yield the lines of a plane, each in parts that hold some of its events."""
    lines_read = 0
    for part, length in wire.fields(size):
        if part == _PLANE_LINES:
            lines_read += 1
            if lines_read > MAX_LINES:
                raise damaged()
            yield (messages().Line.FromString(piece) for piece in wire.pieces(length))


def _has_derived_id(part: Any) -> bool:
    return (part.id & 0xFFFFFFFF) - _FIRST_DERIVED_ID in range(_DERIVED_IDS)


def _add_host(trace: Trace, wire: WireStream, size: int, plane: _Plane) -> None:
    """Add the threads of the host; their times are in picoseconds."""
    totals_ps: Counter[str] = Counter()
    step_num = plane.stats.get("step_num")
    for parts in _lines(wire, size):
        thread, line_ps, is_derived = Thread(), Counter[str](), False
        # Whether events of a kind mark steps: the first of the kind tells.
        marks: dict[int, bool] = {}
        for part in parts:
            is_derived |= _has_derived_id(part)
            for event in () if is_derived else part.events:
                key = event.metadata_id
                if (kind := plane.types.get(key)) is not None:
                    begin_ps, duration_ps = event.offset_ps, event.duration_ps
                    if not (0 <= begin_ps <= _MAX_PS and 0 <= duration_ps <= _MAX_PS):
                        raise ProfileError("The trace has implausible times: record it again.")
                    line_ps[kind] += duration_ps
                    thread.begins.append(begin_ps)
                    thread.durations.append(duration_ps)
                    if key in plane.graph_operations:
                        trace.runs[key] += 1
                elif step_num is not None and marks.get(key, True):
                    is_mark = _note_step(trace, thread, plane, event)
                    if len(marks) < MAX_STEPS:
                        marks.setdefault(key, is_mark)
            check_operations(len(line_ps))
            thread.add((), ())
        totals_ps.update(line_ps)
        check_operations(len(totals_ps))
        if line_ps:
            totals_ps[IDLE] += int(thread.idle)
        trace.marked = max([trace.marked, *map(len, thread.marks.values())])
    for kind, ps in totals_ps.items():
        trace.host_us[kind] += ps / _PS_PER_US


def _note_step(trace: Trace, thread: Thread, plane: _Plane, event: Any) -> bool:
    """Whether an event marks a step, which is then noted."""
    stats: dict[int | None, int] = {stat.metadata_id: stat.int64_value for stat in event.stats}
    number = stats.get(plane.stats["step_num"])
    if number is None:
        return False
    numbers = thread.marks.setdefault(event.metadata_id, set())
    numbers.add(number)
    if len(numbers) + len(thread.marks) > MAX_STEPS:
        raise TraceTooLargeError(f"The trace has more than {MAX_STEPS:,} steps")
    if 0 < (batch_size := stats.get(plane.stats.get("batch_size"), 0)) <= MAX_BATCH_SIZE:
        trace.batch_sizes.add(batch_size)
    return True


def _add_gpu(trace: Trace, wire: WireStream, size: int, plane: _Plane) -> None:
    gpu = GpuTrace(number=plane.name.removeprefix(GPU_PREFIX)[:10], name=plane.gpu)
    for number, parts in enumerate(_lines(wire, size)):
        events, derived, marks_steps = 0, False, False
        for part in parts:
            name = _text(part.name)
            derived |= is_derived_line(name) or _has_derived_id(part)
            marks_steps |= name == STEPS_LINE
            events += len(part.events)
            for event in () if derived else part.events:
                # XProf takes offsets as they are: all lines of a plane start at the same time.
                begin_ps, duration_ps = event.offset_ps, event.duration_ps
                is_time = 0 <= begin_ps <= _MAX_PS and 0 <= duration_ps <= _MAX_PS and (begin_ps or duration_ps)
                begin_us, us = (begin_ps / _PS_PER_US, duration_ps / _PS_PER_US) if is_time else (math.nan, math.nan)
                names = (plane.kernels.get(event.metadata_id, ""), *_operation(plane, event))
                gpu.add_kernel(number, names, begin_us, us)
        gpu.steps = max(gpu.steps, events if marks_steps else 0)
    check_operations(len({kind for _, kind, _ in gpu.names}))
    trace.gpus.append(gpu)


def _operation(plane: _Plane, event: Any) -> tuple[str | None, int]:
    """Return the first type that an event's labels name, in their order, else "Unknown" if there is a label.

    Beside the type a number that the events of one convolution share, 0 for others.
    """
    best, best_rank, label = None, math.inf, 0
    for stat in event.stats:
        rank = plane.labels.get(stat.metadata_id)
        if rank is not None and (rank < best_rank or best == UNKNOWN):
            kind = None
            if stat.ref_value:
                kind = plane.references.get(stat.ref_value, UNKNOWN)
            elif stat.str_value:
                kind = kernel_operation(_text(stat.str_value[:MAX_NAME_CHARACTERS]))
            if kind is not None and (best is None or kind != UNKNOWN):
                best, best_rank = kind, rank
                label = stat.ref_value or hash(stat.str_value)
    return best, label if best is not None and "Conv" in best else 0


READER = Reader(NAME, looks_like, read)
