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
#: A step on one core of a server, in PyTorch: of each layer, each gigaflop of depthwise convolutions, each other one,
#: and each million of parameters, whose gradients and updates go through memory.
CPU_LAYER_MS, CPU_DEPTHWISE_MS, CPU_GIGAFLOP_MS, CPU_PARAMETER_MS = 0.2, 1200.0, 17.0, 12.0
#: Building and tracing a layer and reading its part of the trace, seconds.
LAYER_S: Mapping[Framework, float] = {"pytorch": 0.005, "tensorflow": 0.06}
#: Steps that are profiled, and what the first takes longer than any other.
_MORE_STEPS = 2
#: Multiply-adds of forward and backward together, over those of forward.
_FORWARD_AND_BACKWARD = 3
#: How far one more cell moves the corrections.
_LEARNING = 0.15


@dataclass
class Expected:
    """Seconds of cells; `learn` corrects them by what cells really took.

    Attributes
    ----------
    steps : warm-up and timed ones. timeout_s : no cell takes longer.
    sheet : of the GPU; None for a processor.
    start_s : by framework, what a cell takes whatever its network.
    pace : by framework, what steps took over what was expected.
    """

    machine: Machine
    steps: int
    timeout_s: float
    sheet: Gpu | None
    start_s: dict[Framework, float] = field(init=False)
    pace: dict[Framework, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start_s = dict(self.machine.start_s)

    def seconds(self, cell: Cell) -> float:
        """Of one cell, its process's start and end among them."""
        steps_s = self._all_steps_s(self.step_ms(cell) * self.pace.get(cell.framework, 1.0))
        return min(self.start_s[cell.framework] + self._layers_s(cell) + steps_s, self.timeout_s)

    def learn(self, cell: Cell, took_s: float, latency_ms: float, weight: float = _LEARNING) -> None:
        """A cell took that long, and its steps; `weight` of 1 forgets all before it."""
        self.learn_start(cell, took_s, latency_ms, weight)
        before = self.pace.get(cell.framework, 1.0)
        self.pace[cell.framework] = _moved(before, latency_ms / self.step_ms(cell), weight)

    def learn_start(self, cell: Cell, took_s: float, latency_ms: float, weight: float = _LEARNING) -> None:
        """What its steps don't explain is the start's."""
        rest_s = took_s - self._layers_s(cell) - self._all_steps_s(latency_ms)
        self.start_s[cell.framework] = _moved(self.start_s[cell.framework], rest_s, weight)

    def step_ms(self, cell: Cell) -> float:
        """A training step, as far as it can be told beforehand."""
        counts, batch = counts_of(cell.model, cell.pixels), cell.batch_size
        depthwise = _FORWARD_AND_BACKWARD * batch * counts.depthwise_flops
        others = _FORWARD_AND_BACKWARD * batch * counts.flops - depthwise
        if self.sheet is None:
            return (
                START_MS
                + CPU_LAYER_MS * counts.layers
                + CPU_GIGAFLOP_MS * others / 1e9
                + CPU_DEPTHWISE_MS * depthwise / 1e9
                + CPU_PARAMETER_MS * counts.parameters / 1e6
            )
        peak, bandwidth = self.sheet.fp32_tflops, self.sheet.bandwidth_gb_per_s
        if cell.precision != "fp32" and self.sheet.tf32_tensor_dense_tflops:
            # Networks gain about the square root of what the peak does.
            peak = (peak * self.sheet.tf32_tensor_dense_tflops) ** 0.5
        return (
            START_MS
            + LAYER_MS * counts.layers
            + FLOPS_FACTOR * others / peak / 1e9
            + DEPTHWISE_PASSES * depthwise / bandwidth / 1e6
            + ACTIVATION_PASSES * counts.activation_bytes() * batch / bandwidth / 1e6
            + PARAMETER_PASSES * counts.parameter_bytes() / bandwidth / 1e6
            + COPY_MS_PER_MB * cell.pixels**2 * 12 * batch / 1e6
        )

    def _layers_s(self, cell: Cell) -> float:
        return LAYER_S[cell.framework] * counts_of(cell.model, cell.pixels).layers

    def _all_steps_s(self, step_ms: float) -> float:
        return (self.steps + _MORE_STEPS) * step_ms / MS_PER_S


def _moved(before: float, seen: float, weight: float) -> float:
    """Between both, in the logarithm; one that is out of all proportion counts as a tenth or ten times."""
    return before * min(max(seen / before, 0.1), 10.0) ** weight
