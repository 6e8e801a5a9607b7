"""Columns that tables of plans share: each page sets them in its order, beside its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from profet_core.advice.plans import Plan
from profet_core.advice.sureness import Sureness, plan_sureness
from profet_core.catalog.naming import machine_words
from profet_core.latency import HOST_LIMITED, Basis, Interval
from profet_core.memory.fit import FitAnswer, does_not_fit
from profet_core.units import format_ms, format_significant, format_usd
from ui.basis import SHORT_BASIS
from ui.charts.gpu_look import gpu_look
from ui.memory import fit_cell
from ui.result_table.columns import Cell, Column, Row, Value
from ui.tables import MISSING, format_range_ms, gpu_cell


class PlanRow(Protocol):
    """A row of such a table."""

    @property
    def plan(self) -> Plan:
        """The training on one offer."""

    @property
    def fit(self) -> FitAnswer | None:
        """Whether a step fits in the GPU's memory; None where that is not known."""


def machine_cell(name: str, gpu: str, said: Iterable[str]) -> Cell:
    """A machine by its name, in its GPU's colour; beneath it what is said of it, but for what is empty."""
    return Cell(name, beneath=", ".join(one for one in said if one), colour=gpu_look(gpu).colour)


def memory_words(row: PlanRow) -> str:
    """What stands beneath a machine that a step doesn't fit on; empty elsewhere."""
    return "does not fit" if does_not_fit(row.fit) else ""


def host_words(plan: Plan) -> str:
    """What stands beneath a machine whose host holds its GPU up; empty elsewhere."""
    return HOST_LIMITED if plan.limited_by_host else ""


def basis_words(plan: Plan) -> str:
    """What stands beneath a machine of whose GPU few steps were measured; empty elsewhere."""
    return SHORT_BASIS[plan.basis] if plan.basis is Basis.SHARPENED else ""


def instance_column() -> Column[PlanRow]:
    """An instance that one GPU trains on, by its name."""
    return Column(
        key="instance",
        title="Instance",
        cell=_instance_cell,
        value=lambda row: row.plan.instance,
        data=lambda row: {
            "instance": row.plan.instance,
            "gpu": row.plan.offer.gpu,
            "provider": row.plan.offer.provider,
            "batch_size": row.plan.batch_size,
        },
    )


def step_column(*, tip: str = "Latency of a training step.", by_default: bool = True) -> Column[PlanRow]:
    """The step's latency."""
    return Column(
        key="latency_ms",
        title="Step",
        cell=lambda row: format_ms(row.plan.latency_ms),
        value=lambda row: row.plan.latency_ms,
        tip=tip,
        by_default=by_default,
    )


def step_range_column(ends: Callable[[Row], Interval | None], *, tip: str, by_default: bool = True) -> Column[Row]:
    """The interval of the step's latency, beside `step_column`."""

    def ends_ms(row: Row) -> tuple[float, float] | None:
        found = ends(row)
        return found and (found.low_ms, found.high_ms)

    return range_column(
        key="latency_range_ms",
        title="Range",
        ends=ends_ms,
        words=format_range_ms,
        names=("latency_low_ms", "latency_high_ms"),
        beneath="latency_ms",
        tip=tip,
        by_default=by_default,
    )


def range_column(
    *,
    key: str,
    title: str,
    ends: Callable[[Row], tuple[float, float] | None],
    words: Callable[[float, float], str],
    names: tuple[str, str],
    beneath: str,
    tip: str = "",
    by_default: bool = True,
) -> Column[Row]:
    """An interval, sorted by its upper end.

    Parameters
    ----------
    ends : the lower and the upper one; None for a row without.
    names : of both in exports, with their unit.
    beneath : key of the column that it is the interval of.
    """

    def cell(row: Row) -> str:
        found = ends(row)
        return MISSING if found is None else words(*found)

    def upper(row: Row) -> float | None:
        found = ends(row)
        return found and found[1]

    def data(row: Row) -> dict[str, Value]:
        return dict(zip(names, ends(row) or (None, None), strict=True))

    return Column(
        key=key,
        title=title,
        cell=cell,
        value=upper,
        data=data,
        tip=tip,
        by_default=by_default,
        narrow_under=beneath,
    )


def images_column(*, by_default: bool = True) -> Column[PlanRow]:
    """Training images a second."""
    return Column(
        key="images_per_s",
        title="Images/s",
        cell=lambda row: format_significant(row.plan.images_per_s),
        value=lambda row: row.plan.images_per_s,
        by_default=by_default,
    )


def training_cost_column(*, by_default: bool = True) -> Column[PlanRow]:
    """What the whole training costs."""
    return Column(
        key="training_usd",
        title="Cost",
        cell=lambda row: format_usd(row.plan.total_usd),
        value=lambda row: row.plan.total_usd,
        tip="Of your training.",
        by_default=by_default,
    )


def memory_column(
    *,
    tip: str = "Whether a step fits in the GPU's memory, and the largest batch that does.",
    by_default: bool = True,
) -> Column[PlanRow]:
    """Whether a step fits; sorted by the largest batch that does."""
    return Column(
        key="memory",
        title="Memory",
        cell=lambda row: fit_cell(row.fit),
        value=_largest_batch,
        data=lambda row: {**fit_data(row), "largest_batch": _largest_batch(row)},
        tip=tip,
        by_default=by_default,
    )


def fit_data(row: PlanRow) -> dict[str, Value]:
    """What exports say of whether a step fits."""
    return {"fits_in_memory": None if row.fit is None else row.fit.verdict.value}


def sureness_column(*, narrow_under: str = "") -> Column[PlanRow]:
    """How sure time and money are, the least sure first."""
    return Column(
        key="sureness",
        title="Confidence",
        cell=lambda row: _sureness_cell(plan_sureness(row.plan)),
        value=lambda row: int(plan_sureness(row.plan)),
        data=lambda row: {"sureness": plan_sureness(row.plan).word},
        narrow_under=narrow_under,
    )


def _instance_cell(row: PlanRow) -> Cell:
    plan = row.plan
    said = (gpu_cell(plan.offer), memory_words(row), host_words(plan))
    return machine_cell(machine_words(plan.offer), plan.offer.gpu, said)


def _largest_batch(row: PlanRow) -> int | None:
    return None if row.fit is None else row.fit.largest_batch


def _sureness_cell(step: Sureness) -> Cell:
    """The mark and its word; only the word is read aloud."""
    return Cell(step.word, mark=step.mark)
