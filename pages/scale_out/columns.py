"""The table of Scale out: one offer per row, as whole machines."""

from __future__ import annotations

from profet_core.advice.whole_nodes import WholeNodePlan
from profet_core.catalog.interconnects import load_interconnects
from profet_core.catalog.naming import machine_words
from profet_core.units import format_significant, format_time, format_time_range, format_usd
from ui.tables import (
    IMAGES,
    MEMORY,
    STEP,
    Cell,
    Column,
    confidence_column,
    cost_range_column,
    fit_data,
    hidden,
    machine_cell,
    price_words,
    range_column,
    step_range_column,
)


def _instance_cell(row: WholeNodePlan) -> Cell:
    name = machine_words(row.offer)
    return machine_cell(row, name if row.nodes == 1 else f"{row.nodes} × {name}", row.plan.gpu_words)


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


#: In their order.
OUT_COLUMNS: tuple[Column[WholeNodePlan], ...] = (
    Column(
        "instance",
        "Instance",
        lambda row: row.offer.name,
        cell=_instance_cell,
        data=lambda row: {
            "instance": row.offer.name,
            "nodes": row.nodes,
            "gpus": row.step.gpus,
            "gpu": row.offer.gpu,
            "provider": row.offer.provider,
            "batch_size": row.step.batch_size,
        },
    ),
    hidden(STEP, tip="Step latency on all GPUs."),
    hidden(step_range_column(lambda row: row.plan.step_interval)),
    Column(
        "speed_up",
        "Speed-up",
        lambda row: row.step.speed_up,
        cell=lambda row: Cell(format_significant(row.step.speed_up), beneath=f"of {row.step.gpus}"),
        tip="Images/s of all GPUs over images/s of one, at the same batch per GPU.",
    ),
    hidden(IMAGES),
    Column("epoch_s", "Epoch time", lambda row: row.epoch_s, format_time),
    range_column(
        "epoch_range_s",
        "Range",
        lambda row: row.plan.interval and (row.plan.interval.low_s, row.plan.interval.high_s),
        format_time_range,
        ("epoch_low_s", "epoch_high_s"),
        beneath="epoch_s",
    ),
    Column("epoch_usd", "Epoch cost", lambda row: row.epoch_usd, format_usd, tip="You pay for whole machines."),
    hidden(cost_range_column("epoch")),
    Column(
        "usd_per_hour",
        "$/h",
        lambda row: row.usd_per_hour,
        cell=_price_cell,
        data=lambda row: {
            "usd_per_hour": row.usd_per_hour,
            "node_usd_per_hour": row.offer.usd_per_hour,
            "as_of": row.offer.as_of,
        },
        tip="All machines together.",
        narrow_under="epoch_usd",
    ),
    confidence_column("epoch_usd"),
    Column(
        "strategy",
        "Strategy",
        lambda row: row.step.strategy.value,
        cell=lambda row: row.step.strategy.words,
        by_default=False,
    ),
    Column(
        "links",
        "Links",
        lambda row: load_interconnects().of(row.offer).link_gb_per_s,
        cell=lambda row: load_interconnects().of(row.offer).words,
        data=_links,
        by_default=False,
    ),
    Column(
        "rests_on",
        "Based on",
        lambda row: row.one.basis.value,
        cell=lambda row: row.one.basis.words,
        data=lambda row: {"one_gpu_ms": row.step.one_gpu_ms, "basis": row.one.basis.value},
        by_default=False,
    ),
    hidden(MEMORY, data=fit_data),
)
