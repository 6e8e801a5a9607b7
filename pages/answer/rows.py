"""The plans as rows of the answer's table, in the amount of training that the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from profet_core.advice.advise import Advice
from profet_core.advice.plans import Plan
from profet_core.advice.request import Workload
from profet_core.catalog.gpus import Gpus
from profet_core.energy.estimate import Energy, training_energy
from profet_core.energy.regions import Region
from profet_core.memory.fit import FitAnswer


class Per(StrEnum):
    """How much of the training time and money are shown for; the values are those of links and exports."""

    TRAINING = "training"
    EPOCH = "epoch"
    THOUSAND_STEPS = "1000_steps"
    STEP = "step"

    def share(self, workload: Workload, plan: Plan) -> float:
        """Its share of the whole training on a plan; a step on several GPUs has as many times the images."""
        if self is Per.TRAINING:
            return 1.0
        if self is Per.EPOCH:
            return 1 / workload.epochs
        return (1 if self is Per.STEP else 1_000) / replace(workload, batch_size=plan.batch_size).steps


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One plan, with all that the table says of it.

    Attributes
    ----------
    share : of the whole training that time, money and energy are shown for.
    energy : of the whole training; None where the machine's power is not known.
    fit : None where nothing is known of its memory.
    """

    plan: Plan
    share: float
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
        return self.plan.total_usd * self.share

    @property
    def cost_ends_usd(self) -> tuple[float, float] | None:
        """Both ends of its interval."""
        ends = self.plan.interval
        return ends and (ends.low_usd * self.share, ends.high_usd * self.share)

    @property
    def energy_kwh(self) -> float | None:
        """Kilowatt hours at the machine, at most."""
        return None if self.energy is None else self.energy.kwh * self.share

    @property
    def co2e_kg(self) -> float | None:
        """Kilograms of CO2 equivalent, at most."""
        if self.energy is None or self.energy.co2e_kg is None:
            return None
        return self.energy.co2e_kg * self.share


def answer_rows(
    advice: Advice,
    gpus: Gpus,
    regions: Mapping[str, Region],
    fits: Mapping[str, FitAnswer],
    per: Per = Per.TRAINING,
    *,
    plans: Sequence[Plan] | None = None,
) -> list[AnswerRow]:
    """One row a plan, in their order.

    Parameters
    ----------
    plans : of the advice; None: all, the cheapest first.
    fits : instance -> whether the step fits in its memory.
    """
    return [
        AnswerRow(
            plan=plan,
            share=per.share(advice.request.workload, plan),
            energy=training_energy(plan.total_s, plan.offer, gpus, regions, plan.gpus),
            fit=fits.get(plan.instance),
        )
        for plan in (advice.plans if plans is None else plans)
    ]


def plan_key(row: AnswerRow) -> str:
    """What tells a plan from the others, in links too."""
    return row.plan.label
