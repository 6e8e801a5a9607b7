"""The table of Sizes: one instance per row, at one size or each at its largest batch."""

from __future__ import annotations

from profet_core.answers.sizes import SizePoint
from profet_core.units import format_time, format_usd_range
from ui.result_table.columns import Column
from ui.result_table.plan_columns import (
    IMAGES,
    INSTANCE,
    MEMORY,
    STEP,
    TRAINING_COST,
    confidence_column,
    hidden,
    range_column,
    step_range_column,
)

_COST_RANGE: Column[SizePoint] = range_column(
    "cost_range_usd",
    "Cost range",
    lambda row: row.plan.interval and (row.plan.interval.low_usd, row.plan.interval.high_usd),
    format_usd_range,
    ("training_low_usd", "training_high_usd"),
    beneath="training_usd",
)
#: In their order.
SIZE_COLUMNS: tuple[Column[SizePoint], ...] = (
    INSTANCE,
    Column("batch_size", "Batch size", lambda row: row.plan.batch_size, "{:,}".format, by_default=False),
    STEP,
    step_range_column(lambda row: row.plan.step_interval),
    hidden(IMAGES),
    Column("training_s", "Training time", lambda row: row.plan.total_s, format_time),
    TRAINING_COST,
    hidden(_COST_RANGE),
    hidden(MEMORY),
    confidence_column("training_usd"),
)
