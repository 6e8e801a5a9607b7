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
from profet_core.profiles.record import HOST_PREFIX, IDLE, UNKNOWN, Profile, ProfileMeta
from profet_core.profiles.tensorflow.gpu_work import GpuWork, busiest_gpu, gpu_report
from profet_core.profiles.tensorflow.step_count import count_steps
from profet_core.profiles.tensorflow.training_check import JAX, training_refusal
from profet_core.profiles.tensorflow.xplane.lines import DeviceLine, HostLine, Pair, check_pairs
from profet_core.profiles.tensorflow.xplane.planes import DEVICE_PLANE_PREFIX, HOST_PLANE, Plane, read_planes
from profet_core.profiles.tensorflow.xplane.schema import PLANE_LINES, SPACE_PLANES, messages
from profet_core.profiles.totals import TPU, TPU_PREFIX, profile_from_totals
from profet_core.profiles.trace_events.kernel_names import is_convolution_kernel
from profet_core.profiles.trace_events.precision_signs import read_signs

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
        return _Sums(planes).read(content)
    except DecodeError:
        raise damaged() from None


class _Sums:
    """Adds up the lines of all planes."""

    def __init__(self, planes: list[Plane]) -> None:
        self._planes = planes
        self._host_ps: Counter[str] = Counter()
        self._gpus: list[GpuWork] = []
        self._steps = 0
        self._runs: Counter[int] = Counter()
        self._batch_sizes: set[int] = set()
        self._lines_read = 0

    def read(self, content: Content) -> Profile:
        with content.open() as stream:
            wire = WireStream(stream)
            planes = iter(self._planes)
            for number, size in wire.fields():
                if number == SPACE_PLANES:
                    plane = next(planes)
                    if plane.is_host:
                        self._read_host(wire, size, plane)
                    elif plane.is_device:
                        self._gpus.append(self._gpu(wire, size, plane))
        return self._profile()

    def _read_host(self, wire: WireStream, size: int, plane: Plane) -> None:
        for line in self._lines(wire, size, HostLine, plane):
            self._host_ps.update(line.total_ps)
            check_operations(len(self._host_ps))
            if line.total_ps:
                self._host_ps[IDLE] += line.idle_ps()
            self._steps = max(self._steps, line.steps)
            self._runs.update(line.runs)
            self._batch_sizes |= line.batch_sizes

    def _gpu(self, wire: WireStream, size: int, plane: Plane) -> GpuWork:
        gpu = GpuWork(number=plane.name.removeprefix(DEVICE_PLANE_PREFIX)[:10], name=plane.gpu)
        sums_ps: Counter[Pair] = Counter()
        for line in self._lines(wire, size, DeviceLine, plane):
            gpu.steps = max(gpu.steps, line.steps)
            if line.is_derived or not line.events:
                continue
            kernels = (plane.kernels.get(kernel, "") for kernel, _, _ in line.sums_ps)
            spans_us = ((first / _PS_PER_US, last / _PS_PER_US) for first, last in (line.span_ps, line.long_span_ps))
            gpu.add_stream(kernels, *spans_us)
            sums_ps.update(line.sums_ps)
            check_pairs(sums_ps)
        for (kernel, kind, operation), ps in sums_ps.items():
            name, us = plane.kernels.get(kernel, ""), ps / _PS_PER_US
            gpu.kernels_us[name] += us
            if kind is None:
                gpu.unnamed_us[name] += us
                continue
            gpu.operations_us[kind] += us
            if "Conv" in kind and is_convolution_kernel(name):
                tried_us = gpu.convolutions_us.setdefault(operation, {})
                tried_us[name] = tried_us.get(name, 0.0) + us
        check_operations(len(gpu.operations_us))
        return gpu

    def _lines(self, wire: WireStream, size: int, kind: type[AnyLine], plane: Plane) -> Iterator[AnyLine]:
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
        totals_us = {HOST_PREFIX + kind: ps / _PS_PER_US for kind, ps in self._host_ps.items()}
        gpu, worked = busiest_gpu(self._gpus)
        if gpu is None and any(plane.name.startswith(TPU_PREFIX) for plane in self._planes):
            raise ProfileError(TPU)
        self._check_jax(gpu)
        counted = count_steps(self._steps or (gpu.steps if gpu else 0), self._runs.values())
        report = gpu_report(gpu, worked)
        totals_us |= report.totals_us
        refusal = report.refusal or training_refusal(totals_us, any(plane.has_gradient for plane in self._planes))
        capabilities = [plane.capability for plane in self._planes if plane.capability]
        signs = read_signs(
            gpu.kernels_us if gpu else {},
            operations={kind for plane in self._planes for kind in plane.types.values()},
            compute_capability=min(capabilities, default=None),
        )
        meta = ProfileMeta(
            gpu=gpu.name if gpu is not None and gpu.worked_us > 0 else None,
            framework="TensorFlow",
            precision=signs.precision,
            compiled=signs.compiled or None,
            channels_last=signs.channels_last or None,
            batch_size=self._batch_size(worked),
        )
        # Planes that describe the task or the host's libraries are in every trace and hold no operation.
        others = sum(plane.name.startswith("/device:") and not plane.is_device for plane in self._planes)
        return profile_from_totals(
            totals_us,
            source_format=NAME,
            steps=counted.steps,
            steps_basis=counted.basis,
            meta=meta,
            ignored=(f"devices other than GPUs: {others}",) if others else (),
            warnings=(*counted.warnings, *report.warnings),
            refusal=refusal,
            may_be_cut=False,
        )

    def _check_jax(self, gpu: GpuWork | None) -> None:
        """Refuse a trace with JAX' names and no operation of TensorFlow's."""
        kinds = {*self._host_ps, *(gpu.operations_us if gpu else ())}
        if any(plane.has_jax for plane in self._planes) and kinds <= {UNKNOWN, IDLE}:
            raise ProfileError(JAX)

    def _batch_size(self, gpus: int) -> int | None:
        """The batch of one GPU, if Keras noted the size with every step and it was always the same."""
        if len(self._batch_sizes) != 1:
            return None
        share, rest = divmod(min(self._batch_sizes), max(gpus, 1))
        return None if rest else share


def _after_varint(data: bytes, position: int) -> int:
    """Where the number that starts at `position` ends."""
    for index in range(position, min(position + 10, len(data))):
        if data[index] < 0x80:
            return index + 1
    return len(data)
