"""Time and cost of a plan per step, per epoch or for the whole training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from profet_core.advice.plans import Plan, TotalInterval
from profet_core.cost import Workload
from profet_core.units import MS_PER_S, TimeUnit, shared_time_unit

#: Steps that the cost per step is shown for: one costs too little to read.
COSTED_STEPS = 1_000


class Per(StrEnum):
    """What time and cost are of; the values name columns of exports."""

    STEP = "step"
    EPOCH = "epoch"
    TRAINING = "training"

    def of(self, workload: Workload, plan: Plan) -> Plan:
        """The plan with this share of its time and cost; a step on several GPUs has as many times the images."""
        if self is Per.STEP:
            share = plan.latency_ms / MS_PER_S / plan.total_s
        else:
            share = 1 / workload.epochs if self is Per.EPOCH else 1.0
        costed, ends = share * COSTED_STEPS if self is Per.STEP else share, plan.interval
        interval = ends and TotalInterval(
            ends.low_s * share, ends.high_s * share, ends.low_usd * costed, ends.high_usd * costed
        )
        return replace(plan, total_s=plan.total_s * share, total_usd=plan.total_usd * costed, interval=interval)

    def unit(self, workload: Workload, plans: Iterable[Plan]) -> TimeUnit:
        """The one unit that cards, bars, table and dialog show these plans' times in."""
        return shared_time_unit(self.of(workload, plan).total_s for plan in plans)

    @property
    def cost_suffix(self) -> str:
        """What a cost is for, where the view does not say it."""
        return f" per {COSTED_STEPS:,} steps" if self is Per.STEP else ""
