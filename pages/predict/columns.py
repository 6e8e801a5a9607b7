"""Columns of the Predict page's table, one plan per row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from profet_core.advice.plans import Plan, TotalInterval, Workload
from profet_core.advice.recommend import format_certainty
from profet_core.catalog.collection import is_guess
from profet_core.catalog.naming import cloud_words
from profet_core.memory.fit import FitAnswer
from profet_core.units import MS_PER_S, format_co2e, format_energy, format_usd, format_usd_range, time_unit
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


@dataclass(frozen=True, slots=True)
class TableRow:
    """One plan, with all that the table shows.

    Attributes
    ----------
    plan : with the time and cost that are shown.
    fit : None where nothing is known of its memory. kwh, co2e_kg : at most; None where not known.
    """

    plan: Plan
    fit: FitAnswer | None
    kwh: float | None
    co2e_kg: float | None


def _time_range(row: TableRow) -> str:
    ends = row.plan.interval
    return MISSING if ends is None else time_unit(row.plan.total_s).range_words(ends.low_s, ends.high_s)


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
    more: tuple[Column[TableRow], ...] = (
        range_column(
            "cost_range",
            "Cost range",
            lambda row: row.plan.interval and (row.plan.interval.low_usd, row.plan.interval.high_usd),
            format_usd_range,
            (f"{per}_usd_low", f"{per}_usd_high"),
            beneath="cost",
            tip="Time and cost move together along it.",
        ),
        *_MORE,
        Column(
            "energy_kwh",
            "Energy",
            lambda row: row.kwh,
            format_energy,
            data=lambda row: {f"{per}_kwh_at_most": row.kwh},
            tip="Upper bound: board power of the GPUs that train, idle power of the others, all CPU cores at full "
            "load. Memory, disks and network are not counted.",
        ),
        Column(
            "co2e_kg",
            "CO₂e",
            lambda row: row.co2e_kg,
            format_co2e,
            data=lambda row: {f"{per}_co2e_kg_at_most": row.co2e_kg},
            tip="That energy, with the data center's overhead and the mean carbon intensity of the region's grid in "
            "2023 (Green Software Foundation, Cloud Region Metadata). No number where the region is not in it.",
        ),
        *_PRICE,
    )
    time_range: Column[TableRow] = range_column(
        "time_range",
        "Range",
        lambda row: row.plan.interval and (row.plan.interval.low_s, row.plan.interval.high_s),
        time_unit(1.0).range_words,
        (f"{per}_s_low", f"{per}_s_high"),
        beneath="time",
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
            lambda row: row.plan.total_s,
            cell=lambda row: time_unit(row.plan.total_s).words(row.plan.total_s),
            data=lambda row: {f"{per}_s": row.plan.total_s},
        ),
        replace(time_range, cell=_time_range),
        Column(
            "cost",
            "Cost",
            lambda row: row.plan.total_usd,
            format_usd,
            data=lambda row: {f"{per}_usd": row.plan.total_usd},
        ),
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
        *map(hidden, more),
    )
