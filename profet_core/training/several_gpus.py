"""Steps and trainings on several GPUs, from one GPU's step at the same batch a GPU; offers of whole nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.instance import Instance
from profet_core.catalog.interconnects import Interconnect, Link, load_interconnects
from profet_core.errors import Code, InputError, Note
from profet_core.latency import Basis, Interval, combined_sd, log_sd_of, quantile
from profet_core.offers import OfferStep, OfferTable, bounds
from profet_core.training.cost import MAX_PARAMETERS
from profet_core.training.memory import FitAnswer
from profet_core.training.plans import Plan
from profet_core.training.scaling_model import (
    RDMA_GB_PER_S,
    ScaleoutModel,
    Strategy,
    input_copy_ms,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)
from profet_profiles.units import MS_PER_S, positive_number, whole_number

#: Bytes per transferred gradient: BF16 and FP16 move half of FP32.
GRADIENT_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}
#: Maximum number of GPUs in the measurements.
MAX_GPUS = 64
#: Note on a strategy whose formula is not validated on current machines.
CHECKED_ON = {
    Strategy.TREE: "not measured",
    Strategy.PS_CPU: "measured in 2017 only",
    Strategy.PS_GPU: "measured in 2017 only",
}
#: Number of GPUs from which machines that communicate through host memory vary.
_MANY = 4


class OneGpuStep(Struct, frozen=True):
    """One GPU's training step at its own batch.

    Attributes
    ----------
    latency_ms : measured or predicted.
    log_sd : of its logarithm; None: unknown.
    batch_size : images per step on this GPU.
    parameters : of the network.
    gradients : precision in which they are sent, one of `GRADIENT_BYTES`; by default, frameworks keep FP32 gradients in
        mixed precision too.
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
    log_sd: float | None = 0.0

    def __post_init__(self) -> None:
        positive_number("The step latency on one GPU", self.latency_ms)
        whole_number("The batch size of one GPU", self.batch_size)
        for what, number in (("pixels", self.pixels), ("weight tensors", self.tensors)):
            if number is not None:
                whole_number(f"The number of {what}", number)
        if positive_number("The number of parameters", self.parameters) > MAX_PARAMETERS:
            raise InputError(f"The number of parameters must be at most {MAX_PARAMETERS:g}, not {self.parameters:g}.")
        if self.gradients not in GRADIENT_BYTES:
            raise InputError(
                f"The precision of gradients must be one of {', '.join(GRADIENT_BYTES)}, not {self.gradients!r}."
            )

    @classmethod
    def from_row(
        cls,
        row: OfferStep,
        batch_size: int,
        parameters: float,
        gradients: str = "fp32",
        pixels: int | None = None,
        tensors: int | None = None,
    ) -> OneGpuStep:
        """Return the step of a row; InputError if its latency is unknown."""
        latency_ms = positive_number(f"The latency of {row.instance}", row.latency_ms)
        log_sd = 0.0 if row.basis.is_exact else row.log_sd
        return cls(latency_ms, batch_size, parameters, gradients, pixels, tensors, log_sd)

    @property
    def gradient_bytes(self) -> float:
        """Bytes that each GPU exchanges per step.

        >>> OneGpuStep(100, 32, 25.6e6).gradient_bytes, OneGpuStep(100, 32, 25.6e6, "fp16").gradient_bytes
        (102400000.0, 51200000.0)
        """
        return self.parameters * GRADIENT_BYTES[self.gradients]

    @property
    def input_bytes(self) -> float:
        """Images of a step as FP32 in three colors; 0 if the pixels are unknown."""
        return 0.0 if self.pixels is None else self.batch_size * self.pixels**2 * 3 * 4.0


def nodes_of(gpus: int, per_node: int) -> int:
    """Return the number of identical nodes for part of a node, or for whole nodes; InputError if they aren't full.

    >>> nodes_of(16, 8), nodes_of(4, 8)
    (2, 1)
    """
    if whole_number("The number of GPUs", gpus) > MAX_GPUS:
        raise InputError(
            f"The number of GPUs must be at most {MAX_GPUS}, not {gpus}: there are no measurements above that."
        )
    if gpus <= per_node:
        return 1
    if gpus % per_node:
        raise InputError(
            f"{gpus} GPUs don't fill whole machines of {per_node}: choose a multiple of {per_node}, or fewer."
        )
    return gpus // per_node


class ScaledStep(Struct, frozen=True):
    """One step of all GPUs together.

    Attributes
    ----------
    batch_per_gpu : images per step on each.
    latency_ms : milliseconds per step.
    log_sd : of its logarithm; None: unknown.
    least_ms : lower bound of its interval, which is never below the single GPU's latency.
    one_gpu_ms : the single GPU's step at `batch_per_gpu` images.
    scaling_log_sd : from scaling alone; None on one GPU.
    """

    gpus: int
    nodes: int
    strategy: Strategy
    batch_per_gpu: int
    latency_ms: float
    log_sd: float | None
    least_ms: float
    one_gpu_ms: float
    scaling_log_sd: float | None

    @property
    def gpus_per_node(self) -> int:
        """GPUs that train in each node."""
        return self.gpus // self.nodes

    @property
    def interval(self) -> Interval | None:
        """Interval of the step; None: exact, or unknown."""
        if not self.log_sd:
            return None
        low_ms, high_ms = bounds(self.latency_ms, self.log_sd, self.least_ms)
        return Interval(float(low_ms), float(high_ms))

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
        if self.scaling_log_sd is None:
            return None
        spread = math.exp(quantile() * self.scaling_log_sd)
        return self.speed_up / spread, min(self.speed_up * spread, float(self.gpus))


def scaled_step(
    model: ScaleoutModel, step: OneGpuStep, interconnect: Interconnect, gpus: int, strategy: Strategy
) -> ScaledStep:
    """Step on `gpus` GPUs, part of a node or whole nodes; on one GPU it is `step` exactly.

    Raises InputError for an invalid number of GPUs, or a strategy that needs unknown inputs.
    """
    nodes = nodes_of(gpus, interconnect.gpus)
    per_node = gpus // nodes
    links, shared = interconnect.among(per_node), step.gradient_bytes
    alone = strategy is Strategy.ONE_PROCESS
    if alone and nodes > 1:
        raise InputError(f"One process can use the {per_node} GPUs of one machine only: choose another strategy.")
    if alone and step.tensors is None:
        raise InputError("Give the number of weight tensors: one process spends time on each.")
    in_node = copy_ms = 0.0
    # Over the slowest and the fastest network that the nodes may have.
    between = [0.0, 0.0]
    if not alone:
        in_node = float(node_sharing_ms(model, strategy, per_node, links, shared))
        between = [
            float(network_sharing_ms(model, strategy, gpus, nodes, gb_per_s, shared))
            for gb_per_s in links.network_gb_per_s
        ]
        # The part of the copy in one GPU's step is already in its latency.
        copy_ms = 0.0 if gpus == 1 else float(input_copy_ms(model, per_node, links, step.input_bytes))

    def over_ms(one_gpu_ms: float, between_ms: float) -> float:
        if alone:
            return float(one_process_ms(model, one_gpu_ms, float(gpus), links, shared, float(step.tensors or 0)))
        of_all = several_ms(model, strategy, links.link, one_gpu_ms, per_node, nodes, in_node, between_ms)
        return max(float(of_all), copy_ms)

    def scaled_ms(one_gpu_ms: float) -> float:
        return math.sqrt(math.prod(over_ms(one_gpu_ms, between_ms) for between_ms in between))

    # One GPU's error as it affects the whole step, and that of scaling.
    factor = math.exp(quantile() * (step.log_sd or 0.0))
    least_ms, latency_ms = step.latency_ms / factor, scaled_ms(step.latency_ms)
    log_sd, scaling_log_sd = step.log_sd, None
    if gpus > 1:
        width = model.widths[alone][links.link] if nodes == 1 else model.network_width
        scaling_log_sd = width.log_sd(1 - step.latency_ms / latency_ms, gpus)
        slowest_ms, fastest_ms = (over_ms(step.latency_ms, between_ms) for between_ms in between)
        scaling_log_sd = combined_sd(scaling_log_sd, log_sd_of(math.log(slowest_ms / fastest_ms) / 2))
        scaled_log_sd = log_sd_of(math.log(scaled_ms(step.latency_ms * factor) / scaled_ms(least_ms)) / 2)
        # The error of scaling alone is not the error of the step.
        log_sd = None if step.log_sd is None else combined_sd(scaled_log_sd, scaling_log_sd)
    return ScaledStep(
        gpus=gpus,
        nodes=nodes,
        strategy=strategy,
        batch_per_gpu=step.batch_size,
        latency_ms=latency_ms,
        log_sd=log_sd,
        least_ms=least_ms if gpus > 1 else 0.0,
        one_gpu_ms=step.latency_ms,
        scaling_log_sd=scaling_log_sd,
    )


def shares_host_memory(step: ScaledStep, links: Interconnect) -> bool:
    """Whether many GPUs of a machine communicate through its memory, which varies."""
    return links.link is Link.PCIE_HOST and step.gpus_per_node >= _MANY


def scaling_notes(steps: Iterable[ScaledStep], links: Interconnect) -> list[Note]:
    """Caveats of steps on one type of node."""
    scaled, notes = list(steps), []
    if any(shares_host_memory(step, links) for step in scaled):
        notes.append(Note(Code.NO_PEER_ACCESS))
    if any(step.nodes > 1 for step in scaled):
        low, high = links.network_gb_per_s
        if links.network_gbit_per_s is None:
            notes.append(Note(Code.UNKNOWN_NETWORK, low_gbit_per_s=8 * low, high_gbit_per_s=8 * high))
        elif low >= RDMA_GB_PER_S:
            notes.append(Note(Code.UNMEASURED_LINK, gbit_per_s=links.network_gbit_per_s))
    return notes


def whole_nodes(
    model: ScaleoutModel, steps: OfferTable, offers: Iterable[Instance], one_gpu: Callable[[OfferStep], OneGpuStep]
) -> OfferTable:
    """Scale each row of a multi-GPU instance, one GPU's step, to all its GPUs by ring all-reduce."""
    several = {offer.name: offer for offer in offers if 1 < offer.gpu_count <= MAX_GPUS}
    scaled: dict[int, tuple[Interconnect, ScaledStep]] = {}
    for row in steps:
        offer = several.get(row.instance)
        if offer is not None and row.latency_ms is not None:
            links = load_interconnects().of(offer)
            scaled[row.number] = links, scaled_step(model, one_gpu(row), links, offer.gpu_count, Strategy.RING)
    return on_all_gpus(steps, scaled)


def on_all_gpus(steps: OfferTable, scaled: Mapping[int, tuple[Interconnect, ScaledStep]]) -> OfferTable:
    """Return the table with some rows' steps of one GPU scaled out to nodes with these links."""
    several = {row: scaled_steps for row, scaled_steps in scaled.items() if scaled_steps[1].gpus > 1}
    if not several:
        return steps
    rows, scaled_steps = [*several], [step for _, step in several.values()]
    latency_ms, log_sd, least_ms = steps.latency_ms.copy(), steps.log_sd.copy(), steps.least_ms.copy()
    gpus, scaling_log_sd = steps.gpus.copy(), steps.scaling_log_sd.copy()
    latency_ms[rows] = [step.latency_ms for step in scaled_steps]
    log_sd[rows] = [math.nan if step.log_sd is None else step.log_sd for step in scaled_steps]
    least_ms[rows] = [step.least_ms for step in scaled_steps]
    gpus[rows] = [step.gpus for step in scaled_steps]
    scaling_log_sd[rows] = [step.scaling_log_sd or 0.0 for step in scaled_steps]
    basis, notes = list(steps.basis), list(steps.notes)
    for row, (links, step) in several.items():
        assumed = f" (assumed: {links.assumed})" if links.assumed else ""
        link = links.among(step.gpus_per_node).link.words
        how = Note(Code.SCALED_OUT, gpus=step.gpus, strategy=step.strategy.words, link=link, assumed=assumed)
        through_host = (Note(Code.HOST_MEMORY),) if shares_host_memory(step, links) else ()
        basis[row] = basis[row] if basis[row].is_rough else Basis.SCALED_OUT
        notes[row] = (how, *through_host, *notes[row])
    return replace(
        steps,
        latency_ms=latency_ms,
        log_sd=log_sd,
        least_ms=least_ms,
        gpus=gpus,
        scaling_log_sd=scaling_log_sd,
        basis=tuple(basis),
        notes=tuple(notes),
    )


class WholeNodePlan(Struct, frozen=True):
    """A training on whole nodes of one offer: the scaled step, and the plan of one epoch at the price of all nodes."""

    offer: Instance
    step: ScaledStep
    plan: Plan

    @property
    def fit(self) -> FitAnswer | None:
        """Whether a GPU's share fits in its memory; None if unknown."""
        return self.plan.fit

    @property
    def excess(self) -> float:
        """The larger of time over deadline and cost over budget; at most 1 if both are met, 0 without limits."""
        return self.plan.table.excess.item(self.plan.number)

    @property
    def label(self) -> str:
        """The instance, with its market if that isn't on-demand."""
        return self.offer.label

    @property
    def nodes(self) -> int:
        """Number of rented nodes."""
        return self.step.nodes

    @property
    def usd_per_hour(self) -> float:
        """Price of all nodes together."""
        return self.plan.offer.usd_per_hour

    @property
    def epoch_s(self) -> float:
        """Seconds of one pass over the images."""
        return self.plan.total_s

    @property
    def epoch_usd(self) -> float:
        """Cost of one pass over the images."""
        return self.plan.total_usd


class ScaledEpoch(Struct, frozen=True):
    """One pass over the images on a number of GPUs, at the price of whole nodes; None without an offer."""

    step: ScaledStep
    epoch_s: float
    epoch_usd: float | None

    @property
    def shares(self) -> tuple[float, float] | None:
        """Interval endpoints relative to the step, also valid for time and cost; None without an interval."""
        ends = self.step.interval
        return ends and (ends.low_ms / self.step.latency_ms, ends.high_ms / self.step.latency_ms)


class CurveRow(ScaledEpoch, frozen=True):
    """Curve point at a number of GPUs, also with each other strategy, and whether a GPU's share fits; None if measured.

    `over_one` is the speedup over one GPU with the whole batch; None for weak scaling, and if that step is unknown.
    """

    over_one: float | None
    others: Mapping[Strategy, ScaledEpoch]
    fit: FitAnswer | None

    @property
    def by_strategy_ms(self) -> Mapping[Strategy, float]:
        """Strategy -> its step."""
        return {strategy: epoch.step.latency_ms for strategy, epoch in self.others.items()}
