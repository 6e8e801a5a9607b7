"""Trainings on several GPUs: curves, offers of whole nodes, time and cost of an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profet_core.catalog.instance import Instance
from profet_core.catalog.interconnects import Interconnect
from profet_core.errors import InputError
from profet_core.frames import frame_of
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.multi_gpu.law import Strategy
from profet_core.multi_gpu.step import MOST_GPUS, ScaledStep
from profet_core.units import whole_number


def usual_counts(per_node: int) -> tuple[int, ...]:
    """Default numbers of GPUs.

    They are 1, 2, 4, ... of a node, the whole node, then 2, 4, ... nodes.

    >>> usual_counts(8), usual_counts(6)
    ((1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 6, 12, 24, 48))
    """
    doubled = [2**power for power in range(MOST_GPUS.bit_length())]
    parts = {count for count in doubled if count <= per_node}
    return tuple(sorted(parts | {per_node * count for count in doubled if per_node * count <= MOST_GPUS}))


def batch_per_gpu(global_batch: int, gpus: int) -> int:
    """Share of a batch per GPU.

    >>> batch_per_gpu(256, 8)
    32

    Raises
    ------
    InputError : it can't be divided evenly.
    """
    if whole_number("The global batch", global_batch) % whole_number("The number of GPUs", gpus):
        raise InputError(
            f"A global batch of {global_batch} does not divide evenly over {gpus} GPUs: choose a multiple."
        )
    return global_batch // gpus


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
    plans: tuple[NodePlan, ...]
    warnings: tuple[str, ...]

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
