"""How long cells take before they are measured: a process's start, the network's building, and its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from profet_collect.machine import Machine
from profet_core.catalog.gpus import Gpu
from profet_core.collected.record import Cell, Framework
from profet_core.layers.networks import counts_of
from profet_core.units import MS_PER_S

#: A step in milliseconds by specs, of the published FP32 latencies on M60, K80, T4 and V100 (least squares in the
#: logarithm with `scipy.optimize.least_squares`, soft L1 loss: 32% off at the mean).
START_MS, LAYER_MS = 1.415, 0.1257
FLOPS_FACTOR, DEPTHWISE_PASSES, ACTIVATION_PASSES, PARAMETER_PASSES = 0.6619, 1.234, 18.15, 26.33
COPY_MS_PER_MB = 0.3633
#: A step on one core of a server, in PyTorch: of each layer, each gigaflop of depthwise convolutions and of others,
#: each million parameters and each megabyte of activations. Least squares in the logarithm over 31 workloads of
#: 19 networks on one thread of an AMD EPYC: 11% off at the mean. Another processor's pace is learned.
CPU_START_MS, CPU_LAYER_MS, CPU_DEPTHWISE_MS, CPU_GIGAFLOP_MS = 2.1, 0.19, 44.0, 10.1
CPU_PARAMETER_MS, CPU_ACTIVATION_MS = 3.4, 1.19
#: Building and tracing a layer and reading its part of the trace, seconds, until it is measured.
LAYER_S: Mapping[Framework, float] = {"pytorch": 0.005, "tensorflow": 0.06}
#: Steps that are profiled, and what the first takes longer than any other.
_MORE_STEPS = 2
#: Multiply-adds of forward and backward together, over those of forward.
_FORWARD_AND_BACKWARD = 3
_FP32_BYTES = 4


@dataclass(frozen=True, slots=True)
class Timed:
    """A cell that was run: the seconds its process took, and its step's milliseconds."""

    cell: Cell
    took_s: float
    latency_ms: float


@dataclass
class Expected:
    """Seconds of cells; `calibrate` corrects them by what two cells really took.

    Attributes
    ----------
    steps : warm-up and timed ones. timeout_s : no cell takes longer.
    sheet : of the GPU; None for a processor.
    start_s : by framework, what a cell takes whatever its network. layer_s : and for each of its layers.
    pace : by framework, what steps took over what was expected.
    """

    machine: Machine
    steps: int
    timeout_s: float
    sheet: Gpu | None
    start_s: dict[Framework, float] = field(init=False)
    layer_s: dict[Framework, float] = field(default_factory=lambda: dict(LAYER_S))
    pace: dict[Framework, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start_s = dict(self.machine.start_s)

    def seconds(self, cell: Cell) -> float:
        """Of one cell, its process's start and end among them."""
        steps_s = self._all_steps_s(self.step_ms(cell) * self.pace.get(cell.framework, 1.0))
        return min(self.start_s[cell.framework] + self._layers_s(cell) + steps_s, self.timeout_s)

    def calibrate(self, shallow: Timed, deep: Timed) -> None:
        """Take the start, the time of a layer and the pace from two cells of a framework; forget all before them.

        Parameters
        ----------
        shallow : of few layers. deep : of many more; its steps tell the pace.
        """
        framework = shallow.cell.framework
        rest_s = [one.took_s - self._all_steps_s(one.latency_ms) for one in (shallow, deep)]
        layers = [_layers(one.cell) for one in (shallow, deep)]
        self.layer_s[framework] = max(rest_s[1] - rest_s[0], 0.0) / (layers[1] - layers[0])
        self.start_s[framework] = max(rest_s[0] - self.layer_s[framework] * layers[0], 0.1)
        self.pace[framework] = deep.latency_ms / self.step_ms(deep.cell)

    def step_ms(self, cell: Cell) -> float:
        """Expected step latency before measuring."""
        counts, batch = counts_of(cell.model, cell.pixels), cell.batch_size
        depthwise = _FORWARD_AND_BACKWARD * batch * counts.depthwise_flops
        others = _FORWARD_AND_BACKWARD * batch * counts.flops - depthwise
        if self.sheet is None:
            return (
                CPU_START_MS
                + CPU_LAYER_MS * counts.layers
                + CPU_GIGAFLOP_MS * others / 1e9
                + CPU_DEPTHWISE_MS * depthwise / 1e9
                + CPU_PARAMETER_MS * counts.parameters / 1e6
                + CPU_ACTIVATION_MS * _FP32_BYTES * counts.activation_elements * batch / 1e6
            )
        peak, bandwidth = self.sheet.fp32_tflops, self.sheet.bandwidth_gb_per_s
        if cell.precision != "fp32" and self.sheet.tf32_tensor_dense_tflops:
            # Speed grows with about the square root of the peak.
            peak = (peak * self.sheet.tf32_tensor_dense_tflops) ** 0.5
        return (
            START_MS
            + LAYER_MS * counts.layers
            + FLOPS_FACTOR * others / peak / 1e9
            + DEPTHWISE_PASSES * depthwise / bandwidth / 1e6
            + ACTIVATION_PASSES * _FP32_BYTES * counts.activation_elements * batch / bandwidth / 1e6
            + PARAMETER_PASSES * _FP32_BYTES * counts.parameters / bandwidth / 1e6
            + COPY_MS_PER_MB * cell.pixels**2 * 12 * batch / 1e6
        )

    def _layers_s(self, cell: Cell) -> float:
        return self.layer_s[cell.framework] * _layers(cell)

    def _all_steps_s(self, step_ms: float) -> float:
        return (self.steps + _MORE_STEPS) * step_ms / MS_PER_S


def _layers(cell: Cell) -> int:
    return counts_of(cell.model, cell.pixels).layers
