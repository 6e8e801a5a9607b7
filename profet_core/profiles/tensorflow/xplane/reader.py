"""Reads `*.xplane.pb`, the trace that TensorFlow writes today, without TensorFlow.

The rules are XProf's, so that the result is that of its statistics (checked against XProf 2.24 on recorded and made-up
traces): all events named `name:Type` on a thread of the host count with their total time, also inside each other; the
thread is idle for what they leave of its span. A kernel counts for the operation its `tf_op` names, or its `annotation`
and `level 0` in TensorFlow 2.2 to 2.5; the device is idle for what these leave of its span, at least 0, over all
streams together. Unlike the statistics it is not cut after 500 operations. Of several GPUs the busiest is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeVar

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.decoding.protobuf_wire import WireStream, damaged
from profet_core.profiles.limits import MAX_LINES, check_operations
from profet_core.profiles.record import IDLE, Profile
from profet_core.profiles.tensorflow.gpu_work import GpuWork
from profet_core.profiles.tensorflow.steps import TraceContent, trace_profile
from profet_core.profiles.tensorflow.xplane.lines import DeviceLine, HostLine, Pair, check_pairs
from profet_core.profiles.tensorflow.xplane.planes import DEVICE_PLANE_PREFIX, HOST_PLANE, Plane, read_planes
from profet_core.profiles.tensorflow.xplane.schema import PLANE_LINES, SPACE_PLANES, messages
from profet_core.profiles.totals import NO_OPERATION

NAME = "TensorFlow xplane.pb"

_PS_PER_US = 1e6

AnyLine = TypeVar("AnyLine", HostLine, DeviceLine)


def looks_like(head: bytes) -> bool:
    """True if `head` opens with a plane that has a name."""
    # Tag and length of the plane, perhaps its number, then its name.
    if head[:1] != b"\x0a":
        return False
    start = _after_varint(head, 1)
    if head[start : start + 1] == b"\x08":
        start = _after_varint(head, start + 1)
    name = head[start + 2 : start + 2 + head[start + 1]] if len(head) > start + 1 else b""
    return head[start : start + 1] == b"\x12" and len(name) > 1 and name.isascii() and name.decode().isprintable()


def read(content: Content) -> Profile:
    """Read a trace of one step, or of several marked ones, in two passes: names, then times.

    Raises
    ------
    ProfileError : one line that says what is wrong and what to do.
    """
    from google.protobuf.message import DecodeError  # late, as in `messages`

    try:
        planes = read_planes(content)
        if not any(plane.is_host or plane.is_device for plane in planes):
            raise ProfileError(
                f"The trace has neither a {HOST_PLANE} nor a {DEVICE_PLANE_PREFIX}N plane: "
                "record a training step with TensorFlow's profiler."
            )
        found = TraceContent(
            devices=[plane.name for plane in planes],
            kinds={kind for plane in planes for kind in plane.types.values()},
            capability=min((plane.capability for plane in planes if plane.capability), default=None),
            has_gradient=any(plane.has_gradient for plane in planes),
            has_jax=any(plane.has_jax for plane in planes),
        )
        with content.open() as stream:
            wire = WireStream(stream)
            left = iter(planes)
            for number, size in wire.fields():
                if number == SPACE_PLANES:
                    plane = next(left)
                    if plane.is_host:
                        _add_host(found, wire, size, plane)
                    elif plane.is_device:
                        found.gpus.append(_gpu(wire, size, plane))
    except DecodeError:
        raise damaged() from None
    # Planes that describe the task or the host's libraries are in every trace and hold no operation.
    others = sum(plane.name.startswith("/device:") and not plane.is_device for plane in planes)
    return trace_profile(found, NAME, NO_OPERATION, [f"devices other than GPUs: {others}"] if others else [])


def _add_host(found: TraceContent, wire: WireStream, size: int, plane: Plane) -> None:
    totals_ps: Counter[str] = Counter()
    for line in _lines(wire, size, HostLine, plane):
        totals_ps.update(line.total_ps)
        check_operations(len(totals_ps))
        if line.total_ps:
            totals_ps[IDLE] += line.idle_ps()
        found.marked = max(found.marked, line.steps)
        found.runs.update(line.runs)
        found.batch_sizes |= line.batch_sizes
    for kind, ps in totals_ps.items():
        found.host_us[kind] += ps / _PS_PER_US


def _gpu(wire: WireStream, size: int, plane: Plane) -> GpuWork:
    gpu = GpuWork(number=plane.name.removeprefix(DEVICE_PLANE_PREFIX)[:10], name=plane.gpu)
    sums_ps: Counter[Pair] = Counter()
    for line in _lines(wire, size, DeviceLine, plane):
        gpu.steps = max(gpu.steps, line.steps)
        if line.is_derived or not line.events:
            continue
        kernels = (plane.kernels.get(kernel, "") for kernel, _, _ in line.sums_ps)
        spans_us = ((first / _PS_PER_US, last / _PS_PER_US) for first, last in (line.span_ps, line.long_span_ps))
        gpu.add_stream(kernels, *spans_us)
        sums_ps.update(line.sums_ps)
        check_pairs(sums_ps)
    for (kernel, kind, operation), ps in sums_ps.items():
        gpu.add(plane.kernels.get(kernel, ""), kind, operation, ps / _PS_PER_US)
    check_operations(len(gpu.operations_us))
    return gpu


def _lines(wire: WireStream, size: int, kind: type[AnyLine], plane: Plane) -> Iterator[AnyLine]:
    lines_read = 0
    for part, length in wire.fields(size):
        if part == PLANE_LINES:
            lines_read += 1
            if lines_read > MAX_LINES:
                raise damaged()
            line = kind(plane)
            for piece in wire.pieces(length):
                line.add(messages().Line.FromString(piece))
            yield line


def _after_varint(data: bytes, position: int) -> int:
    """Where the number that starts at `position` ends."""
    for index in range(position, min(position + 10, len(data))):
        if data[index] < 0x80:
            return index + 1
    return len(data)
