"""What one GPU did in a trace of TensorFlow's: its time by operation, and what makes that less sure.

XProf's rules hold for kernels that name their operation: they count with their time, and the device is idle for what
they leave of its span, at least 0, over all streams together. Kernels that name none, which the statistics leave out,
count for the operation their own name tells, or as "Unknown". Copies and settings of memory that belong to no operation
stay out, as in the statistics, unless the trace names no operation at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from profet_core.errors import ProfileError
from profet_core.profiles.record import DEVICE_PREFIX, IDLE, UNKNOWN
from profet_core.profiles.totals import no_times
from profet_core.profiles.trace_events.kernel_names import is_convolution_kernel, moves_memory, operation_of_kernel
from profet_core.units import US_PER_MS

#: Different kernels of one GPU, each of which is searched for what it tells; a large network has hundreds.
MAX_KERNELS = 10_000
#: A GPU that worked less than this share of what the busiest did only copied something.
_WORKED_SHARE = 0.1
#: So many different convolution kernels without an operation, beside convolutions that have one, are cuDNN's search.
_SEARCH_KERNELS = 3
#: One operation runs at most so many different convolution kernels, as Winograd's and FFT's with their transforms do;
#: where more carry its name, cuDNN tried them.
_OPERATIONS_KERNELS = 8
#: From this share of the GPU's time on, such operations make a step a first one.
_SEARCHED_SHARE = 0.2
#: Distinct operations and kernels that are kept for one GPU; a large network has a few thousand.
MAX_PAIRS = 50_000
#: Copies shorter than this, microseconds, on a stream without kernels are between steps and no part of one, if it is
#: less than this share of the time from the first kernel's start to the last one's end.
STRAY_COPY_US, _STRAY_SHARE = 10.0, 1e-3
#: A step that is this much search and waiting is a first one.
_COLD_SHARE = 0.8
#: From this share on a warning says that kernels count by their names.
_WARNED_SHARE = 0.05


#: A first start and a last end.
Span: TypeAlias = tuple[float, float]
NO_SPAN: Span = (math.inf, -math.inf)


def widest(one: Span, other: Span) -> Span:
    """From the first start to the last end of both."""
    return min(one[0], other[0]), max(one[1], other[1])


@dataclass(slots=True)
class GpuWork:
    """Work of one GPU as a trace lists it, in microseconds.

    Attributes
    ----------
    number : which GPU, as the trace numbers it.
    name : the GPU's, if the trace tells.
    kernels_span_us : from the first start to the last end on streams that run kernels.
    copies_span_us, long_copies_span_us : the same of streams that only copy; the second without short copies.
    operations_us : time by operation type, of kernels that name theirs.
    kernels_us : time by kernel name, of all.
    unnamed_us : time by kernel name, of kernels that name no operation.
    convolutions_us : an operation that is a convolution -> time by kernel name, of convolution kernels that name it.
    steps : steps marked on the GPU.
    """

    number: str = "0"
    name: str | None = None
    kernels_span_us: Span = NO_SPAN
    copies_span_us: Span = NO_SPAN
    long_copies_span_us: Span = NO_SPAN
    operations_us: defaultdict[str, float] = field(default_factory=no_times)
    kernels_us: defaultdict[str, float] = field(default_factory=no_times)
    unnamed_us: defaultdict[str, float] = field(default_factory=no_times)
    convolutions_us: dict[int, dict[str, float]] = field(default_factory=dict)
    steps: int = 0

    def add_stream(self, kernels: Iterable[str], span_us: Span, long_span_us: Span) -> None:
        """Note when a stream worked, and when without events shorter than `STRAY_COPY_US`."""
        if all(map(moves_memory, kernels)):
            self.copies_span_us = widest(self.copies_span_us, span_us)
            self.long_copies_span_us = widest(self.long_copies_span_us, long_span_us)
        else:
            self.kernels_span_us = widest(self.kernels_span_us, span_us)

    @property
    def span_us(self) -> Span:
        """From the first start to the last end of the step."""
        first_us, last_us = self.kernels_span_us
        short = (last_us - first_us) * _STRAY_SHARE < STRAY_COPY_US
        return widest(self.kernels_span_us, self.copies_span_us if short else self.long_copies_span_us)

    @property
    def worked_us(self) -> float:
        """Time of kernels; copies may run on a GPU that does nothing else."""
        return sum(us for name, us in self.kernels_us.items() if not moves_memory(name))


@dataclass(slots=True)
class _Rows:
    """Time by operation, microseconds over all steps.

    Attributes
    ----------
    totals_us : operation type -> time, "IDLE" among them.
    by_name_us : time that counts for an operation by the kernel's name alone.
    search_us : time of cuDNN's search for its fastest kernels, which is left out.
    """

    totals_us: defaultdict[str, float]
    by_name_us: float = 0.0
    search_us: float = 0.0

    @property
    def busy_us(self) -> float:
        """Time of all operations."""
        return sum(self.totals_us.values()) - self.idle_us

    @property
    def idle_us(self) -> float:
        """Time of none."""
        return self.totals_us.get(IDLE, 0.0)


@dataclass(frozen=True, slots=True)
class GpuReport:
    """What a profile holds of a GPU.

    Attributes
    ----------
    totals_us : "Device_Conv2D" -> microseconds over all steps.
    warnings, refusal : as `Profile` has them.
    """

    totals_us: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def busiest_gpu(gpus: Collection[GpuWork]) -> tuple[GpuWork | None, int]:
    """The GPU that is read, since steps of all take as long, and how many worked; None without any."""
    if not gpus:
        return None, 0
    worked_us = [gpu.worked_us for gpu in gpus]
    most_us = max(worked_us)
    busiest = next(gpu for gpu, us in zip(gpus, worked_us, strict=True) if us == most_us)
    enough_us = max(_WORKED_SHARE * most_us, math.ulp(0.0))
    return busiest, max(1, sum(us >= enough_us for us in worked_us))


def gpu_report(gpu: GpuWork | None, worked: int) -> GpuReport:
    """What the profile of a step on `gpu`, one of so many that worked, holds of it; nothing without any."""
    if gpu is None:
        return GpuReport({})
    if len(gpu.kernels_us) > MAX_KERNELS:
        raise ProfileError(f"The trace has more than {MAX_KERNELS:,} different kernels: record fewer steps.")
    rows = _rows(gpu)
    totals_us = {DEVICE_PREFIX + kind: us for kind, us in rows.totals_us.items()}
    return GpuReport(totals_us, _warnings(gpu, rows, worked), _cold_refusal(gpu, rows))


def _rows(gpu: GpuWork) -> _Rows:
    """Time by operation of one GPU."""
    rows = _Rows(defaultdict(float, gpu.operations_us))
    searched = _searched(gpu)
    for kernel, us in gpu.unnamed_us.items():
        if kernel in searched:
            rows.search_us += us
            continue
        if gpu.operations_us and moves_memory(kernel):
            continue
        kind = operation_of_kernel(kernel)
        rows.totals_us[kind or UNKNOWN] += us
        rows.by_name_us += us if kind else 0.0
    first_us, last_us = gpu.span_us
    if first_us <= last_us:
        busy_us = sum(rows.totals_us.values())
        rows.totals_us[IDLE] = max(0.0, last_us - first_us - busy_us - rows.search_us)
    return rows


def _warnings(gpu: GpuWork, rows: _Rows, worked: int) -> tuple[str, ...]:
    """What makes the GPU's times less sure, one sentence each."""
    warnings = []
    if worked > 1:
        warnings.append(
            f"{worked} GPUs ran this step. Only GPU {gpu.number} is read, with its share of the batch; "
            "communication between GPUs (NCCL) counts as an operation of the step."
        )
    if rows.by_name_us > _WARNED_SHARE * rows.busy_us:
        warnings.append(
            f"{rows.by_name_us / rows.busy_us:.0%} of the GPU time is in kernels that name no operation: they are "
            "classified by kernel name."
        )
    if rows.search_us:
        warnings.append(
            f"{rows.search_us / US_PER_MS:.3g} ms of cuDNN's kernel search, which only a first step has, is "
            "ignored. Profile a later step."
        )
    return tuple(warnings)


def _cold_refusal(gpu: GpuWork, rows: _Rows) -> str:
    """Why a first step tells nothing of the others; empty if it is none."""
    span_us = rows.busy_us + rows.search_us + rows.idle_us
    if rows.search_us and rows.busy_us <= (1 - _COLD_SHARE) * span_us:
        return (
            f"This is a first step: all but {rows.busy_us / US_PER_MS:.3g} ms is start-up and cuDNN's kernel search. "
            "Profile a later step, after ten or more."
        )
    tried_us = sum(sum(us.values()) for us in gpu.convolutions_us.values() if len(us) > _OPERATIONS_KERNELS)
    if tried_us > _SEARCHED_SHARE * rows.busy_us:
        return (
            f"This is a first step: cuDNN's kernel search, {tried_us / US_PER_MS:.3g} ms, runs inside its "
            "convolutions. Profile a later step, after ten or more."
        )
    return ""


def _searched(gpu: GpuWork) -> set[str]:
    """Kernels that cuDNN tried: convolutions and products without an operation, where the step's own have theirs."""
    if not any("Conv" in kind for kind in gpu.operations_us):
        return set()
    convolutions = {kernel for kernel in gpu.unnamed_us if is_convolution_kernel(kernel)}
    if len(convolutions) < _SEARCH_KERNELS:
        return set()
    return convolutions | {kernel for kernel in gpu.unnamed_us if operation_of_kernel(kernel) == "MatMul"}
