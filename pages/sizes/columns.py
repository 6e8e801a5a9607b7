"""The table of Sizes: a GPU a row, at one size or each at its largest."""

from __future__ import annotations

from pages.sizes.rows import SizeRow
from profet_core.units import format_duration, format_usd_range
from ui.result_table.columns import Column
from ui.result_table.plan_columns import (
    images_column,
    instance_column,
    memory_column,
    step_column,
    step_range_column,
    sureness_column,
    training_cost_column,
)
from ui.tables import MISSING


def size_columns() -> tuple[Column[SizeRow], ...]:
    """All columns, in their order."""
    return (
        instance_column(),
        Column(
            key="batch_size",
            title="Batch size",
            cell=lambda row: f"{row.plan.batch_size:,}",
            value=lambda row: row.plan.batch_size,
            by_default=False,
        ),
        step_column(),
        step_range_column(
            lambda row: row.step.interval,
            tip="Holds the latency of nine in ten such predictions. Sorted by its upper end.",
        ),
        images_column(),
        Column(
            key="training_s",
            title="Time",
            cell=lambda row: format_duration(row.plan.total_s),
            value=lambda row: row.plan.total_s,
            by_default=False,
        ),
        training_cost_column(),
        Column(
            key="cost_range_usd",
            title="Cost range",
            cell=_cost_range,
            value=lambda row: None if row.plan.interval is None else row.plan.interval.high_usd,
            by_default=False,
            narrow_under="training_usd",
        ),
        memory_column(by_default=False),
        sureness_column(),
    )


def _cost_range(row: SizeRow) -> str:
    ends = row.plan.interval
    return MISSING if ends is None else format_usd_range(ends.low_usd, ends.high_usd)
