"""What the bars, the cards and the table show per row: time and cost of a step, an epoch or the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from profet_core.advice.advise import OfferRow
from profet_core.advice.plans import Plan, Workload
from profet_core.catalog.gpus import Gpus
from profet_core.energy.estimate import Energy, Region, training_energy
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_time, format_usd

#: Steps that the cost per step is shown for: one costs too little to read.
COSTED_STEPS = 1_000


class Per(StrEnum):
    """What time and cost are of; the values are those of links and exports."""

    STEP = "step"
    EPOCH = "epoch"
    TRAINING = "training"

    def of(self, workload: Workload, plan: Plan) -> Amounts:
        """Its share of a plan's time and cost; a step on several GPUs has as many times the images."""
        if self is Per.STEP:
            share = plan.latency_ms / 1_000 / plan.total_s
            return Amounts(plan, share, share * COSTED_STEPS)
        share = 1 / workload.epochs if self is Per.EPOCH else 1.0
        return Amounts(plan, share, share)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Time and cost of a plan, as they are shown.

    Attributes
    ----------
    share, cost_share : of the whole training's time and cost.
    """

    plan: Plan
    share: float
    cost_share: float

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
    def words(self) -> str:
        """'$44.10 · 13.2 h'."""
        return f"{format_usd(self.cost_usd)} · {format_time(self.time_s)}"


@dataclass(frozen=True, slots=True)
class TableRow(Amounts):
    """One plan, with all that the table shows.

    Attributes
    ----------
    energy : of the whole training; None where the machine's power is not known.
    fit : None where nothing is known of its memory.
    """

    energy: Energy | None
    fit: FitAnswer | None

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
    shown = [(row, per.of(workload, row.plan)) for row in rows if row.plan is not None]
    return [
        TableRow(
            plan=amounts.plan,
            share=amounts.share,
            cost_share=amounts.cost_share,
            energy=training_energy(amounts.plan.total_s, row.offer, gpus, regions, amounts.plan.gpus),
            fit=row.fit,
        )
        for row, amounts in shown
    ]
