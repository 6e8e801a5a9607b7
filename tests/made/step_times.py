"""Made-up step times and offers: latencies, prices and intervals so that every figure of a plan is known."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

from profet_core import Instance
from profet_core.latency import Basis, Estimate, Relative, StepTime
from profet_core.training.cost import Workload
from profet_core.training.plans import Limits, Plan, plan_of

#: 1,000 steps an epoch, 36 epochs: a step of 100 ms makes an hour.
HOUR_AT_100_MS = Workload(images=64_000, batch_size=64, epochs=36)
#: Half the width of a 90 % interval, in standard deviations.
Z90 = NormalDist().inv_cdf(0.95)


def row(
    instance: str,
    latency_ms: float | None,
    deviation: float | None = 0.1,
    basis: Basis = Basis.MEASURED,
    relative_to: tuple[str, float] | None = None,
) -> StepTime:
    """A step time with the 90 % interval of a log-normal error, and that of its ratio to another instance's."""
    known = latency_ms is not None and deviation is not None
    estimate = Estimate(
        latency_ms=latency_ms,
        basis=basis,
        log_sd=deviation if known else None,
        relative=None if relative_to is None else Relative(*relative_to),
    )
    return StepTime(instance, estimate)


def changed(step_time: StepTime, **values: object) -> StepTime:
    """A step time whose estimate has other values."""
    return replace(step_time, estimate=replace(step_time.estimate, **values))


def offer(name: str, usd_per_hour: float, **others: object) -> Instance:
    """On demand, with a GPU of its own."""
    gpu = f"GPU of {name}"
    made = Instance(name, gpu, 1, 16, 4, usd_per_hour, "here", "linux", "on-demand", "available", "2026", "")
    return replace(made, **others)


def planned(
    step_time: StepTime, price: Instance, limits: Limits | None = None, workload: Workload = HOUR_AT_100_MS
) -> Plan:
    """The plan of one step time on one offer."""
    return plan_of(workload, step_time, price, limits or Limits())


#: Slow and cheap, in between, fast and dear, and one that the middle beats; $1, $1.5, $2.4 and $3 for the hour's work.
ROWS = (row("slow", 200), row("middle", 100), row("fast", 50), row("beaten", 150, 0.2))
OFFERS = (offer("slow", 0.5), offer("middle", 1.5), offer("fast", 4.8), offer("beaten", 2.0))
