"""Scale one-GPU rows of advice to all GPUs of a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from profet_core.advice.plans import Node, Plan
from profet_core.catalog import Instance
from profet_core.catalog.interconnects import Interconnect, load_interconnects
from profet_core.latency import Basis, StepTime
from profet_core.messages import Code, Note
from profet_core.multi_gpu.law import ScaleoutModel
from profet_core.multi_gpu.offers import NodePlan
from profet_core.multi_gpu.step import (
    BEST,
    MOST_GPUS,
    GpuStep,
    ScaledStep,
    best_step,
    shares_host_memory,
    strategies_of,
)
from profet_core.units import positive_number


@dataclass(frozen=True, slots=True)
class Gradients:
    """Gradients that GPUs exchange in each training step.

    Attributes
    ----------
    parameters : of the network. gradients : one of `scaleout.work.GRADIENT_BYTES`; by default, frameworks keep FP32
        gradients in mixed precision too.
    pixels : image height and width; None if unknown. tensors : the network's weight tensors, for one process.
    """

    parameters: float
    gradients: str = "fp32"
    pixels: int | None = None
    tensors: int | None = None


@dataclass(frozen=True, slots=True)
class OnGpus:
    """A step on several GPUs, as a row of advice."""

    step: ScaledStep
    row: StepTime
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNodePlan(NodePlan):
    """A training on whole nodes of one offer.

    Attributes
    ----------
    one : one GPU's step there. plan : one epoch, at the price of all nodes.
    is_anchor : the profile was recorded there.
    """

    one: StepTime
    plan: Plan
    is_anchor: bool = False

    @property
    def label(self) -> str:
        """The instance, with its market if that isn't on-demand."""
        return self.plan.label


@dataclass(frozen=True, slots=True)
class WholeNodes:
    """Rows for `advise`, and which of them describe whole nodes."""

    rows: tuple[StepTime, ...]
    nodes: Mapping[str, Node]


def whole_nodes(
    model: ScaleoutModel,
    rows: Iterable[StepTime],
    offers: Iterable[Instance],
    gradients: Gradients,
    batch_size: int,
) -> WholeNodes:
    """Scale each row of a multi-GPU instance to all its GPUs, with the fastest way to exchange gradients.

    Parameters
    ----------
    rows : steps of one GPU each, at `batch_size`.
    """
    several = {offer.name: offer for offer in offers if 1 < offer.gpu_count <= MOST_GPUS}
    found, nodes = [], {}
    for row in rows:
        offer = several.get(row.instance)
        if offer is None or row.latency_ms is None:
            found.append(row)
            continue
        on_all = on_gpus(model, row, offer, offer.gpu_count, gradients, batch_size)
        found.append(on_all.row)
        nodes[row.instance] = on_all.node
    return WholeNodes(tuple(found), nodes)


def on_gpus(
    model: ScaleoutModel,
    row: StepTime,
    offer: Instance,
    gpus: int,
    gradients: Gradients,
    batch_size: int,
    strategy: str = BEST,
) -> OnGpus:
    """Scale one GPU's step to `gpus`: part of the offer's node, or whole nodes.

    Raises
    ------
    InputError : not whole nodes, more GPUs than were measured, an unknown strategy, or no latency.
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
    step = best_step(model, one, links, gpus, strategies_of(strategy))
    of_all = row if gpus == 1 else _scaled(row, step, links)
    return OnGpus(step, of_all, Node(gpus, step.log_sd or 0.0))


def _scaled(row: StepTime, step: ScaledStep, links: Interconnect) -> StepTime:
    """The error is unknown if one GPU's error is unknown."""
    assumed = f" (assumed: {links.assumed})" if links.assumed else ""
    link = links.among(step.layout.gpus_per_node).link.words
    how = Note.of(Code.SCALED_OUT, gpus=step.gpus, strategy=step.strategy.words, link=link, assumed=assumed)
    through_host = (Note(Code.HOST_MEMORY),) if shares_host_memory(step, links) else ()
    of_one = tuple(note for note in row.notes if note.code is not Code.NODE_PRICE)
    return replace(
        row,
        latency_ms=step.latency_ms,
        log_sd=step.estimate.log_sd if row.basis.is_exact or row.log_sd is not None else None,
        least_ms=step.estimate.least_ms,
        basis=row.basis if row.basis.is_rough else Basis.SCALED_OUT,
        notes=(how, *through_host, *of_one),
    )
