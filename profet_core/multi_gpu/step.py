"""A step on several GPUs, from one GPU's step at the same batch a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.errors import InputError
from profet_core.latency import Estimate, Interval, combined_sd, log_sd_of, quantile
from profet_core.messages import Code, Note
from profet_core.multi_gpu.law import (
    Links,
    ScaleoutModel,
    Strategy,
    input_copy_ms,
    network_doubt,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)
from profet_core.units import MS_PER_S, positive_number, whole_number

#: Bytes per transferred gradient: BF16 and FP16 move half of FP32.
GRADIENT_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}
#: Maximum number of parameters.
MOST_PARAMETERS = 1e12


@dataclass(frozen=True, slots=True)
class GpuStep:
    """One GPU's training step at its own batch.

    Attributes
    ----------
    latency_ms : measured or predicted. log_sd : of its logarithm; 0: exact, None: unknown.
    batch_size : images per step on this GPU.
    parameters : of the network.
    gradients : precision in which they are sent, one of `GRADIENT_BYTES`.
    pixels : image height and width, for the copy of the input; None: unknown, and the copy is ignored.
    tensors : number of weight tensors, as the framework counts them; None: unknown, and strategies that need it are
        skipped.
    """

    latency_ms: float
    batch_size: int
    parameters: float
    gradients: str = "fp32"
    pixels: int | None = None
    tensors: int | None = None
    log_sd: float | None = None

    def __post_init__(self) -> None:
        positive_number("The step latency on one GPU", self.latency_ms)
        whole_number("The batch size of one GPU", self.batch_size)
        for what, number in (("pixels", self.pixels), ("weight tensors", self.tensors)):
            if number is not None:
                whole_number(f"The number of {what}", number)
        if positive_number("The number of parameters", self.parameters) > MOST_PARAMETERS:
            raise InputError(f"The number of parameters must be at most {MOST_PARAMETERS:g}, not {self.parameters:g}.")
        if self.gradients not in GRADIENT_BYTES:
            raise InputError(
                f"The precision of gradients must be one of {', '.join(GRADIENT_BYTES)}, not {self.gradients!r}."
            )

    @property
    def gradient_bytes(self) -> float:
        """Bytes that each GPU exchanges per step.

        >>> GpuStep(100, 32, 25.6e6).gradient_bytes, GpuStep(100, 32, 25.6e6, "fp16").gradient_bytes
        (102400000.0, 51200000.0)
        """
        return self.parameters * GRADIENT_BYTES[self.gradients]

    @property
    def input_bytes(self) -> float:
        """Images of a step as FP32 in three colors; 0 if the pixels are unknown."""
        return 0.0 if self.pixels is None else self.batch_size * self.pixels**2 * 3 * 4.0


#: Maximum number of GPUs in the measurements.
MOST_GPUS = 64
#: Default strategy of current frameworks, measured with NCCL; not always the shortest step by the formulas.
USUAL = (Strategy.RING,)
#: A deprecated name for it that is still accepted.
BEST = "best"
#: Choices of `--strategy`.
STRATEGY_CHOICES = (*(each.value for each in Strategy), BEST)
#: Note on a strategy whose formula is not validated on current machines.
CHECKED_ON = {
    Strategy.TREE: "not measured",
    Strategy.PS_CPU: "measured in 2017 only",
    Strategy.PS_GPU: "measured in 2017 only",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """A number of GPUs in identical nodes.

    >>> Layout.of(16, 8), Layout.of(4, 8)
    (Layout(nodes=2, gpus_per_node=8), Layout(nodes=1, gpus_per_node=4))
    """

    nodes: int
    gpus_per_node: int

    @classmethod
    def of(cls, gpus: int, gpus_per_node: int) -> Layout:
        """Layout of part of a node, or of whole nodes.

        Raises
        ------
        InputError : not a number from 1 to `MOST_GPUS`, or more than one node but not whole nodes.
        """
        if whole_number("The number of GPUs", gpus) > MOST_GPUS:
            raise InputError(
                f"The number of GPUs must be at most {MOST_GPUS}, not {gpus}: there are no measurements above that."
            )
        if gpus <= gpus_per_node:
            return cls(1, gpus)
        if gpus % gpus_per_node:
            raise InputError(
                f"{gpus} GPUs don't fill whole machines of {gpus_per_node}: choose a multiple of "
                f"{gpus_per_node}, or fewer."
            )
        return cls(gpus // gpus_per_node, gpus_per_node)

    @property
    def gpus(self) -> int:
        """Number of GPUs in all nodes."""
        return self.nodes * self.gpus_per_node


def strategies_of(strategy: str) -> tuple[Strategy, ...]:
    """Strategies that a name denotes: itself, or `USUAL`.

    Raises
    ------
    InputError : an unknown name.
    """
    if strategy == BEST:
        return USUAL
    if strategy not in list(Strategy):
        raise InputError(f"Unknown strategy {strategy!r}: choose one of {', '.join(STRATEGY_CHOICES)}.")
    return (Strategy(strategy),)


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


#: Number of GPUs from which machines that communicate through host memory vary.
_MANY = 4
#: Maximum factor between a network and the measured one for which results apply: 2.
_LIKE_MEASURED = network_doubt(2 * 10 / 8)


def shares_host_memory(step: ScaledStep, links: Interconnect) -> bool:
    """Whether many GPUs of a machine communicate through its memory, which varies."""
    return links.link is Link.PCIE_HOST and step.layout.gpus_per_node >= _MANY


def scaling_warnings(steps: Iterable[ScaledStep], links: Interconnect) -> list[str]:
    """Caveat sentences on steps on one type of node."""
    found = list(steps)
    warnings = []
    if any(shares_host_memory(step, links) for step in found):
        warnings.append(f"GPUs without peer access: {Note(Code.HOST_MEMORY)} as predicted.")
    if any(step.nodes > 1 for step in found) and network_doubt(links.network_gb_per_s) > _LIKE_MEASURED:
        warnings.append(
            f"Only 10 Gb/s between machines was measured, not {links.network_gbit_per_s:g}: the intervals are "
            "wider by judgment."
        )
    return warnings
