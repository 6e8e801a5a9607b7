"""A training on real machines: each offer as so many whole nodes, and what an epoch takes and costs there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pages.scale_out.source import Source
from profet_core import InputError
from profet_core.advice.plans import Plan, plan_of
from profet_core.advice.request import Limits, Request, Workload
from profet_core.advice.whole_nodes import Gradients, on_gpus
from profet_core.catalog import Instance
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer, does_not_fit
from profet_core.scaleout.curve import batch_per_gpu, usual_counts
from profet_core.scaleout.model import ScaleoutModel
from profet_core.scaleout.step import ScaledStep


@dataclass(frozen=True, slots=True)
class OutRow:
    """One offer as `nodes` whole nodes.

    Attributes
    ----------
    one : one GPU's step there. step : of all of them.
    plan : of one epoch, at the price of all nodes.
    fit : whether a step fits in one GPU's memory; None where that is not known.
    """

    offer: Instance
    nodes: int
    one: StepTime
    step: ScaledStep
    plan: Plan
    fit: FitAnswer | None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every offer.

    Attributes
    ----------
    batch_of_all : kept as GPUs are added (strong scaling); None: each GPU's is (weak).
    strategy : one of `Strategy`.
    """

    model: ScaleoutModel
    source: Source
    gradients: Gradients
    strategy: str
    batch_of_all: int | None
    images: int
    validation_images: int

    def batch_on(self, gpus: int) -> int | None:
        """Images a step of each GPU; None where the batch of all can't be shared evenly."""
        if self.batch_of_all is None:
            return self.source.batch_size
        return None if self.batch_of_all % gpus else batch_per_gpu(self.batch_of_all, gpus)

    def row(self, offer: Instance, gpus: int, strategy: str | None = None) -> OutRow | None:
        """An offer with so many GPUs at work, its nodes paid whole; None where its step isn't known."""
        batch_size = self.batch_on(gpus)
        one = None if batch_size is None else self.source.step_at(offer, batch_size)
        if one is None or batch_size is None:
            return None
        try:
            found = on_gpus(self.model, one, offer, gpus, self.gradients, batch_size, strategy or self.strategy)
        except InputError:
            # No whole nodes.
            return None
        nodes = -(-gpus // offer.gpu_count)
        paid = replace(offer, usd_per_hour=nodes * offer.usd_per_hour)
        work = Workload(self.images, batch_size, validation_images=self.validation_images)
        plan = plan_of(Request(work, Limits()), found.row, paid, node=found.node)
        return OutRow(offer, nodes, one, found.step, plan, self.source.fit_at(offer, batch_size))


def rows_of(question: Question, offers: Iterable[Instance], gpus: int | None) -> list[OutRow]:
    """The offers that make `gpus` GPUs of whole nodes, or one node each of several GPUs; the cheapest epoch first,
    those that it does not fit on last."""
    found = [
        question.row(offer, gpus or offer.gpu_count)
        for offer in offers
        if (offer.gpu_count > 1 if gpus is None else gpus % offer.gpu_count == 0)
    ]
    rows = [row for row in found if row is not None]
    return sorted(rows, key=lambda row: (does_not_fit(row.fit), row.plan.total_usd, row.plan.total_s))


def counts_of(offer: Instance, gpus: int) -> Sequence[int]:
    """Numbers of GPUs that its curves have: as `profet scaleout` has them, and `gpus`, the table's."""
    return sorted({gpus, *usual_counts(offer.gpu_count)})
