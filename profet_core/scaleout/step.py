"""A step on several GPUs, from one GPU's step at the same batch a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.catalog.interconnects import Interconnect
from profet_core.latency import Interval
from profet_core.scaleout.model import ScaleoutModel
from profet_core.scaleout.strategies import Layout, Sharing, Strategy, sharing
from profet_core.scaleout.work import GpuStep
from profet_core.units import MS_PER_S

#: The backward pass's share of a step: two convolutions for one forward.
BACKWARD_SHARE = 2 / 3


@dataclass(frozen=True, slots=True)
class ScaledStep:
    """One step of all GPUs together.

    Attributes
    ----------
    latency_ms : of the step. interval : 90 %, never below the single GPU's; None where nothing is known of it.
    one_gpu_ms : the single GPU's step at `batch_per_gpu` images.
    sharing : what gradients take in all. exposed_ms : what several GPUs add to the step: all that is not hidden.
    """

    layout: Layout
    strategy: Strategy
    batch_per_gpu: int
    latency_ms: float
    interval: Interval | None
    one_gpu_ms: float
    sharing: Sharing

    @property
    def gpus(self) -> int:
        """Of all nodes."""
        return self.layout.gpus

    @property
    def nodes(self) -> int:
        """How many there are."""
        return self.layout.nodes

    @property
    def batch_size(self) -> int:
        """Images a step, of all GPUs."""
        return self.batch_per_gpu * self.gpus

    @property
    def exposed_ms(self) -> float:
        """What several GPUs add to the step."""
        return self.latency_ms - self.one_gpu_ms

    @property
    def images_per_s(self) -> float:
        """Of all GPUs."""
        return self.batch_size / self.latency_ms * MS_PER_S

    @property
    def efficiency(self) -> float:
        """Share of perfect scaling: one GPU's step at this batch a GPU over the step; at most 1."""
        return self.one_gpu_ms / self.latency_ms

    @property
    def speed_up(self) -> float:
        """Images a second over one GPU's at the same batch a GPU; at most the number of GPUs."""
        return self.gpus * self.efficiency


def scaled_step(
    model: ScaleoutModel, step: GpuStep, interconnect: Interconnect, gpus: int, strategy: Strategy
) -> ScaledStep:
    """The step on `gpus` GPUs, part of a node or whole nodes; on one it is `step` exactly.

    Raises
    ------
    InputError : no such number of GPUs, or no whole nodes.
    """
    layout = Layout.of(gpus, interconnect.gpus)
    shared = sharing(model, strategy, layout, interconnect, step.gradient_bytes)
    copy_ms = _copy_ms(model, step, layout, interconnect)
    latency_ms = several_ms(model, step.latency_ms, layout, shared, copy_ms)
    return ScaledStep(
        layout=layout,
        strategy=strategy,
        batch_per_gpu=step.batch_size,
        latency_ms=latency_ms,
        interval=_interval(model, step, layout, shared, copy_ms),
        one_gpu_ms=step.latency_ms,
        sharing=shared,
    )


def best_step(
    model: ScaleoutModel,
    step: GpuStep,
    interconnect: Interconnect,
    gpus: int,
    strategies: Iterable[Strategy] = tuple(Strategy),
) -> ScaledStep:
    """The shortest step of some strategies."""
    found = [scaled_step(model, step, interconnect, gpus, strategy) for strategy in strategies]
    return min(found, key=lambda each: each.latency_ms)


def several_ms(model: ScaleoutModel, one_gpu_ms: float, layout: Layout, shared: Sharing, copy_ms: float = 0.0) -> float:
    """A step's milliseconds on several GPUs; one GPU's exactly where there is one.

    The overlappable part of sharing hides behind the backward pass; the rest, and waiting for the slowest, adds up.
    """
    if layout.gpus == 1:
        return one_gpu_ms
    backward_ms = BACKWARD_SHARE * one_gpu_ms
    hidden = model.overlap * shared.total_ms
    waiting = model.straggling * math.log2(layout.gpus_per_node) + model.network_straggling * math.log2(layout.nodes)
    computing_ms = one_gpu_ms - backward_ms + max(backward_ms, hidden) + shared.total_ms - hidden
    return max(copy_ms, computing_ms + waiting * one_gpu_ms)


def _copy_ms(model: ScaleoutModel, step: GpuStep, layout: Layout, interconnect: Interconnect) -> float:
    """The input's copy to all GPUs behind one root port of the host."""
    sharing_port = min(layout.gpus_per_node, interconnect.gpus_per_root)
    gb_per_s = interconnect.pcie_gb_per_s * model.host_efficiency
    return sharing_port * step.input_bytes / (gb_per_s * 1e9) * MS_PER_S


def _interval(model: ScaleoutModel, step: GpuStep, layout: Layout, shared: Sharing, copy_ms: float) -> Interval | None:
    """The single step's error as far as it reaches the step of all, and the error of scaling, together."""
    if layout.gpus == 1:
        return step.interval
    own = Interval(step.latency_ms, step.latency_ms) if step.interval is None else step.interval
    low_ms, latency_ms, high_ms = (
        several_ms(model, ms, layout, shared, copy_ms) for ms in (own.low_ms, step.latency_ms, own.high_ms)
    )
    exposed = 1 - step.latency_ms / latency_ms
    scaling = model.log_half_width + model.exposed_log_half_width * exposed
    around = Interval.around(latency_ms, math.hypot(math.log(high_ms / low_ms) / 2, scaling))
    return Interval(min(max(around.low_ms, own.low_ms), latency_ms), around.high_ms)
