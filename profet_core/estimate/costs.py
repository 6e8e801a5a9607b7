"""GPU cost per unit of work and host cost per launch.

step = work combined with launches, + copy of the batch + start. "Combined" is the smooth maximum of both, as for steps
scaled from profiles (`profet_core/transfer`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.estimate.amounts import StepAmounts
from profet_core.latency import smooth_max
from profet_core.transfer.hosts import Host, host_named


@dataclass(frozen=True)
class GpuCosts:
    """Costs fitted on one measured instance.

    Launches, copy and start are those of the reference host.

    Attributes
    ----------
    gpu : its full name. host : name of the host CPU.
    work_ms : milliseconds per unit of each kind, in the order of `amounts.WORK`.
    layer_ms, convolution_ms : launches per step, for each layer and for each convolution.
    start_ms : per step. value_ms : copy, per value of the batch.
    log_speed : log speedup over the reference on the benchmark's work.
    """

    gpu: str
    host: str
    work_ms: tuple[float, ...]
    layer_ms: float
    convolution_ms: float
    start_ms: float
    value_ms: float
    log_speed: float = 0.0

    @cached_property
    def measured_host(self) -> Host:
        """The host it was measured in."""
        return host_named(self.host)

    def parts_ms(self, amounts: StepAmounts) -> FloatArray:
        """Time of work by kind, milliseconds, (steps, kinds)."""
        return amounts.work * np.array(self.work_ms, np.float64)

    def launch_ms(self, amounts: StepAmounts, host: Host | None = None) -> FloatArray:
        """Launch time of the steps on a host (None: its own), (steps,)."""
        reference_ms = self.layer_ms * amounts.layers + self.convolution_ms * amounts.convolutions
        return reference_ms * (host or self.measured_host).launch

    def fixed_ms(self, amounts: StepAmounts, host: Host | None = None) -> FloatArray:
        """Copy and start, which don't overlap with other work, (steps,)."""
        host = host or self.measured_host
        return self.value_ms * host.copy * amounts.image_values + self.start_ms * host.launch

    def latency_ms(
        self, amounts: StepAmounts, log_gain: float | FloatArray = 0.0, host: Host | None = None
    ) -> FloatArray:
        """Milliseconds per step, (steps,) or (gains, steps).

        Parameters
        ----------
        log_gain : log speedup of the GPU over this one; a number or (gains, 1).
        host : another host than its own.
        """
        work_ms: FloatArray = self.parts_ms(amounts).sum(axis=1) * np.exp(-np.asarray(log_gain, float))
        launch_ms = self.launch_ms(amounts, host)
        found: FloatArray = smooth_max(work_ms, launch_ms) + self.fixed_ms(amounts, host)
        return found
