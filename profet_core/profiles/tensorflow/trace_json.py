"""Reads `trace.json`, the chrome trace that XProf makes of TensorFlow's profile, by the rules of the xplane reader.

Every event of the host named "name:Type" (in `long_name`, if it has one) counts with its total time, a thread is idle
for what these leave of its span; a kernel counts for its `tf_op`, or in TensorFlow 2.2 to 2.5 its `annotation`, and the
device is idle for what these leave of its span. On recorded traces the result is that of the xplane.pb they were made
from, idle times included. Of several GPUs the busiest is read.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.decoding.chrome_trace import (
    MAX_TIME_US,
    NO_DURATION,
    ChromeTrace,
    Event,
    Thread,
    is_chrome_trace,
)
from profet_core.profiles.limits import MAX_KEPT_EVENTS, MAX_THREADS, NamesKept
from profet_core.profiles.record import HOST_IDLE, HOST_PREFIX, IDLE, UNKNOWN, Profile, ProfileMeta
from profet_core.profiles.tensorflow.gpu_work import (
    NO_SPAN,
    STRAY_COPY_US,
    GpuWork,
    Span,
    busiest_gpu,
    gpu_report,
    widest,
)
from profet_core.profiles.tensorflow.operation_names import (
    MAX_NAME_CHARACTERS,
    STEPS_LINE,
    is_derived_line,
    kernel_operation,
    operation_type,
)
from profet_core.profiles.tensorflow.step_count import StepCount, count_steps, is_graph_operation
from profet_core.profiles.tensorflow.training_check import JAX, has_gradient, is_jax_name, training_refusal
from profet_core.profiles.totals import TPU, TPU_PREFIX, add_times, no_times, profile_from_totals
from profet_core.profiles.trace_events.kernel_names import MAX_KERNEL_CHARACTERS, is_convolution_kernel
from profet_core.profiles.trace_events.precision_signs import read_signs

NAME = "TensorFlow trace.json"
Args: TypeAlias = dict[str, object]

#: XProf leaves the shortest events out of a trace that would have more than this.
XPROF_MAX_EVENTS = 1_000_000
#: Different operations, kernels and steps, of all threads together.
MAX_NAMES = 50_000
HOST_PROCESS = "/host:CPU"
DEVICE_PROCESS_PREFIX = "/device:GPU:"
#: What may name a kernel's operation, in the order it is believed.
_LABELS = ("tf_op", "annotation", *(f"level {depth}" for depth in range(16)))

#: Of a process or a thread: "Framework Ops - from #14(Compute)".
_MAX_LABEL_CHARACTERS = 200

_PROCESS = re.compile(rb'"/(?:host|device):\w')

Amount = TypeVar("Amount", int, float)
Name = TypeVar("Name", int, str)


@dataclass(slots=True)
class _Thread:
    """Events of one thread of the host or one stream of a GPU, before it is known which of them it is."""

    first_us: float = float("inf")
    last_us: float = float("-inf")
    host_us: defaultdict[str, float] = field(default_factory=no_times)
    device_us: defaultdict[str, float] = field(default_factory=no_times)
    kernels_us: defaultdict[str, float] = field(default_factory=no_times)
    unnamed_us: defaultdict[str, float] = field(default_factory=no_times)
    convolutions_us: dict[int, dict[str, float]] = field(default_factory=dict)
    # Of a stream, without events shorter than `STRAY_COPY_US`.
    long_span_us: Span = NO_SPAN
    events: int = 0
    begins_us: array[float] = field(default_factory=lambda: array("d"))
    durations_us: array[float] = field(default_factory=lambda: array("d"))
    steps: dict[str, dict[str, float]] = field(default_factory=dict)
    # By the hash of the name, which is long and tells nothing more.
    runs: Counter[int] = field(default_factory=Counter)


def looks_like(head: bytes) -> bool:
    """True if `head` opens as a chrome trace with processes named as TensorFlow names them."""
    return is_chrome_trace(head) and bool(_PROCESS.search(head))


def read(content: Content) -> Profile:
    """Read a trace of one step, or of several marked ones.

    Raises
    ------
    ProfileError : one line that says what is wrong and what to do.
    """
    events = _Events()
    trace = ChromeTrace(content, Args)
    for some in trace.events():
        for event in some:
            events.add(event)
    return events.profile()


class _Events:
    """Adds up a trace while its events pass by."""

    def __init__(self) -> None:
        self._threads: dict[Thread, _Thread] = {}
        self._processes: dict[object, str] = {}
        self._thread_names: dict[Thread, str] = {}
        self._count = 0
        self._names = 0
        self._names_kept = NamesKept()
        self._kept = 0
        self._untimed = 0
        self._has_gradient = False
        self._has_jax = False

    def add(self, event: Event[Args]) -> None:
        args, where = event.args or {}, (event.pid, event.tid)
        if event.ph == "M":
            self._add_name(event.name, args.get("name"), where)
        elif event.ph == "X":
            self._add_event(event, args, where)

    def _add_name(self, what: object, name: object, where: Thread) -> None:
        if isinstance(name, str) and len(self._processes) + len(self._thread_names) < 2 * MAX_THREADS:
            self._names_kept.add(str(where))
            if what == "process_name":
                self._processes[where[0]] = name[:_MAX_LABEL_CHARACTERS]
            elif what == "thread_name":
                self._thread_names[where] = name[:_MAX_LABEL_CHARACTERS]

    def _add_event(self, event: Event[Args], args: Args, where: Thread) -> None:
        begin_us, duration_us = event.ts, 0.0 if event.dur == NO_DURATION else event.dur
        if not (abs(begin_us) <= MAX_TIME_US and 0 <= duration_us <= MAX_TIME_US):
            self._untimed += 1
            return
        self._count += 1
        thread = self._thread(where)
        thread.first_us = min(thread.first_us, begin_us)
        thread.last_us = max(thread.last_us, begin_us + duration_us)
        thread.events += 1
        name = event.name or ""
        name = name if len(name) <= MAX_NAME_CHARACTERS else ""
        # Processes are named at the start of the file.
        if self._processes.get(where[0], "").startswith(DEVICE_PROCESS_PREFIX):
            if duration_us >= STRAY_COPY_US:
                thread.long_span_us = widest(thread.long_span_us, (begin_us, begin_us + duration_us))
            self._add_kernel(thread, name, args, duration_us)
        else:
            self._add_host(thread, begin_us, duration_us, name, args)

    def _add_kernel(self, thread: _Thread, name: str, args: Args, duration_us: float) -> None:
        name = name[:MAX_KERNEL_CHARACTERS]
        self._sum(thread.kernels_us, name, duration_us)
        kind, operation = None, ""
        for label in (args[key] for key in _LABELS if key in args):
            if isinstance(label, str) and label and kind in (None, UNKNOWN):
                self._has_gradient = self._has_gradient or has_gradient(label)
                kind, operation = kernel_operation(label) if len(label) <= MAX_NAME_CHARACTERS else UNKNOWN, label
        if kind is None:
            self._sum(thread.unnamed_us, name, duration_us)
        else:
            self._sum(thread.device_us, kind, duration_us)
            if "Conv" in kind and is_convolution_kernel(name):
                self._sum(thread.convolutions_us.setdefault(hash(operation), {}), name, duration_us)

    def _add_host(self, thread: _Thread, begin_us: float, duration_us: float, name: str, args: Args) -> None:
        # An event whose name is short already has no long one ("Iterator::Root").
        long_name = args.get("long_name", name)
        if not isinstance(long_name, str) or len(long_name) > MAX_NAME_CHARACTERS:
            return
        self._has_gradient = self._has_gradient or has_gradient(long_name)
        self._has_jax = self._has_jax or is_jax_name(long_name)
        if kind := operation_type(long_name):
            self._sum(thread.host_us, kind, duration_us)
            if is_graph_operation(long_name, kind):
                self._sum(thread.runs, hash(long_name), 1)
            thread.begins_us.append(begin_us)
            thread.durations_us.append(duration_us)
            self._kept += 1
            if self._kept > MAX_KEPT_EVENTS:
                raise ProfileError(f"The trace has more than {MAX_KEPT_EVENTS:,} operations: record fewer steps.")
        elif isinstance(number := args.get("step_num"), str | int):
            kind_of_step = without_number(name)
            if kind_of_step not in thread.steps:
                self._names_kept.add(kind_of_step)
            numbers = thread.steps.setdefault(kind_of_step, {})
            self._sum(numbers, str(number)[:100], duration_us)

    def _thread(self, where: Thread) -> _Thread:
        thread = self._threads.get(where)
        if thread is None:
            if len(self._threads) >= MAX_THREADS:
                raise ProfileError(f"The trace has more than {MAX_THREADS:,} threads: record fewer steps.")
            self._names_kept.add(str(where))
            thread = self._threads[where] = _Thread()
        return thread

    def _sum(self, sums: dict[Name, Amount], name: Name, amount: Amount) -> None:
        if name not in sums:
            self._names_kept.add(name if isinstance(name, str) else "")
            self._names += 1
            if self._names > MAX_NAMES:
                raise ProfileError(f"The trace has more than {MAX_NAMES:,} different names: record fewer steps.")
        sums[name] = sums.get(name, 0) + amount

    def profile(self) -> Profile:
        host = [thread for where, thread in self._threads.items() if self._process(where) == HOST_PROCESS]
        totals_us = _host_times(host)
        if self._has_jax and {name.removeprefix(HOST_PREFIX) for name in totals_us} <= {UNKNOWN, IDLE}:
            raise ProfileError(JAX)
        gpu, worked = busiest_gpu([gpu for gpu in self._gpus() if gpu.kernels_us])
        if gpu is None and any(process.startswith(TPU_PREFIX) for process in self._processes.values()):
            raise ProfileError(TPU)
        if gpu is None and not totals_us:
            raise ProfileError(
                f"The trace has no operation of a {HOST_PROCESS} or {DEVICE_PROCESS_PREFIX}N process: record a "
                "training step with TensorFlow's profiler."
            )
        counted = _count_steps(host, gpu)
        report = gpu_report(gpu, worked)
        totals_us |= report.totals_us
        signs = read_signs(gpu.kernels_us if gpu else {}, [name.partition("_")[2] for name in totals_us])
        return profile_from_totals(
            totals_us,
            source_format=NAME,
            steps=counted.steps,
            steps_basis=counted.basis,
            meta=ProfileMeta(
                framework="TensorFlow",
                precision=signs.precision,
                compiled=signs.compiled or None,
                channels_last=signs.channels_last or None,
            ),
            ignored=tuple(self._ignored()),
            warnings=(*counted.warnings, *self._warnings(), *report.warnings),
            refusal=report.refusal or training_refusal(totals_us, self._has_gradient),
            may_be_cut=False,
        )

    def _process(self, where: Thread) -> str:
        return self._processes.get(where[0], "")

    def _gpus(self) -> Collection[GpuWork]:
        gpus: dict[object, GpuWork] = {}
        for where, thread in self._threads.items():
            if (process := self._process(where)).startswith(DEVICE_PROCESS_PREFIX):
                gpu = gpus.setdefault(where[0], GpuWork(process.removeprefix(DEVICE_PROCESS_PREFIX)[:10]))
                _add_stream(gpu, thread, self._thread_names.get(where, ""))
        return gpus.values()

    def _ignored(self) -> Iterator[str]:
        processes = map(self._process, self._threads)
        others = sum(each != HOST_PROCESS and not each.startswith(DEVICE_PROCESS_PREFIX) for each in processes)
        if others:
            yield f"{others} threads that belong to neither the host nor a GPU"
        if self._untimed:
            yield f"{self._untimed} events without a valid time"

    def _warnings(self) -> Iterator[str]:
        if self._count >= XPROF_MAX_EVENTS:
            yield (
                f"XProf writes at most {XPROF_MAX_EVENTS:,} events, and this trace has that many, so others are "
                "missing: upload the xplane.pb beside it."
            )


def _host_times(threads: Iterable[_Thread]) -> dict[str, float]:
    """Time by operation of the host, "Host_MatMul", and what its threads were idle."""
    totals_us = no_times()
    for thread in threads:
        add_times(totals_us, {HOST_PREFIX + kind: us for kind, us in thread.host_us.items()})
        if thread.begins_us:
            totals_us[HOST_IDLE] += _idle_us(thread)
    return totals_us


def _count_steps(host: Iterable[_Thread], gpu: GpuWork | None) -> StepCount:
    runs: Counter[int] = Counter()
    marked = 0
    for thread in host:
        marked = max([marked, *(len(numbers) for numbers in thread.steps.values())])
        runs.update(thread.runs)
    return count_steps(marked or (gpu.steps if gpu else 0), runs.values())


def _add_stream(gpu: GpuWork, stream: _Thread, name: str) -> None:
    """Add a stream to its GPU; lines that repeat the streams tell at most the number of steps."""
    if is_derived_line(name):
        if name == STEPS_LINE:
            gpu.steps = stream.events
        return
    gpu.add_stream(stream.kernels_us, (stream.first_us, stream.last_us), stream.long_span_us)
    for operation, kernels_us in stream.convolutions_us.items():
        add_times(gpu.convolutions_us.setdefault(operation, {}), kernels_us)
    add_times(gpu.operations_us, stream.device_us)
    add_times(gpu.kernels_us, stream.kernels_us)
    add_times(gpu.unnamed_us, stream.unnamed_us)


def without_number(name: str) -> str:
    """The name of a step's mark without its number: "train" of "train #12"."""
    bare = name.rstrip("0123456789")
    return bare.rstrip(" #") if len(bare) < len(name) else name


def _idle_us(thread: _Thread) -> float:
    """What the operations leave of the time from the first one's start to the last one's end."""
    import numpy as np  # late: most readers do without

    from profet_core.profiles.trace_events.nested_times import covered_us

    begins_us, durations_us = np.frombuffer(thread.begins_us), np.frombuffer(thread.durations_us)
    return float((begins_us + durations_us).max() - begins_us.min() - covered_us(begins_us, durations_us))
