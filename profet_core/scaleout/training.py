"""Result of a training on several GPUs."""

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
