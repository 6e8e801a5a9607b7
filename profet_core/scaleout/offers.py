"""What a training on several GPUs takes and costs at real offers, whose nodes are paid for whole."""

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
    usd_per_hour : of all nodes together. epoch_s, epoch_usd : of one pass over the images, without set-up.
    fit : whether a GPU's part fits in its memory; None: not asked, or not known.
    """

    offer: Instance
    step: ScaledStep
    usd_per_hour: float
    epoch_s: float
    epoch_usd: float
    fit: FitAnswer | None = None

    @property
    def nodes(self) -> int:
        """How many are rented."""
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
    """The step of whole nodes of an offer, each GPU at `step.batch_size` images.

    This is what a price of a node is for: with a batch per GPU kept, give one GPU's step at that batch; with the global
    batch kept, one GPU's step at `batch_per_gpu(global_batch, offer.gpu_count * nodes)`.

    Raises
    ------
    InputError : more GPUs than were ever measured, or no such strategy.
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
    """Time and money of an epoch on whole nodes of an offer."""
    scaled = node_step(model, step, offer, nodes=nodes, strategy=strategy, interconnects=interconnects)
    epoch_ms = epoch_steps(images, scaled.batch_size, validation_images) * scaled.latency_ms
    usd_per_hour = nodes * offer.usd_per_hour
    return NodePlan(offer, scaled, usd_per_hour, epoch_ms / MS_PER_S, cost_usd(epoch_ms, usd_per_hour))


def stops_paying(times: Sequence[float], costs: Sequence[float]) -> int | None:
    """Place of the last row worth taking: the next one makes an epoch dearer by a larger factor than faster.

    >>> stops_paying([100, 55, 40], [1.0, 1.1, 1.6]), stops_paying([100, 50], [1, 1])
    (1, None)

    Parameters
    ----------
    times, costs : of an epoch, in the order of more and more GPUs.

    Returns
    -------
    None where each further one pays.
    """
    for place in range(len(times) - 1):
        faster, dearer = times[place] / times[place + 1], costs[place + 1] / costs[place]
        if dearer > faster:
            return place
    return None
