"""A step on several GPUs, from one GPU's step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.catalog.interconnects import Interconnect
from profet_core.errors import InputError
from profet_core.latency import Estimate, Interval, combined_sd, log_sd_of, quantile
from profet_core.scaleout.law import (
    Links,
    Strategy,
    input_copy_ms,
    network_doubt,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)
from profet_core.scaleout.model import ScaleoutModel
from profet_core.scaleout.strategies import USUAL, Layout
from profet_core.scaleout.work import GpuStep
from profet_core.units import MS_PER_S


@dataclass(frozen=True, slots=True)
class ScaledStep:
    """One step of all GPUs together.

    Attributes
    ----------
    batch_per_gpu : images per step on each. latency_ms : of the step.
    estimate : of the step; its interval is never below the single GPU's latency.
    one_gpu_ms : the single GPU's step at `batch_per_gpu` images.
    sharing_ms : communication time within and between nodes, hidden or not; None for one process.
    log_sd : from scaling alone; None on one GPU.
    """

    layout: Layout
    strategy: Strategy
    batch_per_gpu: int
    estimate: Estimate
    one_gpu_ms: float
    sharing_ms: tuple[float, float] | None
    log_sd: float | None

    @property
    def latency_ms(self) -> float:
        """Milliseconds per step."""
        return float(self.estimate.latency_ms)

    @property
    def interval(self) -> Interval | None:
        """Interval of the step; None: exact, or unknown."""
        return self.estimate.interval_at() if self.estimate.log_sd else None

    @property
    def gpus(self) -> int:
        """Number of GPUs in all nodes."""
        return self.layout.gpus

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.layout.nodes

    @property
    def batch_size(self) -> int:
        """Images per step on all GPUs."""
        return self.batch_per_gpu * self.gpus

    @property
    def images_per_s(self) -> float:
        """Throughput of all GPUs."""
        return self.batch_size / self.latency_ms * MS_PER_S

    @property
    def efficiency(self) -> float:
        """Scaling efficiency: one GPU's step at this per-GPU batch over the step; at most 1."""
        return self.one_gpu_ms / self.latency_ms

    @property
    def speed_up(self) -> float:
        """Throughput over one GPU's at the same per-GPU batch; at most the number of GPUs."""
        return self.gpus * self.efficiency

    @property
    def speed_up_range(self) -> tuple[float, float] | None:
        """90% interval; the error of one GPU's step cancels, and perfect scaling is the upper bound."""
        if self.log_sd is None:
            return None
        spread = math.exp(quantile() * self.log_sd)
        return self.speed_up / spread, min(self.speed_up * spread, float(self.gpus))


def scaled_step(
    model: ScaleoutModel, step: GpuStep, interconnect: Interconnect, gpus: int, strategy: Strategy
) -> ScaledStep:
    """Step on `gpus` GPUs, part of a node or whole nodes.

    On one GPU it is `step` exactly.

    Raises
    ------
    InputError : an invalid number of GPUs, not whole nodes, or a strategy that needs unknown inputs.
    """
    layout = Layout.of(gpus, interconnect.gpus)
    interconnect = interconnect.among(layout.gpus_per_node)
    if strategy is Strategy.ONE_PROCESS:
        return _by_one_process(model, step, layout, interconnect)
    links = Links.of(interconnect)
    in_node = float(node_sharing_ms(model, strategy, layout.gpus_per_node, links, step.gradient_bytes))
    between = float(network_sharing_ms(model, strategy, layout.nodes, links, step.gradient_bytes))
    copy_ms = float(input_copy_ms(model, layout.gpus_per_node, links, step.input_bytes))

    def latency_ms(one_gpu_ms: float) -> float:
        scaled_ms = several_ms(model, one_gpu_ms, layout.gpus_per_node, layout.nodes, in_node + between)
        # The part of the copy in one GPU's step is already in its latency.
        return float(scaled_ms) if layout.gpus == 1 else max(float(scaled_ms), copy_ms)

    ends = tuple(latency_ms(each) for each in _ends(step))
    log_sd = _log_sd(model, strategy, layout, interconnect, 1 - step.latency_ms / ends[1])
    return ScaledStep(
        layout=layout,
        strategy=strategy,
        batch_per_gpu=step.batch_size,
        estimate=_estimate(step, ends, log_sd),
        one_gpu_ms=step.latency_ms,
        sharing_ms=(in_node, between),
        log_sd=log_sd,
    )


def best_step(
    model: ScaleoutModel,
    step: GpuStep,
    interconnect: Interconnect,
    gpus: int,
    strategies: Iterable[Strategy] = USUAL,
) -> ScaledStep:
    """Shortest step among strategies."""
    found = [scaled_step(model, step, interconnect, gpus, strategy) for strategy in strategies]
    return min(found, key=lambda each: each.latency_ms)


def _by_one_process(model: ScaleoutModel, step: GpuStep, layout: Layout, interconnect: Interconnect) -> ScaledStep:
    if layout.nodes > 1:
        raise InputError(
            f"One process can use the {layout.gpus_per_node} GPUs of one machine only: choose another strategy."
        )
    if step.tensors is None:
        raise InputError("Give the number of weight tensors: one process spends time on each.")
    links, tensors, gpus = Links.of(interconnect), float(step.tensors), float(layout.gpus)
    ends = tuple(float(one_process_ms(model, each, gpus, links, step.gradient_bytes, tensors)) for each in _ends(step))
    log_sd = _log_sd(model, Strategy.ONE_PROCESS, layout, interconnect, 1 - step.latency_ms / ends[1])
    return ScaledStep(
        layout=layout,
        strategy=Strategy.ONE_PROCESS,
        batch_per_gpu=step.batch_size,
        estimate=_estimate(step, ends, log_sd),
        one_gpu_ms=step.latency_ms,
        sharing_ms=None,
        log_sd=log_sd,
    )


def _ends(step: GpuStep) -> tuple[float, float, float]:
    """One GPU's latency: the interval's lower endpoint, the middle, the upper endpoint."""
    factor = math.exp(quantile() * (step.log_sd or 0.0))
    return step.latency_ms / factor, step.latency_ms, step.latency_ms * factor


def _log_sd(
    model: ScaleoutModel, strategy: Strategy, layout: Layout, interconnect: Interconnect, added_share: float
) -> float | None:
    """Standard deviation from scaling; None on one GPU."""
    if layout.gpus == 1:
        return None
    widths = model.one_process_widths if strategy is Strategy.ONE_PROCESS else model.widths
    within = widths[interconnect.link].log_sd(added_share, layout.gpus)
    return within if layout.nodes == 1 else within * network_doubt(interconnect.network_gb_per_s)


def _estimate(step: GpuStep, ends_ms: tuple[float, ...], log_sd: float | None) -> Estimate:
    """Combine the single step's error, as it affects the whole step, with the scaling error."""
    low_ms, latency_ms, high_ms = ends_ms
    if log_sd is None:
        return Estimate(latency_ms=latency_ms, log_sd=step.log_sd)
    reached = log_sd_of(math.log(high_ms / low_ms) / 2)
    return Estimate(latency_ms=latency_ms, log_sd=combined_sd(reached, log_sd), least_ms=_ends(step)[0])
