"""What the bars, the cards and the table show per row: time and cost of a step, an epoch or the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from profet_core.advice.plans import Plan
from profet_core.advice.request import Workload
from profet_core.advice.rows import OfferRow
from profet_core.catalog.gpus import Gpus
from profet_core.energy.estimate import Energy, training_energy
from profet_core.energy.regions import Region
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_usd, time_unit

#: Steps that the cost per step is shown for: one costs too little to read.
COSTED_STEPS = 1_000


class Per(StrEnum):
    """What time and cost are of; the values are those of links and exports."""

    STEP = "step"
    EPOCH = "epoch"
    TRAINING = "training"

    def share(self, workload: Workload, plan: Plan) -> float:
        """Its share of the training's time on a plan; a step on several GPUs has as many times the images."""
        if self is Per.TRAINING:
            return 1.0
        if self is Per.EPOCH:
            return 1 / workload.epochs
        return plan.latency_ms / 1_000 / plan.total_s

    def cost_share(self, workload: Workload, plan: Plan) -> float:
        """As `share`, of the cost; that of a step is per `COSTED_STEPS`."""
        return self.share(workload, plan) * (COSTED_STEPS if self is Per.STEP else 1)


def time_words(per: Per, workload: Workload, plan: Plan) -> str:
    """'13.2 h'."""
    seconds = plan.total_s * per.share(workload, plan)
    return time_unit(seconds).words(seconds)


def cost_words(per: Per, workload: Workload, plan: Plan) -> str:
    """'$44.10'."""
    return format_usd(plan.total_usd * per.cost_share(workload, plan))


@dataclass(frozen=True, slots=True)
class TableRow:
    """One plan, with all that the table shows.

    Attributes
    ----------
    share, cost_share : of the whole training's time and cost that are shown.
    energy : of the whole training; None where the machine's power is not known.
    fit : None where nothing is known of its memory.
    """

    plan: Plan
    share: float
    cost_share: float
    energy: Energy | None
    fit: FitAnswer | None

    @property
    def time_s(self) -> float:
        """Seconds."""
        return self.plan.total_s * self.share

    @property
    def time_ends_s(self) -> tuple[float, float] | None:
        """Both ends of its interval."""
        ends = self.plan.interval
        return ends and (ends.low_s * self.share, ends.high_s * self.share)

    @property
    def cost_usd(self) -> float:
        """US dollars."""
        return self.plan.total_usd * self.cost_share

    @property
    def cost_ends_usd(self) -> tuple[float, float] | None:
        """Both ends of its interval."""
        ends = self.plan.interval
        return ends and (ends.low_usd * self.cost_share, ends.high_usd * self.cost_share)

    @property
    def energy_kwh(self) -> float | None:
        """Kilowatt hours at the machine, at most."""
        return None if self.energy is None else self.energy.kwh * self.cost_share

    @property
    def co2e_kg(self) -> float | None:
        """Kilograms of CO2 equivalent, at most."""
        if self.energy is None or self.energy.co2e_kg is None:
            return None
        return self.energy.co2e_kg * self.cost_share


def table_rows(
    rows: Sequence[OfferRow], workload: Workload, gpus: Gpus, regions: Mapping[str, Region], per: Per
) -> list[TableRow]:
    """One row per plan, in their order."""
    return [
        TableRow(
            plan=row.plan,
            share=per.share(workload, row.plan),
            cost_share=per.cost_share(workload, row.plan),
            energy=training_energy(row.plan.total_s, row.offer, gpus, regions, row.plan.gpus),
            fit=row.fit,
        )
        for row in rows
        if row.plan is not None
    ]


def row_key(row: TableRow) -> str:
    """What tells a plan from the others, in links too."""
    return row.plan.label
