"""How long cells take before they are measured: a process's start, the network's building, and its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from profet_collect.machine import Machine
from profet_core.catalog.gpus import Gpu
from profet_core.collected.record import Cell, Framework
from profet_core.layers.networks import counts_of
from profet_core.units import MS_PER_S

#: A step in milliseconds by data sheet, of the published FP32 latencies on M60, K80, T4 and V100 (least squares in the
#: logarithm: `python -m profet_lab.collecting.step_guess`, which also prints how far off it is: 32 % at the mean).
START_MS, LAYER_MS = 1.415, 0.1257
FLOPS_FACTOR, DEPTHWISE_PASSES, ACTIVATION_PASSES, PARAMETER_PASSES = 0.6619, 1.234, 18.15, 26.33
COPY_MS_PER_MB = 0.3633
#: Building, tracing and reading the trace of one layer, seconds; the steps beside those that are timed.
LAYER_S: Mapping[Framework, float] = {"pytorch": 0.012, "tensorflow": 0.06}
_PROFILED_STEPS = 4
#: Multiply-adds of forward and backward together, over those of forward.
_FORWARD_AND_BACKWARD = 3
#: How far one more cell moves the correction.
_LEARNING = 0.15


@dataclass
class Expected:
    """Seconds of cells; `learn` corrects them by what cells really took.

    Attributes
    ----------
    steps : warm-up and timed ones.
    sheet : of the GPU; None: a processor, or a GPU without a data sheet, whose speed `flops_per_ms` is.
    factor : by framework, what cells took over what was expected.
    """

    machine: Machine
    steps: int
    sheet: Gpu | None
    flops_per_ms: float
    factor: dict[Framework, float] = field(default_factory=dict)

    def seconds(self, cell: Cell) -> float:
        """Of one cell, its process's start and end among them."""
        return self._plain_s(cell) * self.factor.get(cell.framework, 1.0)

    def learn(self, cell: Cell, took_s: float, weight: float = _LEARNING) -> None:
        """A cell took that long; `weight` of 1 forgets all before it."""
        ratio = min(max(took_s / self._plain_s(cell), 0.1), 10.0)
        before = self.factor.get(cell.framework, 1.0)
        self.factor[cell.framework] = before * (ratio / before) ** weight

    def step_ms(self, cell: Cell) -> float:
        """A training step, as far as it can be told beforehand."""
        counts, batch = counts_of(cell.model, cell.pixels), cell.batch_size
        flops = _FORWARD_AND_BACKWARD * batch * counts.flops
        if self.sheet is None:
            return START_MS + LAYER_MS * counts.layers + flops / self.flops_per_ms
        peak, bandwidth = self.sheet.fp32_tflops, self.sheet.bandwidth_gb_per_s
        if cell.precision != "fp32" and self.sheet.tf32_tensor_dense_tflops:
            # Networks gain about the square root of what the peak does.
            peak = (peak * self.sheet.tf32_tensor_dense_tflops) ** 0.5
        depthwise = _FORWARD_AND_BACKWARD * batch * counts.depthwise_flops
        return (
            START_MS
            + LAYER_MS * counts.layers
            + FLOPS_FACTOR * (flops - depthwise) / peak / 1e9
            + DEPTHWISE_PASSES * depthwise / bandwidth / 1e6
            + ACTIVATION_PASSES * counts.activation_bytes() * batch / bandwidth / 1e6
            + PARAMETER_PASSES * counts.parameter_bytes() / bandwidth / 1e6
            + COPY_MS_PER_MB * cell.pixels**2 * 12 * batch / 1e6
        )

    def _plain_s(self, cell: Cell) -> float:
        layers = counts_of(cell.model, cell.pixels).layers
        start_s = self.machine.start_s[cell.framework] + LAYER_S[cell.framework] * layers
        return start_s + (self.steps + _PROFILED_STEPS) * self.step_ms(cell) / MS_PER_S
