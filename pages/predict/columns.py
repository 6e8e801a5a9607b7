"""Columns of the Predict page's table, one plan per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from profet_core.advice.advise import OfferRow
from profet_core.advice.certainty import format_certainty
from profet_core.advice.plans import Plan, Workload
from profet_core.catalog.collection import is_guess
from profet_core.catalog.gpus import Gpus
from profet_core.catalog.naming import cloud_words
from profet_core.energy.estimate import Energy, Region, training_energy
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_co2e, format_energy, format_time, format_usd, format_usd_range, time_unit
from ui.tables import (
    IMAGES,
    MEMORY,
    MISSING,
    STEP,
    Column,
    confidence_column,
    hidden,
    machine_cell,
    plan_gpus,
    price_cell,
    price_source,
    range_column,
)

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


_ENERGY_TIP = (
    "Upper bound: board power of the GPUs that train, idle power of the others, all CPU cores at full load. Memory, "
    "disks and network are not counted."
)
_CO2E_TIP = (
    "That energy, with the data centre's overhead and the mean carbon intensity of the region's grid in 2023 (Green "
    "Software Foundation, Cloud Region Metadata). No number where the region is not in it."
)


def _time_range(row: TableRow) -> str:
    ends = row.time_ends_s
    return MISSING if ends is None else time_unit(row.time_s).range_words(*ends)


#: The same whatever time and cost are of; shown where they are chosen.
_MORE: tuple[Column[TableRow], ...] = (
    STEP,
    IMAGES,
    Column(
        "basis",
        "Based on",
        lambda row: row.plan.basis.words,
        data=lambda row: {"basis": row.plan.basis.value, "rests_on": row.plan.latency_note},
    ),
    Column("in_time", "In time", lambda row: row.plan.in_time, format_certainty, tip="Chance to keep to the deadline."),
    Column(
        "in_budget",
        "Within budget",
        lambda row: row.plan.in_budget,
        format_certainty,
        tip="Chance to keep to the budget.",
    ),
    MEMORY,
)
_PRICE: tuple[Column[TableRow], ...] = (
    Column(
        "provider",
        "Cloud",
        lambda row: cloud_words(row.plan.offer.provider),
        data=lambda row: {"cloud": cloud_words(row.plan.offer.provider)},
    ),
    Column("market", "Market", lambda row: row.plan.offer.market),
    Column("region", "Region", lambda row: row.plan.offer.region),
    Column(
        "price_from",
        "Price from",
        lambda row: row.plan.offer.as_of,
        cell=lambda row: "your guess" if is_guess(row.plan.offer) else price_source(row.plan.offer),
        data=lambda row: {"price_as_of": row.plan.offer.as_of, "price_source": row.plan.offer.source},
    ),
    Column("status", "Status", lambda row: row.plan.offer.status),
)


def predict_columns(per: Per = Per.TRAINING) -> tuple[Column[TableRow], ...]:
    """All columns, in their order; the first six are shown until others are chosen."""
    cost_range: Column[TableRow] = range_column(
        "cost_range",
        "Cost range",
        lambda row: row.cost_ends_usd,
        format_usd_range,
        (f"{per}_usd_low", f"{per}_usd_high"),
        beneath="cost",
        tip="Time and cost move together along it.",
    )
    energy: tuple[Column[TableRow], ...] = (
        Column(
            "energy_kwh",
            "Energy",
            lambda row: row.energy_kwh,
            format_energy,
            data=lambda row: {f"{per}_kwh_at_most": row.energy_kwh},
            tip=_ENERGY_TIP,
        ),
        Column(
            "co2e_kg",
            "CO₂e",
            lambda row: row.co2e_kg,
            format_co2e,
            data=lambda row: {f"{per}_co2e_kg_at_most": row.co2e_kg},
            tip=_CO2E_TIP,
        ),
    )
    return (
        Column(
            "plan",
            "Instance",
            lambda row: row.plan.label,
            cell=lambda row: machine_cell(row, row.plan.title, plan_gpus(row.plan)),
            data=lambda row: {
                "plan": row.plan.label,
                "instance": row.plan.instance,
                "gpu": row.plan.offer.gpu,
                "gpu_count": row.plan.offer.gpu_count,
                "provider": row.plan.offer.provider,
            },
        ),
        Column(
            "time",
            "Time",
            lambda row: row.time_s,
            cell=lambda row: time_unit(row.time_s).words(row.time_s),
            data=lambda row: {f"{per}_s": row.time_s},
        ),
        Column(
            "time_range",
            "Range",
            lambda row: row.time_ends_s and row.time_ends_s[1],
            cell=_time_range,
            data=lambda row: dict(zip((f"{per}_s_low", f"{per}_s_high"), row.time_ends_s or (None, None), strict=True)),
            tip="90% prediction interval. Sorted by its upper end.",
            narrow_under="time",
        ),
        Column("cost", "Cost", lambda row: row.cost_usd, format_usd, data=lambda row: {f"{per}_usd": row.cost_usd}),
        Column(
            "usd_per_hour",
            "$/h",
            lambda row: row.plan.offer.usd_per_hour,
            cell=lambda row: price_cell(row.plan.offer),
            data=lambda row: {
                "usd_per_hour": row.plan.offer.usd_per_hour,
                "usd_per_gpu_hour": row.plan.offer.usd_per_gpu_hour,
            },
            tip="Of the whole machine, with all its GPUs. A year marks a price more than a year old.",
        ),
        confidence_column("cost"),
        *(hidden(column) for column in (cost_range, *_MORE, *energy, *_PRICE)),
    )
