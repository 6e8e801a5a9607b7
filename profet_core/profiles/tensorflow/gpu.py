"""What one GPU did in a trace of TensorFlow's: its time by operation, and what is to be said of it.

XProf's rules hold for kernels that name their operation: they count with their time, and the device is idle for what
they leave of its span, at least 0, over all streams together. Kernels that name none, which the statistics leave out,
count for the operation their own name tells, or as "Unknown". Copies and settings of memory that belong to no operation
stay out, as in the statistics, unless the trace names no operation at all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from profet_core.profiles.tensorflow.names import UNKNOWN
from profet_core.profiles.traces.kernel_names import is_convolution_kernel, moves_memory, operation_of_kernel
from profet_core.units import US_PER_MS

IDLE = "IDLE"

#: A GPU that worked less than this share of what the busiest did only copied something.
_WORKED_SHARE = 0.1
#: So many different convolution kernels without an operation, beside convolutions that have one, are cuDNN's search.
_SEARCH_KERNELS = 3
#: A step that is this much search and waiting is a first one.
_COLD_SHARE = 0.8
#: From this share on it is said that kernels count by their names.
_SAID_SHARE = 0.05


@dataclass(slots=True)
class GpuWork:
    """Work of one GPU as a trace lists it, in microseconds.

    Attributes
    ----------
    number : which GPU, as the trace numbers it.
    name : the GPU's, if the trace tells.
    first_us, last_us : from the first start to the last end on any stream.
    operations_us : time by operation type, of kernels that name theirs.
    kernels_us : time by kernel name, of all.
    unnamed_us : time by kernel name, of kernels that name no operation.
    steps : steps marked on the GPU.
    """

    number: str = "0"
    name: str | None = None
    first_us: float = math.inf
    last_us: float = -math.inf
    operations_us: Counter[str] = field(default_factory=Counter)
    kernels_us: Counter[str] = field(default_factory=Counter)
    unnamed_us: Counter[str] = field(default_factory=Counter)
    steps: int = 0

    @property
    def worked_us(self) -> float:
        """Time of kernels; copies may run on a GPU that does nothing else."""
        return sum(us for name, us in self.kernels_us.items() if not moves_memory(name))


@dataclass(slots=True)
class GpuRows:
    """Time by operation, microseconds over all steps.

    Attributes
    ----------
    totals_us : operation type -> time, "IDLE" among them.
    by_name_us : time that counts for an operation by the kernel's name alone.
    search_us : time of cuDNN's search for its fastest kernels, which is left out.
    """

    totals_us: Counter[str]
    by_name_us: float = 0.0
    search_us: float = 0.0

    @property
    def busy_us(self) -> float:
        """Time of all operations."""
        return self.totals_us.total() - self.totals_us[IDLE]


def read_gpu(gpus: Mapping[object, GpuWork]) -> tuple[GpuWork | None, int]:
    """The GPU that is read, and how many worked: the busiest, since steps of all take as long; None without any."""
    if not gpus:
        return None, 0
    worked = {key: gpu.worked_us for key, gpu in gpus.items()}
    busiest = max(worked, key=worked.__getitem__)
    enough = max(_WORKED_SHARE * worked[busiest], math.ulp(0.0))
    return gpus[busiest], max(1, sum(us >= enough for us in worked.values()))


def gpu_rows(gpu: GpuWork) -> GpuRows:
    """Time by operation of one GPU."""
    rows = GpuRows(Counter(gpu.operations_us))
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
    if gpu.first_us <= gpu.last_us:
        rows.totals_us[IDLE] = max(0.0, gpu.last_us - gpu.first_us - rows.totals_us.total() - rows.search_us)
    return rows


def gpu_warnings(gpu: GpuWork, rows: GpuRows, worked: int) -> tuple[str, ...]:
    """What is to be said of the GPU's times, one sentence each."""
    said = []
    if worked > 1:
        said.append(
            f"{worked} GPUs worked on this step: read is GPU {gpu.number}, with its share of the batch; time between "
            "GPUs (NCCL) counts as an operation of the step."
        )
    if rows.by_name_us > _SAID_SHARE * rows.busy_us:
        said.append(
            f"{rows.by_name_us / rows.busy_us:.0%} of the GPU's time is of kernels that name no operation: "
            "they count by their own names."
        )
    if rows.search_us:
        said.append(
            f"{rows.search_us / US_PER_MS:.3g} ms are cuDNN's search for its fastest kernels, which only a first step "
            "has: left out. Profile a later step."
        )
    return tuple(said)


def cold_refusal(rows: GpuRows) -> str:
    """Why a first step tells nothing of the others; empty if it is none."""
    idle_us = rows.totals_us[IDLE]
    if not rows.search_us or rows.busy_us > (1 - _COLD_SHARE) * (rows.busy_us + rows.search_us + idle_us):
        return ""
    return (
        f"This is a first step: all but {rows.busy_us / US_PER_MS:.3g} ms of it are start-up and cuDNN's search for "
        "its fastest kernels. Profile a later step, after ten or more."
    )


def _searched(gpu: GpuWork) -> set[str]:
    """Kernels that cuDNN tried: convolutions and products without an operation, where the step's own have theirs."""
    if not any("Conv" in kind for kind in gpu.operations_us):
        return set()
    convolutions = {kernel for kernel in gpu.unnamed_us if is_convolution_kernel(kernel)}
    if len(convolutions) < _SEARCH_KERNELS:
        return set()
    return convolutions | {kernel for kernel in gpu.unnamed_us if operation_of_kernel(kernel) == "MatMul"}
