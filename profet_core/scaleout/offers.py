"""Time and cost of multi-GPU training at offers, at the whole-node price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.catalog.instance import Instance
from profet_core.catalog.interconnects import Interconnects, load_interconnects
from profet_core.cost import cost_usd, epoch_steps
from profet_core.memory.fit import FitAnswer
from profet_core.scaleout.model import ScaleoutModel
from profet_core.scaleout.step import ScaledStep, best_step
from profet_core.scaleout.strategies import BEST, strategies_of
from profet_core.scaleout.work import GpuStep
from profet_core.units import MS_PER_S, whole_number


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A training on whole nodes of one offer.

    Attributes
    ----------
    usd_per_hour : of all nodes together. epoch_s, epoch_usd : of one pass over the images, without setup.
    fit : whether a GPU's share fits in its memory; None: not requested, or unknown.
    """

    offer: Instance
    step: ScaledStep
    usd_per_hour: float
    epoch_s: float
    epoch_usd: float
    fit: FitAnswer | None = None

    @property
    def nodes(self) -> int:
        """Number of rented nodes."""
        return self.step.nodes


def node_step(
    model: ScaleoutModel,
    step: GpuStep,
    offer: Instance,
    *,
    nodes: int = 1,
    strategy: str = BEST,
    interconnects: Interconnects | None = None,
) -> ScaledStep:
    """Step of whole nodes of an offer, each GPU at `step.batch_size` images.

    This matches the price of a node. For a fixed per-GPU batch, give one GPU's step at that batch. For a fixed global
    batch, give one GPU's step at `batch_per_gpu(global_batch, offer.gpu_count * nodes)`.

    Raises
    ------
    InputError : more GPUs than were measured, or an unknown strategy.
    """
    links = (interconnects or load_interconnects()).of(offer)
    gpus = offer.gpu_count * whole_number("The number of nodes", nodes)
    return best_step(model, step, links, gpus, strategies_of(strategy))


def node_plan(
    model: ScaleoutModel,
    step: GpuStep,
    offer: Instance,
    *,
    images: int,
    validation_images: int = 0,
    nodes: int = 1,
    strategy: str = BEST,
    interconnects: Interconnects | None = None,
) -> NodePlan:
    """Time and cost of an epoch on whole nodes of an offer."""
    scaled = node_step(model, step, offer, nodes=nodes, strategy=strategy, interconnects=interconnects)
    epoch_ms = epoch_steps(images, scaled.batch_size, validation_images) * scaled.latency_ms
    usd_per_hour = nodes * offer.usd_per_hour
    return NodePlan(offer, scaled, usd_per_hour, epoch_ms / MS_PER_S, cost_usd(epoch_ms, usd_per_hour))


def stops_paying(times: Sequence[float], costs: Sequence[float]) -> int | None:
    """Index of the last row worth taking: beyond it, cost per epoch rises faster than speed.

    >>> stops_paying([100, 55, 40], [1.0, 1.1, 1.6]), stops_paying([100, 50], [1, 1])
    (1, None)

    Parameters
    ----------
    times, costs : per epoch, by increasing number of GPUs.

    Returns
    -------
    None if each additional one pays off.
    """
    for place in range(len(times) - 1):
        faster, dearer = times[place] / times[place + 1], costs[place + 1] / costs[place]
        if dearer > faster:
            return place
    return None
