"""A training on several GPUs, as it was asked for and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profet_core.catalog.instance import Instance
from profet_core.catalog.interconnects import Interconnect
from profet_core.frames import frame_of
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.scaleout.law import Strategy
from profet_core.scaleout.offers import NodePlan
from profet_core.scaleout.step import ScaledStep


@dataclass(frozen=True, slots=True)
class ScaledEpoch:
    """One pass over the images on so many GPUs.

    Attributes
    ----------
    epoch_usd : at the offer's price, its nodes paid whole; None where no offer is named.
    """

    step: ScaledStep
    epoch_s: float
    epoch_usd: float | None

    @property
    def shares(self) -> tuple[float, float] | None:
        """Both ends of the step's interval as shares of the step: those of time and cost too; None without one."""
        ends = self.step.interval
        return ends and (ends.low_ms / self.step.latency_ms, ends.high_ms / self.step.latency_ms)


@dataclass(frozen=True, slots=True)
class CurveRow(ScaledEpoch):
    """So many GPUs.

    Attributes
    ----------
    over_one : of strong scaling, how many times as fast as one GPU with the whole batch; None of weak scaling, and
        where that one's step is unknown.
    others : strategy -> the same by it, where known.
    fit : whether a GPU's part fits in its memory; None where the step was measured.
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
    """All of it.

    Attributes
    ----------
    network : its name; "" where only its `parameters` are known.
    global_batch : of all GPUs, shared by them; None: each keeps its own.
    offer : whose nodes the curve is on; None: `gpu` in a usual node. one_gpu : what the curve starts from.
    last_paying : number of GPUs after which the next makes an epoch dearer by a larger factor than faster; None: none.
    plans : each offer of several GPUs as one node, or as so many as were asked for; the cheapest epoch first, and last
        what a step does not fit on.
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
        """One row a number of GPUs, as a `pandas.DataFrame`: step, interval, time and cost of an epoch."""
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
