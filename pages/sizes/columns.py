"""The table of Sizes: one instance per row, at one size or each at its largest batch."""

from __future__ import annotations

from profet_core.answers.sizes import SizePoint
from profet_core.units import format_time
from ui.tables import (
    IMAGES,
    INSTANCE,
    MEMORY,
    STEP,
    STEP_RANGE,
    TRAINING_COST,
    Column,
    confidence_column,
    cost_range_column,
    hidden,
)

#: In their order.
SIZE_COLUMNS: tuple[Column[SizePoint], ...] = (
    INSTANCE,
    Column("batch_size", "Batch size", lambda row: row.plan.batch_size, "{:,}".format, by_default=False),
    STEP,
    STEP_RANGE,
    hidden(IMAGES),
    Column("training_s", "Training time", lambda row: row.plan.total_s, format_time),
    TRAINING_COST,
    hidden(cost_range_column("training")),
    hidden(MEMORY),
    confidence_column("training_usd"),
)
