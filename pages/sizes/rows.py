"""A step at one size on one instance, with what its training takes and costs there."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.advice.plans import Plan, plan_of
from profet_core.advice.request import Limits, Request, Workload
from profet_core.catalog import Instance
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One instance at one size.

    Attributes
    ----------
    plan : the training there.
    fit : whether a step fits in its memory; None where the models can't tell.
    """

    step: StepTime
    plan: Plan
    fit: FitAnswer | None

    @property
    def instance(self) -> str:
        """Name of the instance."""
        return self.step.instance

    @property
    def ends_ms(self) -> tuple[float, float] | None:
        """Both ends of the step latency's interval, milliseconds."""
        interval = self.step.interval
        return None if interval is None else (interval.low_ms, interval.high_ms)


def size_row(step: StepTime, offer: Instance, workload: Workload, fit: FitAnswer | None) -> SizeRow:
    """A row of a step whose latency is known."""
    return SizeRow(step, plan_of(Request(workload, Limits()), step, offer), fit)
