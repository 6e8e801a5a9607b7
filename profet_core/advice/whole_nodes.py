"""Nodes of several GPUs in advice: a row of one GPU becomes a row of all of the node's, each at the same batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from profet_core.advice.plans import Node
from profet_core.catalog import Instance
from profet_core.catalog.interconnects import load_interconnects
from profet_core.latency import Basis, StepTime
from profet_core.scaleout.model import ScaleoutModel
from profet_core.scaleout.offers import node_step
from profet_core.scaleout.step import ScaledStep
from profet_core.scaleout.strategies import MOST_GPUS
from profet_core.scaleout.work import GpuStep


@dataclass(frozen=True, slots=True)
class Gradients:
    """What GPUs that train together share, step by step.

    Attributes
    ----------
    parameters : of the network. precision : one of `scaleout.work.GRADIENT_BYTES`.
    pixels : of an image's side; None: not known.
    """

    parameters: float
    precision: str = "fp32"
    pixels: int | None = None


@dataclass(frozen=True, slots=True)
class WholeNodes:
    """Rows for `advise`, and which of them are of whole nodes."""

    rows: tuple[StepTime, ...]
    nodes: Mapping[str, Node]


def whole_nodes(
    model: ScaleoutModel,
    rows: Iterable[StepTime],
    offers: Iterable[Instance],
    gradients: Gradients,
    batch_size: int,
) -> WholeNodes:
    """Each row whose instance has several GPUs as the step on all of them, by the quickest way to share gradients.

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
        one = GpuStep(
            latency_ms=row.latency_ms,
            batch_size=batch_size,
            parameters=gradients.parameters,
            precision=gradients.precision,
            pixels=gradients.pixels,
            interval=row.interval,
        )
        step = node_step(model, one, offer)
        found.append(_on_all_gpus(row, offer, step))
        # One GPU's step taken for exact, what is left is the error of scaling.
        alone = node_step(model, replace(one, interval=None), offer).interval
        nodes[row.instance] = Node(step.gpus, 0.0 if alone is None else math.log(alone.high_ms / step.latency_ms))
    return WholeNodes(tuple(found), nodes)


def _on_all_gpus(row: StepTime, offer: Instance, step: ScaledStep) -> StepTime:
    """Nothing is known of the error where nothing is known of one GPU's."""
    links = load_interconnects().of(offer)
    assumed = f" (assumed: {links.assumed})" if links.assumed else ""
    notes = (f"{step.gpus} GPUs by {step.strategy.words} over {links.link.words}{assumed}", row.note)
    return replace(
        row,
        latency_ms=step.latency_ms,
        interval=step.interval if row.basis.is_exact or row.interval is not None else None,
        basis=row.basis if row.basis.is_rough else Basis.SCALED_OUT,
        note="; ".join(note for note in notes if note),
    )
