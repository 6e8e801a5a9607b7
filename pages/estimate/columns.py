"""Columns of the result table of Without a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pages.estimate.inputs import METHOD_LABELS
from profet_core.advice.plans import Plan
from profet_core.advice.rows import offer_label
from profet_core.catalog import Instance
from profet_core.estimate.disagreement import Disagreement
from profet_core.estimate.model import METHODS
from profet_core.estimate.regimes import Regime
from profet_core.latency import Interval
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_ms, format_time, format_usd
from ui.result_table.columns import Column
from ui.result_table.plan_columns import (
    instance_column,
    memory_column,
    step_column,
    step_range_column,
    sureness_column,
    training_cost_column,
)
from ui.tables import MISSING


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One offer with its estimate.

    Attributes
    ----------
    plan : the training there. ends : prediction interval of the step latency.
    regime : similarity to the measurements. by_method : method -> latency, milliseconds.
    profiled : comparison with a profile; None without one.
    """

    plan: Plan
    ends: Interval | None
    epochs: int
    fit: FitAnswer | None
    regime: Regime
    by_method: Mapping[str, float]
    profiled: Disagreement | None

    #: An estimate needs no anchor.
    is_anchor: ClassVar[bool] = False

    @property
    def offer(self) -> Instance:
        """What is rented."""
        return self.plan.offer

    @property
    def label(self) -> str:
        """The instance, with its market where that isn't on-demand."""
        return offer_label(self.offer)


def estimate_columns(*, compared: bool) -> tuple[Column[EstimateRow], ...]:
    """All columns, in order.

    Parameters
    ----------
    compared : there is a profile to compare with.
    """
    return (
        instance_column(),
        step_column(tip="Step latency, estimated from the network's layers."),
        step_range_column(
            lambda row: row.ends,
            tip="90% prediction interval. Sorted by its maximum.",
        ),
        *((_PROFILED,) if compared else ()),
        memory_column(tip="Whether a step fits in GPU memory, and the largest batch that does."),
        Column(
            key="epoch_s",
            title="Time per epoch",
            cell=lambda row: format_time(row.plan.total_s / row.epochs),
            value=lambda row: row.plan.total_s / row.epochs,
            narrow_under="epoch_usd",
        ),
        Column(
            key="epoch_usd",
            title="Cost per epoch",
            cell=lambda row: format_usd(row.plan.total_usd / row.epochs),
            value=lambda row: row.plan.total_usd / row.epochs,
        ),
        training_cost_column(by_default=False),
        Column(
            key="regime",
            title="Case",
            cell=lambda row: row.regime.value,
            value=lambda row: row.regime.value,
            by_default=False,
            tip="Which part of the question was not measured.",
        ),
        *(_by_method(name) for name in METHODS),
        sureness_column(narrow_under="latency_ms"),
    )


_PROFILED: Column[EstimateRow] = Column(
    key="profiled_ms",
    title="From profile",
    cell=lambda row: MISSING if row.profiled is None else format_ms(row.profiled.profiled_ms),
    value=lambda row: None if row.profiled is None else row.profiled.profiled_ms,
    tip="Step latency predicted from your profile.",
)


def _by_method(name: str) -> Column[EstimateRow]:
    return Column(
        key=f"{name.replace('-', '_')}_ms",
        title=METHOD_LABELS[name],
        cell=lambda row: format_ms(row.by_method[name]),
        value=lambda row: row.by_method[name],
        by_default=False,
    )
