"""Reads `*.xplane.pb`, the trace that TensorFlow writes today, without TensorFlow.

The rules are XProf's, so that the result is that of its statistics (checked against XProf 2.24 on recorded and made-up
traces): all events named `name:Type` on a thread of the host count with their total time, also inside each other; the
thread is idle for what they leave of its span. A kernel counts for the operation its `tf_op` names; the device is idle
for what these leave of its span, at least 0, over all streams together. Unlike the statistics it is not cut after 500
operations.
"""

from __future__ import annotations

import math
from collections import Counter

from profet_core.errors import ProfileError
from profet_core.profiles.containers import Content
from profet_core.profiles.precision_signs import read_signs
from profet_core.profiles.record import Profile, ProfileMeta
from profet_core.profiles.tensorflow_steps import count_steps
from profet_core.profiles.totals import profile_from_totals
from profet_core.profiles.wire import WireStream, damaged
from profet_core.profiles.xplane_lines import DeviceLine, HostLine
from profet_core.profiles.xplane_planes import DEVICE_PLANE_PREFIX, HOST_PLANE, Plane, read_planes
from profet_core.profiles.xplane_schema import PLANE_LINES, SPACE_PLANES, messages

NAME = "TensorFlow xplane.pb"

#: A line is a thread or a stream.
MAX_LINES = 20_000
_PS_PER_US = 1e6
#: Above this share of kernel time without an operation the profile says so.
_UNATTRIBUTED_SHARE = 0.1


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
        return _Sums(planes).read(content)
    except DecodeError:
        raise damaged() from None


class _Sums:
    """Adds up the lines of all planes."""

    def __init__(self, planes: list[Plane]) -> None:
        self._planes = planes
        self._total_ps: Counter[str] = Counter()
        self._unattributed_ps = 0
        self._steps = 0
        self._runs: Counter[int] = Counter()
        self._device_steps = 0
        self._batch_sizes: set[int] = set()
        self._kernels_ps: Counter[str] = Counter()
        self._lines_read = 0

    def read(self, content: Content) -> Profile:
        with content.open() as stream:
            wire = WireStream(stream)
            planes = iter(self._planes)
            for number, size in wire.fields():
                if number == SPACE_PLANES:
                    self._read_plane(wire, size, next(planes))
        return self._profile()

    def _read_plane(self, wire: WireStream, size: int, plane: Plane) -> None:
        if plane.is_host:
            for line in self._lines(wire, size, HostLine, plane):
                self._total_ps.update({f"Host_{kind}": ps for kind, ps in line.total_ps.items()})
                if line.total_ps:
                    self._total_ps["Host_IDLE"] += line.idle_ps()
                self._steps = max(self._steps, line.steps)
                self._runs.update(line.runs)
                self._batch_sizes |= line.batch_sizes
        elif plane.is_device:
            self._read_device(wire, size, plane)

    def _read_device(self, wire: WireStream, size: int, plane: Plane) -> None:
        attributed_ps, first_ps, last_ps = 0, math.inf, -math.inf
        for line in self._lines(wire, size, DeviceLine, plane):
            self._device_steps = max(self._device_steps, line.steps)
            if line.is_derived or not line.events:
                continue
            first_ps, last_ps = min(first_ps, line.first_ps), max(last_ps, line.last_ps)
            attributed_ps += sum(line.total_ps.values())
            self._total_ps.update({f"Device_{kind}": ps for kind, ps in line.total_ps.items()})
            self._unattributed_ps += line.unattributed_ps
            for kernel, ps in line.kernels_ps.items():
                self._kernels_ps[plane.kernels.get(kernel, "")] += ps
        if first_ps <= last_ps:
            self._total_ps["Device_IDLE"] += max(0, last_ps - first_ps - attributed_ps)

    def _lines(self, wire: WireStream, size: int, kind: type[HostLine] | type[DeviceLine], plane: Plane):
        for part, length in wire.fields(size):
            if part == PLANE_LINES:
                self._lines_read += 1
                if self._lines_read > MAX_LINES:
                    raise damaged()
                line = kind(plane)
                for piece in wire.pieces(length):
                    line.add(messages().Line.FromString(piece))
                yield line

    def _profile(self) -> Profile:
        steps, warnings = count_steps(self._steps or self._device_steps, self._runs.values())
        device_ps = sum(ps for name, ps in self._total_ps.items() if name.startswith("Device_"))
        device_ps -= self._total_ps["Device_IDLE"]
        if self._unattributed_ps > _UNATTRIBUTED_SHARE * (self._unattributed_ps + device_ps):
            share = self._unattributed_ps / (self._unattributed_ps + device_ps)
            warnings.append(
                f"{share:.0%} of the GPU's time belongs to kernels without a TensorFlow operation and is left out: "
                "was the step compiled with XLA?"
            )
        capabilities = [plane.capability for plane in self._planes if plane.capability]
        signs = read_signs(
            self._kernels_ps,
            operations={kind for plane in self._planes for kind in plane.types.values()},
            compute_capability=min(capabilities, default=None),
        )
        meta = ProfileMeta(
            framework="TensorFlow",
            precision=signs.precision,
            compiled=signs.compiled or None,
            batch_size=self._batch_size(),
        )
        # Planes that describe the task or the host's libraries are in every trace and hold no operation.
        others = sum(plane.name.startswith("/device:") and not plane.is_device for plane in self._planes)
        return profile_from_totals(
            {name: ps / _PS_PER_US for name, ps in self._total_ps.items()},
            source_format=NAME,
            steps=steps,
            meta=meta,
            ignored=(f"devices that are no GPUs: {others}",) if others else (),
            warnings=tuple(warnings),
        )

    def _batch_size(self) -> int | None:
        """The batch size that Keras noted with every step, if it did and it is one."""
        return min(self._batch_sizes) if len(self._batch_sizes) == 1 else None


def _after_varint(data: bytes, position: int) -> int:
    """Where the number that starts at `position` ends."""
    for index in range(position, min(position + 10, len(data))):
        if data[index] < 0x80:
            return index + 1
    return len(data)
