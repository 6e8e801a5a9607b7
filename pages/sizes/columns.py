"""The table of Sizes: a GPU a row, at one size or each at its largest."""

from __future__ import annotations

from pages.sizes.rows import SizeRow
from profet_core.advice.sureness import plan_sureness
from profet_core.catalog.naming import machine_words
from profet_core.latency import HOST_LIMITED, Basis
from profet_core.units import format_duration, format_ms, format_significant, format_usd, format_usd_range
from ui.basis import SHORT_BASIS
from ui.charts.gpu_look import gpu_look
from ui.memory import fit_cell
from ui.result_table.columns import Cell, Column
from ui.sureness import sureness_cell
from ui.tables import MISSING, format_range_ms, gpu_cell


def size_columns() -> tuple[Column[SizeRow], ...]:
    """All columns, in their order."""
    return (
        Column(
            key="instance",
            title="Instance",
            cell=_instance_cell,
            value=lambda row: row.instance,
            data=lambda row: {
                "instance": row.instance,
                "gpu": row.plan.offer.gpu,
                "provider": row.plan.offer.provider,
                "batch_size": row.batch_size,
            },
        ),
        Column(
            key="batch_size",
            title="Batch size",
            cell=lambda row: f"{row.batch_size:,}",
            value=lambda row: row.batch_size,
            by_default=False,
        ),
        Column(
            key="latency_ms",
            title="Step",
            cell=lambda row: format_ms(row.plan.latency_ms),
            value=lambda row: row.plan.latency_ms,
            tip="Latency of a training step.",
        ),
        Column(
            key="latency_range_ms",
            title="Range",
            cell=lambda row: MISSING if row.ends_ms is None else format_range_ms(*row.ends_ms),
            value=lambda row: row.ends_ms and row.ends_ms[1],
            data=_ends,
            tip="Holds the latency of nine in ten such predictions. Sorted by its upper end.",
            narrow_under="latency_ms",
        ),
        Column(
            key="images_per_s",
            title="Images a second",
            cell=lambda row: format_significant(row.images_per_s),
            value=lambda row: row.images_per_s,
        ),
        Column(
            key="training_s",
            title="Time",
            cell=lambda row: format_duration(row.plan.total_s),
            value=lambda row: row.plan.total_s,
            by_default=False,
        ),
        Column(
            key="training_usd",
            title="Cost",
            cell=lambda row: format_usd(row.plan.total_usd),
            value=lambda row: row.plan.total_usd,
            tip="Of your training.",
        ),
        Column(
            key="cost_range_usd",
            title="Cost range",
            cell=_cost_range,
            value=lambda row: None if row.plan.interval is None else row.plan.interval.high_usd,
            by_default=False,
            narrow_under="training_usd",
        ),
        Column(
            key="memory",
            title="Memory",
            cell=lambda row: fit_cell(row.fit),
            value=lambda row: None if row.fit is None else row.fit.largest_batch,
            data=lambda row: {
                "fits_in_memory": None if row.fit is None else row.fit.verdict.value,
                "largest_batch": None if row.fit is None else row.fit.largest_batch,
            },
            by_default=False,
            tip="Whether a step fits in the GPU's memory, and the largest batch that does.",
        ),
        Column(
            key="sureness",
            title="How sure",
            cell=lambda row: sureness_cell(plan_sureness(row.plan)),
            value=lambda row: int(plan_sureness(row.plan)),
            data=lambda row: {"sureness": plan_sureness(row.plan).word},
        ),
    )


def _instance_cell(row: SizeRow) -> Cell:
    offer = row.plan.offer
    said = [gpu_cell(offer)]
    if not row.fits:
        said.append("does not fit")
    if row.plan.basis is Basis.SHARPENED:
        said.append(SHORT_BASIS[row.plan.basis])
    if row.plan.limited_by_host:
        said.append(HOST_LIMITED)
    return Cell(machine_words(offer), beneath=", ".join(said), colour=gpu_look(offer.gpu).colour)


def _cost_range(row: SizeRow) -> str:
    ends = row.plan.interval
    return MISSING if ends is None else format_usd_range(ends.low_usd, ends.high_usd)


def _ends(row: SizeRow) -> dict[str, float | None]:
    low, high = row.ends_ms or (None, None)
    return {"latency_low_ms": low, "latency_high_ms": high}
