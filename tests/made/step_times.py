"""Made-up step times and offers: latencies, prices and intervals so that every figure of a plan is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from msgspec.structs import replace

from profet_core import Instance
from profet_core.latency import Basis
from profet_core.offers import OfferStep, OfferTable
from profet_core.training.cost import Workload
from profet_core.training.plans import Limits, Plan, costed

#: 1,000 steps an epoch, 36 epochs: a step of 100 ms makes an hour.
HOUR_AT_100_MS = Workload(images=64_000, batch_size=64, epochs=36)
#: Half the width of a 90 % interval, in standard deviations.
Z90 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True)
class MadeStep:
    """A step time with the 90 % interval of a log-normal error, and that of its ratio to another instance's."""

    instance: str
    latency_ms: float | None
    deviation: float | None = 0.1
    basis: Basis = Basis.MEASURED
    relative_to: tuple[str, float] = ("", np.nan)


row = MadeStep


def steps_of(rows: Sequence[MadeStep], offers: Sequence[Instance] | None = None) -> OfferTable:
    """The steps as a table, each on an offer of its name unless others are given."""
    offers = offers or [offer(row.instance, 1.0) for row in rows]
    latencies_ms = [np.nan if row.latency_ms is None else row.latency_ms for row in rows]
    log_sds = [np.nan if row.deviation is None else row.deviation for row in rows]
    return replace(
        OfferTable.of(offers, latencies_ms, log_sds, [row.basis for row in rows]),
        relative_to=tuple(row.relative_to[0] for row in rows),
        relative_log_sd=np.array([row.relative_to[1] for row in rows]),
    )


def values_of(step: OfferStep) -> tuple[object, ...]:
    """What a row says of its step, to compare rows of different tables."""
    return step.instance, step.latency_ms, step.log_sd, step.basis, step.note, step.interval, step.members


def by_name(steps: OfferTable) -> dict[str, OfferStep]:
    """Instance -> its row."""
    return {step.instance: step for step in steps}


def offer(name: str, usd_per_hour: float, **others: object) -> Instance:
    """On demand, with a GPU of its own."""
    gpu = f"GPU of {name}"
    made = Instance(name, gpu, 1, 16, 4, usd_per_hour, "here", "linux", "on-demand", "available", "2026", "")
    return replace(made, **others)


def plans_of(
    *pairs: tuple[MadeStep, Instance], limits: Limits | None = None, workload: Workload = HOUR_AT_100_MS, **more: object
) -> list[Plan]:
    """The plans of step times, each on one offer, in one table."""
    steps = steps_of([step for step, _ in pairs], [price for _, price in pairs])
    return list(costed(workload, steps, limits or Limits(), **more))


def planned(step: MadeStep, price: Instance, limits: Limits | None = None, workload: Workload = HOUR_AT_100_MS) -> Plan:
    """The plan of one step time on one offer."""
    return plans_of((step, price), limits=limits, workload=workload)[0]


#: Slow and cheap, in between, fast and dear, and one that the middle beats; $1, $1.5, $2.4 and $3 for the hour's work.
ROWS = (row("slow", 200), row("middle", 100), row("fast", 50), row("beaten", 150, 0.2))
OFFERS = (offer("slow", 0.5), offer("middle", 1.5), offer("fast", 4.8), offer("beaten", 2.0))
