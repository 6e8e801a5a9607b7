"""Columns of the Predict page's table, one plan per row."""

from __future__ import annotations

from pages.predict.rows import Per, TableRow
from profet_core.advice.certainty import format_certainty
from profet_core.catalog.naming import cloud_words
from profet_core.catalog.offers import is_guess
from profet_core.units import (
    format_co2e,
    format_energy,
    format_usd,
    format_usd_range,
    time_unit,
)
from ui.result_table.columns import Cell, Column
from ui.result_table.plan_columns import (
    basis_words,
    host_words,
    images_column,
    machine_cell,
    memory_column,
    range_column,
    step_column,
    sureness_column,
)
from ui.tables import MISSING, or_missing, plan_gpus, price_cell, price_source

_ENERGY_TIP = (
    "Upper bound: board power of the GPUs that train, idle power of the others, all CPU cores at full load. Memory, "
    "disks and network are not counted."
)
_CO2E_TIP = (
    "That energy, with the data centre's overhead and the mean carbon intensity of the region's grid in 2023 (Green "
    "Software Foundation, Cloud Region Metadata). No number where the region is not in it."
)


def predict_columns(per: Per = Per.TRAINING) -> tuple[Column[TableRow], ...]:
    """All columns, in their order; the first six are shown until others are chosen."""
    return (
        *_usual_columns(per),
        *_prediction_columns(per),
        *_limit_columns(),
        *_machine_columns(per),
        *_price_columns(),
    )


def _usual_columns(per: Per) -> tuple[Column[TableRow], ...]:
    return (
        Column(
            key="plan",
            title="Instance",
            cell=_instance_cell,
            value=lambda row: row.plan.label,
            data=lambda row: {
                "plan": row.plan.label,
                "instance": row.plan.instance,
                "gpu": row.plan.offer.gpu,
                "gpu_count": row.plan.offer.gpu_count,
                "provider": row.plan.offer.provider,
            },
        ),
        Column(
            key="time",
            title="Time",
            cell=lambda row: time_unit(row.time_s).words(row.time_s),
            value=lambda row: row.time_s,
            data=lambda row: {f"{per}_s": row.time_s},
        ),
        Column(
            key="time_range",
            title="Range",
            cell=_time_range,
            value=lambda row: row.time_ends_s and row.time_ends_s[1],
            data=lambda row: dict(zip((f"{per}_s_low", f"{per}_s_high"), row.time_ends_s or (None, None), strict=True)),
            tip="90% prediction interval. Sorted by its upper end.",
            narrow_under="time",
        ),
        Column(
            key="cost",
            title="Cost",
            cell=lambda row: format_usd(row.cost_usd),
            value=lambda row: row.cost_usd,
            data=lambda row: {f"{per}_usd": row.cost_usd},
        ),
        Column(
            key="usd_per_hour",
            title="$/h",
            cell=lambda row: price_cell(row.plan.offer),
            value=lambda row: row.plan.offer.usd_per_hour,
            data=lambda row: {
                "usd_per_hour": row.plan.offer.usd_per_hour,
                "usd_per_gpu_hour": row.plan.offer.usd_per_gpu_hour,
            },
            tip="Of the whole machine, with all its GPUs. A year marks a price more than a year old.",
        ),
        sureness_column(narrow_under="cost"),
    )


def _prediction_columns(per: Per) -> tuple[Column[TableRow], ...]:
    return (
        range_column(
            key="cost_range",
            title="Cost range",
            ends=lambda row: row.cost_ends_usd,
            words=format_usd_range,
            names=(f"{per}_usd_low", f"{per}_usd_high"),
            beneath="cost",
            tip="Time and cost move together along it.",
            by_default=False,
        ),
        step_column(by_default=False),
        images_column(by_default=False),
        Column(
            key="basis",
            title="Based on",
            cell=lambda row: row.plan.basis.words,
            value=lambda row: row.plan.basis.words,
            data=lambda row: {"basis": row.plan.basis.value, "rests_on": row.plan.latency_note},
            by_default=False,
        ),
    )


def _limit_columns() -> tuple[Column[TableRow], ...]:
    return (
        Column(
            key="in_time",
            title="In time",
            cell=lambda row: or_missing(row.plan.in_time, format_certainty),
            value=lambda row: row.plan.in_time,
            by_default=False,
            tip="Chance to keep to the deadline.",
        ),
        Column(
            key="in_budget",
            title="Within budget",
            cell=lambda row: or_missing(row.plan.in_budget, format_certainty),
            value=lambda row: row.plan.in_budget,
            by_default=False,
            tip="Chance to keep to the budget.",
        ),
    )


def _machine_columns(per: Per) -> tuple[Column[TableRow], ...]:
    return (
        memory_column(by_default=False),
        Column(
            key="energy_kwh",
            title="Energy",
            cell=lambda row: or_missing(row.energy_kwh, format_energy),
            value=lambda row: row.energy_kwh,
            data=lambda row: {f"{per}_kwh_at_most": row.energy_kwh},
            by_default=False,
            tip=_ENERGY_TIP,
        ),
        Column(
            key="co2e_kg",
            title="CO₂e",
            cell=lambda row: or_missing(row.co2e_kg, format_co2e),
            value=lambda row: row.co2e_kg,
            data=lambda row: {f"{per}_co2e_kg_at_most": row.co2e_kg},
            by_default=False,
            tip=_CO2E_TIP,
        ),
    )


def _price_columns() -> tuple[Column[TableRow], ...]:
    return (
        Column(
            key="provider",
            title="Cloud",
            cell=lambda row: cloud_words(row.plan.offer.provider),
            value=lambda row: cloud_words(row.plan.offer.provider),
            data=lambda row: {"cloud": cloud_words(row.plan.offer.provider)},
            by_default=False,
        ),
        Column(
            key="market",
            title="Market",
            cell=lambda row: row.plan.offer.market,
            value=lambda row: row.plan.offer.market,
            by_default=False,
        ),
        Column(
            key="region",
            title="Region",
            cell=lambda row: row.plan.offer.region,
            value=lambda row: row.plan.offer.region,
            by_default=False,
        ),
        Column(
            key="price_from",
            title="Price from",
            cell=lambda row: "your guess" if is_guess(row.plan.offer) else price_source(row.plan.offer),
            value=lambda row: row.plan.offer.as_of,
            data=lambda row: {"price_as_of": row.plan.offer.as_of, "price_source": row.plan.offer.source},
            by_default=False,
        ),
        Column(
            key="status",
            title="Status",
            cell=lambda row: row.plan.offer.status,
            value=lambda row: row.plan.offer.status,
            by_default=False,
        ),
    )


def _instance_cell(row: TableRow) -> Cell:
    plan = row.plan
    retired = "retired" if plan.offer.status == "retired" else ""
    return machine_cell(plan.title, plan.offer.gpu, (plan_gpus(plan), retired, basis_words(plan), host_words(plan)))


def _time_range(row: TableRow) -> str:
    ends = row.time_ends_s
    return MISSING if ends is None else time_unit(row.time_s).range_words(*ends)
