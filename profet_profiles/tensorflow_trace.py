"""The content of a TensorFlow trace, whichever file it came in, and the profile of its mean step.

The operation type in an event's name is read as XProf reads it, and no other part of a name is let through. XProf's
rules hold for kernels that name their operation: they count with their time, and the device is idle for what they leave
of its span, at least 0, over all streams together. Kernels that name none, which the statistics leave out, count for
the operation their own name tells, or as "Unknown". Copies and settings of memory that belong to no operation stay out,
as in the statistics, unless the trace names no operation at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from string import whitespace
from typing import TYPE_CHECKING

from profet_profiles.errors import ProfileError
from profet_profiles.kernel_names import (
    detect_traits,
    is_convolution_kernel,
    moves_memory,
    operation_of_kernel,
)
from profet_profiles.limits import Spans, TraceNames
from profet_profiles.record import (
    DEVICE_PREFIX,
    HOST_PREFIX,
    IDLE,
    TPU,
    UNKNOWN,
    Profile,
    StepsBasis,
    hidden_copies_note,
    no_times,
    profile_from_totals,
    training_refusal,
)
from profet_profiles.units import US_PER_MS

DATASET = "Dataset"
#: A path in a network is shorter; a cut name is no operation's.
MAX_NAME_CHARACTERS = 4096

# How XProf 2.24 tells operations from other events, found by giving it made-up traces.
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*", re.ASCII)
_TYPE = re.compile(r"[A-Z_][A-Za-z0-9_]*", re.ASCII)
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(?:\[.*\])?", re.ASCII)
_COPY = re.compile(r"memcpy([HD])to([HD])", re.ASCII | re.IGNORECASE)
#: Labels without a type, of work that has no operation of its own; the statistics show them as names of unknown type.
_LABELS = {"MakeTensorFromProto": "MemcpyHToD"}
#: What TensorFlow calls an operation's run outside of any graph; XProf counts none of them.
_EAGER = "EagerLocalExecute"
#: What oneDNN's kernels of an operation are called: "_MklNativeConv2DBackpropFilterWithBias", "_MklMatMul".
_ONEDNN = re.compile(r"_Mkl(?:Native)?(?:PadWith)?([A-Z]\w*?)(?:WithBias)?", re.ASCII)
#: Fused operations have a leading "_", but for this one, which is an operation of its own.
_PLAIN_FUSED = re.compile(r"FusedBatchNorm(?:Grad)?(?:V[23])?")
#: A type that may be shown. Function names ("__inference_my_layer_12") and a person's own labels pass for types too.
_PUBLIC_TYPE = re.compile(r"_?[A-Z][A-Za-z0-9_]{0,99}", re.ASCII)

#: The line of steps that a GPU's trace marks, and the lines that repeat what stands in others.
STEPS_LINE = "Steps"
_DERIVED_LINES = frozenset(
    {
        "Async XLA Ops",
        "Framework Name Scope",
        "Framework Ops",
        "Launch Stats",
        "Source",
        "Source code",
        STEPS_LINE,
        "TensorFlow Name Scope",
        "TensorFlow Ops",
        "XLA Modules",
        "XLA Ops",
        "XLA TraceMe",
    }
)


@lru_cache(4096)
def operation_type(full_name: str) -> str | None:
    """Return the type that a name tells; "Dataset" for iterators; None if XProf counts no such operation.

    >>> operation_type("model/layer/Conv2D:Conv2D"), operation_type("Iterator::Root"), operation_type("Session")
    ('Conv2D', 'Dataset', None)

    A type that might be a name of the user's own is "Unknown", so that a profile never tells it; XProf calls so the
    kernels whose `tf_op` it can't read.
    """
    name, colon, kind = full_name.partition(":")
    if not colon:
        copy = _COPY.match(full_name)
        return f"Memcpy{copy[1].upper()}To{copy[2].upper()}" if copy else None
    if name == "Iterator":
        return DATASET
    if _TYPE.fullmatch(kind) and _NAME.fullmatch(name):
        return public_type(kind)
    if not kind or _JAX_TYPE.fullmatch(kind):
        return UNKNOWN
    return None


def eager_type(full_name: str) -> str | None:
    """Return the type of an operation that runs as Python calls it; None for a function's call, which holds others.

    >>> eager_type("EagerLocalExecute: Conv2D"), eager_type("EagerLocalExecute: __inference_step_12")
    ('Conv2D', None)
    """
    name, _, kind = full_name.partition(": ")
    return public_type(kind) if name == _EAGER and _PUBLIC_TYPE.fullmatch(kind) else None


@lru_cache(4096)
def kernel_operation(label: str) -> str:
    """Return the type that a kernel's label names, "Unknown" if it names none.

    A label is `name:Type`, or as TensorFlow 2.2 to 2.5 write it: levels joined by "::", each perhaps with a tail of
    "#key=value,...#"; the first level with a type is the operation.
    """
    for level in label.split("::"):
        kind = operation_type(level.partition("#")[0])
        if kind not in (None, UNKNOWN):
            return kind
    return label_type(label.partition("#")[0], UNKNOWN)


def label_type(name: str, kind: str) -> str:
    """`kind`, or what an operation without a type does if its name is one of TensorFlow's own labels."""
    return _LABELS.get(name, UNKNOWN) if kind == UNKNOWN else kind


def public_type(kind: str) -> str:
    """`kind` if it is written as TensorFlow writes operation types, without oneDNN's additions, else "Unknown".

    >>> public_type("_MklNativeFusedConv2D"), public_type("Relu"), public_type("my_layer")
    ('_FusedConv2D', 'Relu', 'Unknown')
    """
    if not _PUBLIC_TYPE.fullmatch(kind):
        return UNKNOWN
    onednn = _ONEDNN.fullmatch(kind)
    if onednn is None:
        return kind
    plain = onednn[1]
    return f"_{plain}" if plain.startswith("Fused") and not _PLAIN_FUSED.fullmatch(plain) else plain


def is_derived_line(name: str) -> bool:
    """Return True for the name of a derived line, which tells its stream: "Framework Ops - from #14(Compute)"."""
    return name.partition(" - from #")[0].partition("(")[0].strip(whitespace) in _DERIVED_LINES


if TYPE_CHECKING:
    from profet_profiles.intervals import KernelTimes

_JAX = (
    "This is a JAX profile: XLA fuses its operations, and the models support TensorFlow and PyTorch only. Record a "
    "training step of the same network with one of these."
)
#: Planes and processes of the host, a GPU and a TPU.
HOST, GPU_PREFIX, _TPU_PREFIX = "/host:CPU", "/device:GPU:", "/device:TPU"

#: A trace may leave the first and the last step unmarked.
_UNMARKED_ENDS = 2
#: Share of the operations whose count is the number of steps, where not all agree.
_NEARLY_ALL = 0.75
#: Distinct kernels and operations that are kept for one GPU; a large network has a few thousand.
MAX_PAIRS = 50_000
#: A GPU that worked less than this share of what the busiest did only copied something.
_WORKED_SHARE = 0.1
#: So many different convolution kernels without an operation, beside convolutions that have one, are cuDNN's search.
_SEARCH_KERNELS = 3
#: One operation runs at most so many different convolution kernels, as Winograd's and FFT's with their transforms do;
#: where more have its name, cuDNN tried them. From this share of the GPU's time on, that makes a step a first one.
_OPERATIONS_KERNELS, _SEARCHED_SHARE = 8, 0.2
#: Copies shorter than this, microseconds, on a stream without kernels are between steps and no part of one, if it is
#: less than this share of the time from the first kernel's start to the last one's end.
STRAY_COPY_US, _STRAY_SHARE = 10.0, 1e-3
#: A step that is this much search and waiting is a first one.
_COLD_SHARE = 0.8
#: From this share on a warning says that kernels count by their names.
_WARNED_SHARE = 0.05

#: What JAX calls its programs and calls.
_JAX_NAME = re.compile(r"(?:jit|pjit|pmap)[_(]|PjitFunction|PjRtCApi|PjRtStreamExecutor|jax")


class Thread(Spans):
    """Operations of a thread of the host, in any unit, and the steps it marks, by the kind of the marks."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[Hashable, set[Hashable]] = {}

    @property
    def idle(self) -> float:
        """Compute the time between the first operation's start and the last one's end in which none ran."""
        import numpy as np  # late: most readers do without

        from profet_profiles.intervals import gaps_us

        begins, durations = np.frombuffer(self.begins), np.frombuffer(self.durations)
        order = np.argsort(begins, kind="stable")
        return float(gaps_us(begins[order], durations[order]).sum())


class GpuTrace(Spans):
    """Work of one GPU as a trace lists it, in microseconds, and its sums once all of it is added.

    Attributes
    ----------
    number, name : which GPU, as the trace numbers it, and what it is, if the trace tells.
    names : name of a kernel, the operation type it names if any, and a number of that operation; `keys` numbers them.
    steps : steps marked on the GPU.
    operations_us : time by operation type, of kernels that name theirs.
    kernels_us, unnamed_us : time by kernel name, of all, and of those that name no operation.
    convolutions_us : an operation that is a convolution -> time by kernel name, of convolution kernels that name it.
    worked_us : time of kernels; copies may run on a GPU that does nothing else.
    span_us : from the first start to the last end of the step, (inf, -inf) of nothing.
    hidden_copies_us : of copies that ran beside computing, which the sums leave out.
    times : of every kernel and copy, lost ones estimated.
    """

    def __init__(self, number: str, name: str | None = None) -> None:
        super().__init__()
        self.number, self.name, self.steps = number, name, 0
        self.names: TraceNames[tuple[str, str | None, int]] = TraceNames(MAX_PAIRS)
        self.operations_us, self.kernels_us, self.unnamed_us = no_times(), no_times(), no_times()
        self.convolutions_us: dict[int, defaultdict[str, float]] = {}
        self.worked_us = self.hidden_copies_us = 0.0
        self.times: KernelTimes
        self.span_us: tuple[float, float]

    def add_kernel(self, stream: int, names: tuple[str, str | None, int], begin_us: float, duration_us: float) -> None:
        """Add a kernel or a copy."""
        self.add((begin_us,), (duration_us,))
        self.keys.append(self.names.number(names))
        self.threads.append(stream)

    def sum_up(self, check_time: Callable[[], None]) -> None:
        """Make the sums."""
        import numpy as np  # late: most readers do without

        from profet_profiles.intervals import repair_times, without_hidden_copies

        keys, streams = np.frombuffer(self.keys, self.keys.typecode), np.frombuffer(self.threads, self.threads.typecode)
        alike: dict[tuple[str, str | None], int] = {}
        like_of_key = np.array([alike.setdefault(names[:2], len(alike)) for names in self.names])
        begins_us, durations_us = np.frombuffer(self.begins), np.frombuffer(self.durations)
        in_order = np.arange(len(keys))
        self.times = repair_times(begins_us, durations_us, like_of_key[keys], streams, in_order, np.zeros(0))
        begins_us, durations_us, _ = self.times
        is_copy = np.array([moves_memory(kernel) for kernel, *_ in self.names])[keys]
        counted_us = without_hidden_copies(begins_us, durations_us, is_copy, streams)
        self.hidden_copies_us = float(durations_us.sum() - counted_us.sum())
        self.worked_us = float(counted_us[~is_copy].sum())
        check_time()
        for (kernel, kind, operation), us in zip(self.names, np.bincount(keys, counted_us).tolist(), strict=True):
            self.kernels_us[kernel] += us
            if kind is None:
                self.unnamed_us[kernel] += us
                continue
            self.operations_us[kind] += us
            if "Conv" in kind and is_convolution_kernel(kernel):
                self.convolutions_us.setdefault(operation, no_times())[kernel] += us
        # Short copies on a stream without kernels are between steps.
        counts = np.bincount(streams[~is_copy], minlength=int(streams.max()) + 1)
        kept, ends_us = counts[streams] > 0, begins_us + durations_us
        for _ in range(2):
            first_us, last_us = (
                float(begins_us[kept].min(initial=math.inf)),
                float(ends_us[kept].max(initial=-math.inf)),
            )
            self.span_us = first_us, last_us
            kept |= ((last_us - first_us) * _STRAY_SHARE < STRAY_COPY_US) | (durations_us >= STRAY_COPY_US)

    def unlike_steps(self, steps: int) -> int:
        """Count steps that did more or less than most, by convolutions that ran as often in each."""
        import numpy as np  # late: most readers do without

        from profet_profiles.intervals import usual_work

        numbers: dict[tuple[str, int], int] = {}
        of_key = [
            numbers.setdefault((kind, operation), len(numbers)) if kind and "Conv" in kind else -1
            for _, kind, operation in self.names
        ]
        operations = np.array(of_key, int)[np.frombuffer(self.keys, self.keys.typecode)]
        rows = np.flatnonzero(operations >= 0)
        rows = rows[np.lexsort((self.times.begins_us[rows], operations[rows]))]
        counts = np.bincount(operations[rows], minlength=1)
        turns = np.arange(len(rows)) - (counts.cumsum() - counts)[operations[rows]]
        regular = counts[operations[rows]] % steps == 0
        rows, turns = rows[regular], turns[regular]
        if not len(rows):
            return 0
        step = turns // (counts[operations[rows]] // steps)
        return int((~usual_work(np.bincount(step, self.times.durations_us[rows], steps).astype(float))).sum())


@dataclass(slots=True)
class Trace:
    """The operations that a reader found in a trace.

    Attributes
    ----------
    host_us : operation type -> microseconds on the host, over all steps.
    marked : steps that the host's part of the trace marks.
    runs : operation of a graph -> how often it ran.
    kinds : more operation types that the trace names.
    capability : least major compute capability of its GPUs.
    devices : names of its processes or planes.
    has_gradient, has_jax : some name is that of a gradient's operation, or of JAX'.
    batch_sizes : those that steps were marked with.
    ignored, warnings : as the profile has them.
    """

    host_us: dict[str, float] = field(default_factory=no_times)
    gpus: list[GpuTrace] = field(default_factory=list)
    marked: int = 0
    runs: Counter[int] = field(default_factory=Counter)
    kinds: set[str] = field(default_factory=set)
    capability: int | None = None
    devices: Sequence[str] = ()
    has_gradient: bool = False
    has_jax: bool = False
    batch_sizes: set[int] = field(default_factory=set)
    ignored: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note_name(self, name: str) -> None:
        """Look at a name for what it tells of the step: "gradient_tape/net/...", "GradientTape", "PjitFunction"."""
        self.has_gradient = self.has_gradient or has_gradient(name)
        self.has_jax = self.has_jax or _JAX_NAME.match(name) is not None

    def profile(self, source_format: str, nothing: str, check_time: Callable[[], None]) -> Profile:
        """Return the profile of the mean step; of several GPUs the busiest is read: steps of all take as long."""
        worked = [gpu for gpu in self.gpus if gpu.keys]
        for gpu_trace in worked:
            gpu_trace.sum_up(check_time)
        gpu = max(worked, key=lambda trace: trace.worked_us, default=None)
        if self.has_jax and {*self.host_us, *(gpu.operations_us if gpu else ())} <= {UNKNOWN, IDLE}:
            raise ProfileError(_JAX)
        if gpu is None and any(name.startswith(_TPU_PREFIX) for name in self.devices):
            raise ProfileError(TPU)
        if gpu is None and not self.host_us:
            raise ProfileError(nothing)
        marked = self.marked or max((trace.steps for trace in self.gpus), default=0)
        steps, basis, unmarked = count_steps(marked, self.runs.values())
        totals_us = {HOST_PREFIX + kind: us for kind, us in self.host_us.items()}
        warnings, refusal, sharing = [*self.warnings], "", 1
        if gpu is not None:
            enough_us = max(_WORKED_SHARE * gpu.worked_us, math.ulp(0.0))
            sharing = max(1, sum(trace.worked_us >= enough_us for trace in worked))
            if sharing > 1:
                warnings.append(
                    f"{sharing} GPUs ran this step. Only GPU {gpu.number} is read, with its share of the batch; "
                    "communication between GPUs (NCCL) counts as an operation of the step."
                )
            rows_us, doubts, refusal = _gpu_rows(gpu, check_time)
            totals_us |= {DEVICE_PREFIX + kind: us for kind, us in rows_us.items()}
            warnings += doubts
            refusal = gpu.times.refusal or refusal
            if refusal and not gpu.worked_us and not self.host_us:
                raise ProfileError(refusal)
            if unlike := gpu.unlike_steps(steps):
                warnings.append(
                    f"{unlike} of {steps} steps did more or less work than the others, such as on a smaller last "
                    "batch; the times are the mean of all. Record steps of whole batches."
                )
            if gpu.hidden_copies_us:
                warnings.append(hidden_copies_note(gpu.hidden_copies_us / steps, sum(gpu.kernels_us.values()) / steps))
        # Of one GPU, if Keras noted the size with every step and it was always the same.
        batch = min(self.batch_sizes) if len(self.batch_sizes) == 1 else None
        kinds = {*self.kinds, *(name.partition("_")[2] for name in totals_us)}
        traits = detect_traits(
            gpu.kernels_us if gpu else {}, kinds, compute_capability=self.capability, check_time=check_time
        )
        return profile_from_totals(
            totals_us,
            source_format=source_format,
            steps=steps,
            steps_basis=basis,
            meta=replace(
                traits,
                gpu=gpu.name if gpu and gpu.worked_us > 0 else None,
                framework="TensorFlow",
                batch_size=batch // sharing if batch and batch % sharing == 0 else None,
                estimated_share=gpu.times.estimated_share if gpu else None,
            ),
            ignored=tuple(self.ignored),
            warnings=(*unmarked, *warnings),
            refusal=refusal or training_refusal(totals_us, gradient_seen=self.has_gradient),
            may_be_cut=False,
        )


def _gpu_rows(gpu: GpuTrace, check_time: Callable[[], None]) -> tuple[dict[str, float], list[str], str]:
    """Microseconds of a GPU by operation over all steps, idle time included; warnings; why a first step is refused."""
    rows_us, by_name_us, search_us = defaultdict(float, gpu.operations_us), 0.0, 0.0
    searched = _searched(gpu)
    for kernel, us in gpu.unnamed_us.items():
        check_time()
        if kernel in searched:
            search_us += us
        elif not (gpu.operations_us and moves_memory(kernel)):
            kind = operation_of_kernel(kernel)
            rows_us[kind or UNKNOWN] += us
            by_name_us += us if kind else 0.0
    first_us, last_us = gpu.span_us
    idle_us = rows_us.pop(IDLE, 0.0)
    busy_us = sum(rows_us.values())
    if first_us <= last_us:
        rows_us[IDLE] = idle_us = max(0.0, last_us - first_us - busy_us - search_us)
    warnings = []
    if by_name_us > _WARNED_SHARE * busy_us:
        warnings.append(
            f"{by_name_us / busy_us:.0%} of the GPU time is in kernels that name no operation: they are classified by "
            "kernel name."
        )
    if search_us:
        warnings.append(
            f"{search_us / US_PER_MS:.3g} ms of cuDNN's kernel search, which only a first step has, is ignored. "
            "Profile a later step."
        )
    what, tried_us = "", sum(sum(us.values()) for us in gpu.convolutions_us.values() if len(us) > _OPERATIONS_KERNELS)
    if search_us and busy_us <= (1 - _COLD_SHARE) * (busy_us + search_us + idle_us):
        what = f"all but {busy_us / US_PER_MS:.3g} ms is start-up and cuDNN's kernel search"
    elif tried_us > _SEARCHED_SHARE * busy_us:
        what = f"cuDNN's kernel search, {tried_us / US_PER_MS:.3g} ms, runs inside its convolutions"
    return rows_us, warnings, what and f"This is a first step: {what}. Profile a later step, after ten or more."


def _searched(gpu: GpuTrace) -> set[str]:
    """Kernels that cuDNN tried: convolutions and products without an operation, where the step's own have theirs."""
    if not any("Conv" in kind for kind in gpu.operations_us):
        return set()
    convolutions = {kernel for kernel in gpu.unnamed_us if is_convolution_kernel(kernel)}
    if len(convolutions) < _SEARCH_KERNELS:
        return set()
    return convolutions | {kernel for kernel in gpu.unnamed_us if operation_of_kernel(kernel) == "MatMul"}


def is_graph_operation(full_name: str, kind: str) -> bool:
    """Return True for a graph's operation, "model/layer/Conv2D:Conv2D": all runs of that name are of one operation.

    Eager operations have no path, and the input pipeline reads ahead.
    """
    return kind != DATASET and "/" in full_name.partition(":")[0]


def usual_runs(runs: Iterable[int]) -> int | None:
    """Find how often a step's operations ran, each of which runs once a step or a multiple of it; None if that is open.

    What divides all counts; where nothing does, one operation that the profiler's start or end cut must not decide:
    then the count of nearly all, or one if that is the most frequent count.

    >>> usual_runs([3, 3, 6]), usual_runs([3, 3, 3, 2]), usual_runs([2, 3])
    (3, 3, None)
    """
    counts = Counter(run for run in runs if run > 0)
    if not counts:
        return None
    if (divisor := math.gcd(*counts)) > 1:
        return divisor
    usual, times = counts.most_common(1)[0]
    return usual if usual == 1 or times >= _NEARLY_ALL * counts.total() else None


def count_steps(marked: int, runs: Iterable[int]) -> tuple[int, StepsBasis, tuple[str, ...]]:
    """Count steps, at least 1; also how their number is known, and what makes it less sure.

    The first step may have begun before the profiler and the last one ended after it; such a step leaves no mark. Of
    the three that tf_keras' TensorBoard callback records with `profile_batch=(5, 7)` only one is marked, but each ran
    every operation. Where nothing is marked the runs alone tell, as in XProf's statistics, which hold no marks.
    """
    ran = usual_runs(runs)
    if ran is None or (marked > 0 and not marked < ran <= marked + _UNMARKED_ENDS):
        return max(marked, 1), "marked" if marked else "assumed", ()
    if ran <= max(marked, 1):
        return ran, "counted", ()
    number = "none" if marked == 0 else str(marked)
    doubt = f"The trace marks {number} of its steps, but every operation ran {ran} times: divided by {ran}."
    return ran, "counted", (doubt,)


def has_gradient(name: str) -> bool:
    """Return True for the name of an operation of a gradient."""
    return "gradient" in name or "Gradient" in name
