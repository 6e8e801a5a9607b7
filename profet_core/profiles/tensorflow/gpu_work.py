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
    convolutions_us: dict[int, defaultdict[str, float]] = field(default_factory=dict)
    steps: int = 0

    def add(self, kernel: str, kind: str | None, operation: int, us: float) -> None:
        """Add a kernel's time; `kind` is the operation it names, if any, and `operation` a number of that one."""
        self.kernels_us[kernel] += us
        if kind is None:
            self.unnamed_us[kernel] += us
            return
        self.operations_us[kind] += us
        if "Conv" in kind and is_convolution_kernel(kernel):
            self.convolutions_us.setdefault(operation, no_times())[kernel] += us

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
    rows_us, by_name_us, search_us = defaultdict(float, gpu.operations_us), 0.0, 0.0
    searched = _searched(gpu)
    for kernel, us in gpu.unnamed_us.items():
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
    if worked > 1:
        warnings.append(
            f"{worked} GPUs ran this step. Only GPU {gpu.number} is read, with its share of the batch; "
            "communication between GPUs (NCCL) counts as an operation of the step."
        )
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
    totals_us = {DEVICE_PREFIX + kind: us for kind, us in rows_us.items()}
    return GpuReport(totals_us, tuple(warnings), _cold_refusal(gpu, busy_us, search_us, idle_us))


def _cold_refusal(gpu: GpuWork, busy_us: float, search_us: float, idle_us: float) -> str:
    """Why a first step tells nothing of the others; empty if it is none."""
    what, tried_us = "", sum(sum(us.values()) for us in gpu.convolutions_us.values() if len(us) > _OPERATIONS_KERNELS)
    if search_us and busy_us <= (1 - _COLD_SHARE) * (busy_us + search_us + idle_us):
        what = f"all but {busy_us / US_PER_MS:.3g} ms is start-up and cuDNN's kernel search"
    elif tried_us > _SEARCHED_SHARE * busy_us:
        what = f"cuDNN's kernel search, {tried_us / US_PER_MS:.3g} ms, runs inside its convolutions"
    return what and f"This is a first step: {what}. Profile a later step, after ten or more."


def _searched(gpu: GpuWork) -> set[str]:
    """Kernels that cuDNN tried: convolutions and products without an operation, where the step's own have theirs."""
    if not any("Conv" in kind for kind in gpu.operations_us):
        return set()
    convolutions = {kernel for kernel in gpu.unnamed_us if is_convolution_kernel(kernel)}
    if len(convolutions) < _SEARCH_KERNELS:
        return set()
    return convolutions | {kernel for kernel in gpu.unnamed_us if operation_of_kernel(kernel) == "MatMul"}
