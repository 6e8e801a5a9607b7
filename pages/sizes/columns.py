"""The table of Sizes: one instance per row, at one size or each at its largest batch."""

from __future__ import annotations

from profet_core.answers.sizes import SizePoint
from profet_core.units import format_time, format_usd_range
from ui.result_table.columns import Column
from ui.result_table.plan_columns import (
    images_column,
    instance_column,
    memory_column,
    range_column,
    step_column,
    step_range_column,
    sureness_column,
    training_cost_column,
)


def size_columns() -> tuple[Column[SizePoint], ...]:
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
        step_range_column(lambda row: row.plan.step_interval, tip="90% prediction interval."),
        images_column(by_default=False),
        Column(
            key="training_s",
            title="Training time",
            cell=lambda row: format_time(row.plan.total_s),
            value=lambda row: row.plan.total_s,
        ),
        training_cost_column(),
        range_column(
            key="cost_range_usd",
            title="Cost range",
            ends=lambda row: row.plan.interval and (row.plan.interval.low_usd, row.plan.interval.high_usd),
            words=format_usd_range,
            names=("training_low_usd", "training_high_usd"),
            beneath="training_usd",
            by_default=False,
        ),
        memory_column(by_default=False),
        sureness_column(narrow_under="training_usd"),
    )
