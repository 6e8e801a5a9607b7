"""A training on several GPUs, as it was asked for and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_core.catalog.instance import Instance
from profet_core.catalog.interconnects import Interconnect
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.scaleout.law import Strategy
from profet_core.scaleout.offers import NodePlan
from profet_core.scaleout.step import ScaledStep


@dataclass(frozen=True, slots=True)
class CurveRow:
    """So many GPUs.

    Attributes
    ----------
    epoch_usd : at the offer's price, its nodes paid whole; None where no offer is named.
    over_one : of strong scaling, how many times as fast as one GPU with the whole batch; None of weak scaling, and
        where that one's step can't be told.
    other_ms : strategy -> its step, of those that can be told.
    fit : whether a GPU's part fits in its memory; None where the step was measured.
    """

    step: ScaledStep
    epoch_s: float
    epoch_usd: float | None
    over_one: float | None
    other_ms: Mapping[Strategy, float]
    fit: FitAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledTraining:
    """All of it.

    Attributes
    ----------
    network : its name; "" where only its `parameters` are known.
    global_batch : of all GPUs, shared by them; None: each keeps its own.
    offer : whose nodes the curve is on; None: `gpu` in a usual node. one_gpu : what the curve starts from.
    last_paying : number of GPUs after which the next makes an epoch dearer by a larger factor than faster; None: none.
    plans : each offer of several GPUs as one node, the cheapest epoch first, and last what a step does not fit on.
    """

    network: str
    parameters: float
    precision: str
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
