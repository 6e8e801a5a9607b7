"""What is added up of a PyTorch trace: the mean step on the host and on one GPU."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from profet_core.profiles.record import DEVICE_IDLE, DEVICE_PREFIX, StepsBasis
from profet_core.profiles.totals import no_times
from profet_core.profiles.trace_events.kernel_names import COLLECTIVE

#: Kernels that run beside each other for less than this share of the time are taken to run one after the other.
_OVERLAP_SHARE = 0.01


@dataclass(slots=True)
class HostTotals:
    """What the CPU's threads did in the steps that count.

    Attributes
    ----------
    totals_us : "Host_Conv2D" -> microseconds of the mean step.
    dropped_us : time of views, allocations and wrappers, of the mean step.
    longest_us : the longest that one operation, which may load a library, kept the host.
    """

    totals_us: defaultdict[str, float] = field(default_factory=no_times)
    dropped_us: float = 0.0
    longest_us: float = 0.0


@dataclass(slots=True)
class GpuTotals:
    """What one GPU did in the steps that count.

    Attributes
    ----------
    totals_us : "Device_Conv2D" -> microseconds of the mean step.
    kernels_us : kernel name -> microseconds, of all steps that count.
    unlinked_us : time of kernels that no operation on the host started, of the mean step.
    queued_us : time of kernels that were launched before the recording began and belong to no step.
    communication_us : what communication between GPUs took beyond the computing, of the mean step.
    window_us : length of the mean step, from the end of the one before on the GPU to its own; idle time included.
    """

    totals_us: defaultdict[str, float] = field(default_factory=no_times)
    kernels_us: dict[str, float] = field(default_factory=dict)
    unlinked_us: float = 0.0
    queued_us: float = 0.0
    communication_us: float = 0.0
    window_us: float = 0.0

    def share_time(self, covered_us: float) -> None:
        """Scale the operations, communication aside, to the time in which any of them ran."""
        kept = {DEVICE_IDLE, DEVICE_PREFIX + COLLECTIVE}
        summed_us = sum(us for name, us in self.totals_us.items() if name not in kept)
        # Below that, kernels overlap by how their times are rounded.
        if covered_us < (1 - _OVERLAP_SHARE) * summed_us:
            factor = covered_us / summed_us
            self.unlinked_us *= factor
            for name in self.totals_us.keys() - kept:
                self.totals_us[name] *= factor

    @property
    def idle_us(self) -> float:
        """Time of no kernel in the mean step."""
        return self.totals_us.get(DEVICE_IDLE, 0.0)

    @property
    def busy_us(self) -> float:
        """Time of all kernels in the mean step."""
        return sum(us for name, us in self.totals_us.items() if name != DEVICE_IDLE)


@dataclass(frozen=True, slots=True)
class StepTotals:
    """The mean step.

    Attributes
    ----------
    gpu_number, gpus : number of the GPU whose times these are (None without one), and how many worked.
    steps, basis : how many the trace covers, and how that is known.
    partial : steps that were left out because they are not complete.
    cold_us : length of the first step, which was left out because libraries started in it; None if it counts.
    step_us : median length of a marked step on the host; None if none is marked.
    """

    host: HostTotals
    gpu: GpuTotals
    gpu_number: int | None
    gpus: int
    steps: int
    basis: StepsBasis
    partial: int
    cold_us: float | None
    step_us: float | None

    @property
    def totals_us(self) -> dict[str, float]:
        """ "Device_Conv2D" or "Host_Conv2D" -> microseconds of the mean step."""
        return {**self.host.totals_us, **self.gpu.totals_us}
