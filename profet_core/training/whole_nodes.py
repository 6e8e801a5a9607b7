"""Trainings on several GPUs: curves, offers of whole nodes, time and cost of an epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from profet_core.catalog.frames import frame_of
from profet_core.catalog.instance import Instance
from profet_core.catalog.interconnects import Interconnect, load_interconnects
from profet_core.errors import Code, Note
from profet_core.latency import Basis, Estimate, StepTime
from profet_core.training.memory import FitAnswer
from profet_core.training.plans import NodeTime, Plan
from profet_core.training.scaling_model import ScaleoutModel, Strategy
from profet_core.training.several_gpus import MAX_GPUS, GpuStep, ScaledStep, scaled_step, shares_host_memory
from profet_core.units import positive_number


@dataclass(frozen=True, slots=True)
class Gradients:
    """Gradients that GPUs exchange in each training step; fields as in `GpuStep`."""

    parameters: float
    gradients: str = "fp32"
    pixels: int | None = None
    tensors: int | None = None

    def step(self, row: StepTime, batch_size: int) -> GpuStep:
        """One GPU's step with these gradients; InputError if its latency is unknown."""
        return GpuStep(
            latency_ms=positive_number(f"The latency of {row.instance}", row.latency_ms),
            batch_size=batch_size,
            parameters=self.parameters,
            gradients=self.gradients,
            pixels=self.pixels,
            tensors=self.tensors,
            log_sd=0.0 if row.basis.is_exact else row.log_sd,
        )


def whole_nodes(
    model: ScaleoutModel,
    rows: Iterable[StepTime],
    offers: Iterable[Instance],
    gradients: Gradients,
    batch_size: int,
) -> list[StepTime]:
    """Scale each row of a multi-GPU instance, one GPU's step at `batch_size`, to all its GPUs by ring all-reduce."""
    several = {offer.name: offer for offer in offers if 1 < offer.gpu_count <= MAX_GPUS}
    found = []
    for row in rows:
        offer = several.get(row.instance)
        if offer is not None and row.latency_ms is not None:
            links = load_interconnects().of(offer)
            one = gradients.step(row, batch_size)
            row = node_time(row, links, scaled_step(model, one, links, offer.gpu_count, Strategy.RING))
        found.append(row)
    return found


def node_time(row: StepTime, links: Interconnect, step: ScaledStep) -> StepTime:
    """Row of advice for one GPU's step of `row`, scaled out to `step` on nodes with these links."""
    if step.gpus == 1:
        return row
    assumed = f" (assumed: {links.assumed})" if links.assumed else ""
    link = links.among(step.gpus_per_node).link.words
    how = Note(Code.SCALED_OUT, gpus=step.gpus, strategy=step.strategy.words, link=link, assumed=assumed)
    through_host = (Note(Code.HOST_MEMORY),) if shares_host_memory(step, links) else ()
    estimate = Estimate(
        latency_ms=step.latency_ms,
        log_sd=step.estimate.log_sd,
        least_ms=step.estimate.least_ms,
        basis=row.basis if row.basis.is_rough else Basis.SCALED_OUT,
        notes=(how, *through_host, *(note for note in row.notes if note.code is not Code.NODE_PRICE)),
        relative=row.relative,
        parts=row.parts,
    )
    return NodeTime(row.instance, estimate, gpus=step.gpus, scaling_log_sd=step.log_sd or 0.0)


@dataclass(frozen=True, slots=True)
class WholeNodePlan:
    """A training on whole nodes of one offer: `one` GPU's step, and one epoch at the price of all nodes.

    `fit`: whether a GPU's share fits in its memory; None if unknown.
    """

    offer: Instance
    step: ScaledStep
    one: StepTime
    plan: Plan
    fit: FitAnswer | None
    is_anchor: bool

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


@dataclass(frozen=True, slots=True)
class ScaledEpoch:
    """One pass over the images on a number of GPUs, at the price of whole nodes; None without an offer."""

    step: ScaledStep
    epoch_s: float
    epoch_usd: float | None

    @property
    def shares(self) -> tuple[float, float] | None:
        """Interval endpoints relative to the step, also valid for time and cost; None without an interval."""
        ends = self.step.interval
        return ends and (ends.low_ms / self.step.latency_ms, ends.high_ms / self.step.latency_ms)


@dataclass(frozen=True, slots=True)
class CurveRow(ScaledEpoch):
    """Curve point at a number of GPUs, also with each other strategy, and whether a GPU's share fits; None if measured.

    `over_one` is the speedup over one GPU with the whole batch; None for weak scaling, and if that step is unknown.
    """

    over_one: float | None
    others: Mapping[Strategy, ScaledEpoch]
    fit: FitAnswer | None

    @property
    def other_ms(self) -> Mapping[Strategy, float]:
        """Strategy -> its step."""
        return {strategy: epoch.step.latency_ms for strategy, epoch in self.others.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledTraining:
    """A training on several GPUs: scaling curve and plans.

    Attributes
    ----------
    network : its name; "" if only its `parameters` are known.
    global_batch : shared by all GPUs; None: each keeps its own.
    offer : node type of the curve; None: `gpu` in a default node. one_gpu : starting point of the curve.
    last_paying : number of GPUs beyond which cost per epoch rises faster than speed; None: none.
    plans : each multi-GPU offer as one node, or as the requested number of GPUs; cheapest epoch first, offers where a
        step doesn't fit last.
    """

    network: str
    parameters: float
    gradients: str
    strategy: str
    global_batch: int | None
    images: int
    validation_images: int
    offer: Instance | None
    gpu: str
    one_gpu: StepTime
    interconnect: Interconnect
    curve: tuple[CurveRow, ...]
    last_paying: int | None
    plans: tuple[WholeNodePlan, ...]
    warnings: tuple[Note, ...]

    def to_frame(self) -> Any:
        """One row per number of GPUs, as a `pandas.DataFrame`: step, interval, time and cost of an epoch."""
        return frame_of(
            {
                "gpus": row.step.gpus,
                "nodes": row.step.nodes,
                "latency_ms": row.step.latency_ms,
                "low_ms": row.step.interval and row.step.interval.low_ms,
                "high_ms": row.step.interval and row.step.interval.high_ms,
                "epoch_s": row.epoch_s,
                "epoch_usd": row.epoch_usd,
                "over_one": row.over_one,
            }
            for row in self.curve
        )
