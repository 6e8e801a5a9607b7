"""The table of Scale out: one offer per row, as whole machines."""

from __future__ import annotations

from dataclasses import replace

from profet_core.advice.whole_nodes import WholeNodePlan
from profet_core.catalog.interconnects import load_interconnects
from profet_core.catalog.naming import machine_words
from profet_core.units import (
    format_significant,
    format_time,
    format_time_range,
    format_usd,
    format_usd_range,
)
from ui.result_table.columns import Cell, Column
from ui.result_table.plan_columns import (
    fit_data,
    images_column,
    machine_cell,
    memory_column,
    memory_words,
    range_column,
    step_column,
    step_range_column,
    sureness_column,
)
from ui.tables import price_words


def out_columns() -> tuple[Column[WholeNodePlan], ...]:
    """All columns, in their order."""
    return (*_step_columns(), *_epoch_columns(), *_machine_columns())


def _step_columns() -> tuple[Column[WholeNodePlan], ...]:
    return (
        Column(
            key="instance",
            title="Instance",
            cell=_instance_cell,
            value=lambda row: row.offer.name,
            data=lambda row: {
                "instance": row.offer.name,
                "nodes": row.nodes,
                "gpus": row.step.gpus,
                "gpu": row.offer.gpu,
                "provider": row.offer.provider,
                "batch_size": row.step.batch_size,
            },
        ),
        step_column(tip="Step latency on all GPUs.", by_default=False),
        step_range_column(lambda row: row.plan.step_interval, tip="90% prediction interval.", by_default=False),
        Column(
            key="speed_up",
            title="Speed-up",
            cell=lambda row: Cell(format_significant(row.step.speed_up), beneath=f"of {row.step.gpus}"),
            value=lambda row: row.step.speed_up,
            tip="Images/s of all GPUs over images/s of one, at the same batch per GPU.",
        ),
        images_column(by_default=False),
    )


def _epoch_columns() -> tuple[Column[WholeNodePlan], ...]:
    return (
        Column(
            key="epoch_s",
            title="Epoch time",
            cell=lambda row: format_time(row.epoch_s),
            value=lambda row: row.epoch_s,
        ),
        range_column(
            key="epoch_range_s",
            title="Range",
            ends=lambda row: row.plan.interval and (row.plan.interval.low_s, row.plan.interval.high_s),
            words=format_time_range,
            names=("epoch_low_s", "epoch_high_s"),
            beneath="epoch_s",
            tip="90% prediction interval. Sorted by its upper end.",
        ),
        Column(
            key="epoch_usd",
            title="Epoch cost",
            cell=lambda row: format_usd(row.epoch_usd),
            value=lambda row: row.epoch_usd,
            tip="You pay for whole machines.",
        ),
        range_column(
            key="cost_range_usd",
            title="Cost range",
            ends=lambda row: row.plan.interval and (row.plan.interval.low_usd, row.plan.interval.high_usd),
            words=format_usd_range,
            names=("epoch_low_usd", "epoch_high_usd"),
            beneath="epoch_usd",
            by_default=False,
        ),
        Column(
            key="usd_per_hour",
            title="$/h",
            cell=_price_cell,
            value=lambda row: row.usd_per_hour,
            data=lambda row: {
                "usd_per_hour": row.usd_per_hour,
                "node_usd_per_hour": row.offer.usd_per_hour,
                "as_of": row.offer.as_of,
            },
            tip="All machines together.",
            narrow_under="epoch_usd",
        ),
        sureness_column(narrow_under="epoch_usd"),
    )


def _machine_columns() -> tuple[Column[WholeNodePlan], ...]:
    return (
        Column(
            key="strategy",
            title="Strategy",
            cell=lambda row: row.step.strategy.words,
            value=lambda row: row.step.strategy.value,
            by_default=False,
        ),
        Column(
            key="links",
            title="Links",
            cell=lambda row: load_interconnects().of(row.offer).words,
            value=lambda row: load_interconnects().of(row.offer).link_gb_per_s,
            data=_links,
            by_default=False,
        ),
        Column(
            key="rests_on",
            title="Based on",
            cell=lambda row: row.one.basis.words,
            value=lambda row: row.one.basis.value,
            data=lambda row: {"one_gpu_ms": row.step.one_gpu_ms, "basis": row.one.basis.value},
            by_default=False,
        ),
        replace(
            memory_column(
                tip="Whether a step fits in one GPU's memory, and the largest batch that does.", by_default=False
            ),
            data=fit_data,
        ),
    )


def _instance_cell(row: WholeNodePlan) -> Cell:
    name = machine_words(row.offer)
    said = (row.plan.gpu_words, memory_words(row))
    return machine_cell(name if row.nodes == 1 else f"{row.nodes} × {name}", row.offer.gpu, said)


def _price_cell(row: WholeNodePlan) -> Cell:
    each = "" if row.nodes == 1 else f"{row.nodes} × {format_usd(row.offer.usd_per_hour)}"
    return Cell(price_words(row.plan.offer), beneath=each)


def _links(row: WholeNodePlan) -> dict[str, str | float]:
    links = load_interconnects().of(row.offer)
    return {
        "link": links.link.value,
        "link_gb_per_s": links.link_gb_per_s,
        "network_gbit_per_s": links.network_gbit_per_s,
        "links_assumed": links.assumed,
    }
