"""Trainings on several GPUs: curves, offers of whole nodes, time and cost of an epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profet_core.advice.plans import NodeTime, Plan
from profet_core.catalog.instance import Instance
from profet_core.catalog.interconnects import Interconnect, load_interconnects
from profet_core.errors import InputError
from profet_core.frames import frame_of
from profet_core.latency import Basis, Estimate, StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.messages import Code, Note
from profet_core.multi_gpu.law import ScaleoutModel, Strategy
from profet_core.multi_gpu.step import MOST_GPUS, GpuStep, ScaledStep, scaled_step, shares_host_memory
from profet_core.units import positive_number, whole_number


def usual_counts(per_node: int) -> tuple[int, ...]:
    """Default numbers of GPUs: 1, 2, 4, ... of a node, the whole node, then 2, 4, ... nodes.

    >>> usual_counts(8), usual_counts(6)
    ((1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 6, 12, 24, 48))
    """
    doubled = [2**power for power in range(MOST_GPUS.bit_length())]
    parts = {count for count in doubled if count <= per_node}
    return tuple(sorted(parts | {per_node * count for count in doubled if per_node * count <= MOST_GPUS}))


def batch_per_gpu(global_batch: int, gpus: int) -> int:
    """Share of a batch per GPU; raises InputError if it can't be divided evenly.

    >>> batch_per_gpu(256, 8)
    32
    """
    if whole_number("The global batch", global_batch) % whole_number("The number of GPUs", gpus):
        raise InputError(
            f"A global batch of {global_batch} does not divide evenly over {gpus} GPUs: choose a multiple."
        )
    return global_batch // gpus


def stops_paying(times: Sequence[float], costs: Sequence[float]) -> int | None:
    """Index of the last row worth taking, by increasing number of GPUs: beyond it, cost rises faster than speed.

    None if each additional one pays off.

    >>> stops_paying([100, 55, 40], [1.0, 1.1, 1.6]), stops_paying([100, 50], [1, 1])
    (1, None)
    """
    for place in range(len(times) - 1):
        faster, dearer = times[place] / times[place + 1], costs[place + 1] / costs[place]
        if dearer > faster:
            return place
    return None


@dataclass(frozen=True, slots=True)
class Gradients:
    """Gradients that GPUs exchange in each training step; fields as in `GpuStep`."""

    parameters: float
    gradients: str = "fp32"
    pixels: int | None = None
    tensors: int | None = None


def whole_nodes(
    model: ScaleoutModel,
    rows: Iterable[StepTime],
    offers: Iterable[Instance],
    gradients: Gradients,
    batch_size: int,
) -> list[StepTime]:
    """Scale each row of a multi-GPU instance, one GPU's step at `batch_size`, to all its GPUs by ring all-reduce."""
    several = {offer.name: offer for offer in offers if 1 < offer.gpu_count <= MOST_GPUS}
    found = []
    for row in rows:
        offer = several.get(row.instance)
        if offer is not None and row.latency_ms is not None:
            row = on_gpus(model, row, offer, offer.gpu_count, gradients, batch_size, Strategy.RING)[1]
        found.append(row)
    return found


def on_gpus(
    model: ScaleoutModel,
    row: StepTime,
    offer: Instance,
    gpus: int,
    gradients: Gradients,
    batch_size: int,
    strategy: Strategy,
) -> tuple[ScaledStep, StepTime]:
    """One GPU's step on `gpus`, part of the offer's node or whole nodes, also as a row of advice.

    Raises InputError if they don't fill whole nodes, there are more than were measured, or the latency is unknown.
    """
    one = GpuStep(
        latency_ms=positive_number(f"The latency of {row.instance}", row.latency_ms),
        batch_size=batch_size,
        parameters=gradients.parameters,
        gradients=gradients.gradients,
        pixels=gradients.pixels,
        tensors=gradients.tensors,
        log_sd=0.0 if row.basis.is_exact else row.log_sd,
    )
    links = load_interconnects().of(offer)
    step = scaled_step(model, one, links, gpus, strategy)
    if gpus == 1:
        return step, row
    assumed = f" (assumed: {links.assumed})" if links.assumed else ""
    link = links.among(step.gpus_per_node).link.words
    how = Note(Code.SCALED_OUT, gpus=gpus, strategy=strategy.words, link=link, assumed=assumed)
    through_host = (Note(Code.HOST_MEMORY),) if shares_host_memory(step, links) else ()
    estimate = Estimate(
        latency_ms=step.latency_ms,
        # The error is unknown if one GPU's error is unknown.
        log_sd=step.estimate.log_sd if row.basis.is_exact or row.log_sd is not None else None,
        least_ms=step.estimate.least_ms,
        basis=row.basis if row.basis.is_rough else Basis.SCALED_OUT,
        notes=(how, *through_host, *(note for note in row.notes if note.code is not Code.NODE_PRICE)),
        relative=row.relative,
        reach=row.reach,
    )
    return step, NodeTime(row.instance, estimate, gpus=gpus, scaling_log_sd=step.log_sd or 0.0)


@dataclass(frozen=True, slots=True)
class WholeNodePlan:
    """A training on whole nodes of one offer.

    Attributes
    ----------
    one : one GPU's step there. plan : one epoch, at the price of all nodes, without setup.
    fit : whether a GPU's share fits in its memory; None: unknown.
    is_anchor : the profile was recorded there.
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
    """One pass over the images on a number of GPUs.

    Attributes
    ----------
    epoch_usd : at the offer's price for whole nodes; None without an offer.
    """

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
    """Curve point at a number of GPUs.

    Attributes
    ----------
    over_one : for strong scaling, speedup over one GPU with the whole batch; None for weak scaling, and if that step is
        unknown.
    others : strategy -> result with it, if known.
    fit : whether a GPU's share fits in its memory; None if the step was measured.
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
