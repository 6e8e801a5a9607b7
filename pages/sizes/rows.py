"""A step at one size on one instance, with what its training takes and costs there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from profet_core.advice.plans import Plan, plan_of
from profet_core.advice.request import Limits, Request, Workload
from profet_core.catalog import Instance
from profet_core.latency import StepTime
from profet_core.memory.fit import FitAnswer, Verdict
from profet_core.units import MS_PER_S


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One instance at one size.

    Attributes
    ----------
    plan : the training there.
    fit : whether a step fits in its memory; None where the models can't tell.
    """

    step: StepTime
    batch_size: int
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

    @property
    def images_per_s(self) -> float:
        """Training images a second."""
        return self.batch_size / self.plan.latency_ms * MS_PER_S

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against it."""
        return self.fit is None or may_fit(self.fit)


def may_fit(fit: FitAnswer) -> bool:
    """Whether it isn't known not to."""
    return fit.verdict is not Verdict.DOES_NOT_FIT


def size_row(step: StepTime, offer: Instance, workload: Workload, fit: FitAnswer | None) -> SizeRow:
    """A row of a step whose latency is known."""
    plan = plan_of(Request(workload, Limits()), step, offer)
    return SizeRow(step, workload.batch_size, plan, fit)


def usual_offers(offers: Iterable[Instance], *, include_retired: bool) -> Mapping[str, Instance]:
    """Instance -> the cheapest of its offers."""
    found: dict[str, Instance] = {}
    for offer in offers:
        if offer.status == "retired" and not include_retired:
            continue
        if offer.name not in found or offer.usd_per_hour < found[offer.name].usd_per_hour:
            found[offer.name] = offer
    return found
