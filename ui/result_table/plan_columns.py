"""Columns that tables of plans share: each page sets them in its order, beside its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from profet_core.advice.plans import Plan, plan_confidence
from profet_core.catalog.naming import machine_words
from profet_core.latency import HOST_LIMITED, Basis, Interval
from profet_core.memory.fit import FitAnswer, does_not_fit
from profet_core.units import format_ms, format_significant, format_usd, format_usd_range
from ui.basis import SHORT_BASIS
from ui.charts.gpu_look import gpu_look
from ui.result_table.columns import Cell, Column, Row, Value
from ui.tables import MISSING, fit_cell, format_range_ms, gpu_cell


class PlanRow(Protocol):
    """A row of such a table."""

    @property
    def plan(self) -> Plan:
        """The training on one offer."""

    @property
    def fit(self) -> FitAnswer | None:
        """Whether a step fits in the GPU's memory; None where that is not known."""


def hidden(column: Column[Row], **changes: Any) -> Column[Row]:
    """The column, shown only where it is chosen."""
    return replace(column, by_default=False, **changes)


def machine_cell(row: PlanRow, name: str, gpus: str) -> Cell:
    """A machine by its name, in its GPU's color; beneath it its GPUs and what is special about it."""
    plan = row.plan
    said = (
        gpus,
        "retired" if plan.offer.status == "retired" else "",
        "does not fit" if does_not_fit(row.fit) else "",
        SHORT_BASIS[plan.basis] if plan.basis is Basis.CALIBRATED else "",
        HOST_LIMITED if plan.limited_by_host else "",
    )
    return Cell(name, beneath=", ".join(filter(None, said)), colour=gpu_look(plan.offer.gpu).colour)


def range_column(
    key: str,
    title: str,
    ends: Callable[[Row], tuple[float, float] | None],
    words: Callable[[float, float], str],
    names: tuple[str, str],
    *,
    beneath: str,
    tip: str = "90% prediction interval. Sorted by its upper end.",
) -> Column[Row]:
    """An interval, sorted by its upper end.

    Parameters
    ----------
    ends : the lower and the upper one; None for a row without.
    names : of both in exports, with their unit.
    beneath : key of the column that it is the interval of.
    """

    def cell(row: Row) -> str:
        return MISSING if (found := ends(row)) is None else words(*found)

    def upper(row: Row) -> float | None:
        return (found := ends(row)) and found[1]

    def data(row: Row) -> dict[str, Value]:
        return dict(zip(names, ends(row) or (None, None), strict=True))

    return Column(key, title, upper, cell=cell, data=data, tip=tip, narrow_under=beneath)


def step_range_column(ends: Callable[[Row], Interval | None]) -> Column[Row]:
    """The interval of the step's latency, beside `STEP`."""

    def ends_ms(row: Row) -> tuple[float, float] | None:
        return (found := ends(row)) and (found.low_ms, found.high_ms)

    names = ("latency_low_ms", "latency_high_ms")
    return range_column("latency_range_ms", "Range", ends_ms, format_range_ms, names, beneath="latency_ms")


def cost_range_column(of: str) -> Column[PlanRow]:
    """The interval of the plan's cost, which is of an "epoch" or the "training"."""

    def ends_usd(row: PlanRow) -> tuple[float, float] | None:
        return (found := row.plan.interval) and (found.low_usd, found.high_usd)

    names = (f"{of}_low_usd", f"{of}_high_usd")
    return range_column("cost_range_usd", "Cost range", ends_usd, format_usd_range, names, beneath=f"{of}_usd")


def fit_data(row: PlanRow) -> dict[str, Value]:
    """What exports say of whether a step fits."""
    return {"fits_in_memory": None if row.fit is None else row.fit.verdict.value}


def _largest_batch(row: PlanRow) -> int | None:
    return None if row.fit is None else row.fit.largest_batch


#: An instance that one GPU trains on, by its name.
INSTANCE: Column[PlanRow] = Column(
    "instance",
    "Instance",
    lambda row: row.plan.instance,
    cell=lambda row: machine_cell(row, machine_words(row.plan.offer), gpu_cell(row.plan.offer)),
    data=lambda row: {
        "instance": row.plan.instance,
        "gpu": row.plan.offer.gpu,
        "provider": row.plan.offer.provider,
        "batch_size": row.plan.batch_size,
    },
)
STEP: Column[PlanRow] = Column(
    "latency_ms", "Step", lambda row: row.plan.latency_ms, format_ms, tip="Latency of a training step."
)
IMAGES: Column[PlanRow] = Column("images_per_s", "Images/s", lambda row: row.plan.images_per_s, format_significant)
TRAINING_COST: Column[PlanRow] = Column(
    "training_usd", "Cost", lambda row: row.plan.total_usd, format_usd, tip="Of your training."
)
#: Sorted by the largest batch that fits.
MEMORY: Column[PlanRow] = Column(
    "memory",
    "Memory",
    _largest_batch,
    cell=lambda row: fit_cell(row.fit),
    data=lambda row: {**fit_data(row), "largest_batch": _largest_batch(row)},
    tip="Whether a step fits in one GPU's memory, and the largest batch that does.",
)


def confidence_column(narrow_under: str) -> Column[PlanRow]:
    """How sure time and money are, the least sure first; only the word beside the mark is read aloud."""
    return Column(
        "confidence",
        "Confidence",
        lambda row: int(plan_confidence(row.plan)),
        cell=lambda row: Cell(plan_confidence(row.plan).word, mark=plan_confidence(row.plan).mark),
        data=lambda row: {"confidence": plan_confidence(row.plan).word},
        narrow_under=narrow_under,
    )
