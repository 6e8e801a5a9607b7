"""The table of Scale out: a real offer a row, as so many whole nodes."""

from __future__ import annotations

from pages.scale_out.rows import OutRow
from profet_core.advice.sureness import plan_sureness
from profet_core.catalog.interconnects import load_interconnects
from profet_core.catalog.naming import machine_words
from profet_core.memory.fit import does_not_fit
from profet_core.units import (
    format_duration,
    format_duration_range,
    format_ms,
    format_significant,
    format_usd,
    format_usd_range,
)
from ui.charts.gpu_look import gpu_look
from ui.memory import fit_cell
from ui.result_table.columns import Cell, Column
from ui.sureness import sureness_cell
from ui.tables import MISSING, format_range_ms, price_words


def out_columns() -> tuple[Column[OutRow], ...]:
    """All columns, in their order."""
    return (*_step_columns(), *_epoch_columns(), *_machine_columns())


def _step_columns() -> tuple[Column[OutRow], ...]:
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
        Column(
            key="latency_ms",
            title="Step",
            cell=lambda row: format_ms(row.step.latency_ms),
            value=lambda row: row.step.latency_ms,
            tip="Of all GPUs together.",
            by_default=False,
        ),
        Column(
            key="latency_range_ms",
            title="Step's range",
            cell=_step_range,
            value=lambda row: row.step.interval and row.step.interval.high_ms,
            data=lambda row: {
                "latency_low_ms": row.step.interval and row.step.interval.low_ms,
                "latency_high_ms": row.step.interval and row.step.interval.high_ms,
            },
            narrow_under="latency_ms",
            by_default=False,
        ),
        Column(
            key="speed_up",
            title="Speed-up",
            cell=lambda row: Cell(format_significant(row.step.speed_up), beneath=f"of {row.step.gpus}"),
            value=lambda row: row.step.speed_up,
            tip="Images a second over one GPU's, at the same batch a GPU.",
        ),
        Column(
            key="images_per_s",
            title="Images a second",
            cell=lambda row: format_significant(row.step.images_per_s),
            value=lambda row: row.step.images_per_s,
            by_default=False,
        ),
    )


def _epoch_columns() -> tuple[Column[OutRow], ...]:
    return (
        Column(
            key="epoch_s",
            title="Epoch",
            cell=lambda row: format_duration(row.plan.total_s),
            value=lambda row: row.plan.total_s,
        ),
        Column(
            key="epoch_range_s",
            title="Range",
            cell=_time_range,
            value=lambda row: row.plan.interval and row.plan.interval.high_s,
            data=lambda row: {
                "epoch_low_s": row.plan.interval and row.plan.interval.low_s,
                "epoch_high_s": row.plan.interval and row.plan.interval.high_s,
            },
            tip="Holds the time of nine in ten such predictions. Sorted by its upper end.",
            narrow_under="epoch_s",
        ),
        Column(
            key="epoch_usd",
            title="Cost",
            cell=lambda row: format_usd(row.plan.total_usd),
            value=lambda row: row.plan.total_usd,
            tip="Of an epoch, all nodes paid whole.",
        ),
        Column(
            key="cost_range_usd",
            title="Cost range",
            cell=_cost_range,
            value=lambda row: row.plan.interval and row.plan.interval.high_usd,
            data=lambda row: {
                "epoch_low_usd": row.plan.interval and row.plan.interval.low_usd,
                "epoch_high_usd": row.plan.interval and row.plan.interval.high_usd,
            },
            by_default=False,
            narrow_under="epoch_usd",
        ),
        Column(
            key="usd_per_hour",
            title="$ an hour",
            cell=_price_cell,
            value=lambda row: row.plan.offer.usd_per_hour,
            data=lambda row: {
                "usd_per_hour": row.plan.offer.usd_per_hour,
                "node_usd_per_hour": row.offer.usd_per_hour,
                "as_of": row.offer.as_of,
            },
            tip="Of all nodes.",
        ),
        Column(
            key="sureness",
            title="How sure",
            cell=lambda row: sureness_cell(plan_sureness(row.plan)),
            value=lambda row: int(plan_sureness(row.plan)),
            data=lambda row: {"sureness": plan_sureness(row.plan).word},
            narrow_under="epoch_usd",
        ),
    )


def _machine_columns() -> tuple[Column[OutRow], ...]:
    return (
        Column(
            key="strategy",
            title="Gradients by",
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
            title="One GPU's step rests on",
            cell=lambda row: row.one.basis.words,
            value=lambda row: row.one.basis.value,
            data=lambda row: {"one_gpu_ms": row.step.one_gpu_ms, "basis": row.one.basis.value},
            by_default=False,
        ),
        Column(
            key="memory",
            title="Memory",
            cell=lambda row: fit_cell(row.fit),
            value=lambda row: None if row.fit is None else row.fit.largest_batch,
            data=lambda row: {"fits_in_memory": None if row.fit is None else row.fit.verdict.value},
            by_default=False,
            tip="Whether a step fits in one GPU's memory, and the largest batch that does.",
        ),
    )


def row_key(row: OutRow) -> str:
    """What tells an offer from the others, in links too."""
    return row.plan.label


def _instance_cell(row: OutRow) -> Cell:
    name = machine_words(row.offer)
    said = [row.plan.gpu_words]
    if does_not_fit(row.fit):
        said.append("does not fit")
    return Cell(
        name if row.nodes == 1 else f"{row.nodes} × {name}",
        beneath=", ".join(said),
        colour=gpu_look(row.offer.gpu).colour,
    )


def _price_cell(row: OutRow) -> Cell:
    each = "" if row.nodes == 1 else f"{row.nodes} × {format_usd(row.offer.usd_per_hour)}"
    return Cell(price_words(row.plan.offer), beneath=each)


def _step_range(row: OutRow) -> str:
    ends = row.step.interval if row.plan.interval else None
    return MISSING if ends is None else format_range_ms(ends.low_ms, ends.high_ms)


def _time_range(row: OutRow) -> str:
    ends = row.plan.interval
    return MISSING if ends is None else format_duration_range(ends.low_s, ends.high_s)


def _cost_range(row: OutRow) -> str:
    ends = row.plan.interval
    return MISSING if ends is None else format_usd_range(ends.low_usd, ends.high_usd)


def _links(row: OutRow) -> dict[str, str | float]:
    links = load_interconnects().of(row.offer)
    return {
        "link": links.link.value,
        "link_gb_per_s": links.link_gb_per_s,
        "network_gbit_per_s": links.network_gbit_per_s,
        "links_assumed": links.assumed,
    }
