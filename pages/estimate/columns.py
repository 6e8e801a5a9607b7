"""The table of No profile: an offer a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_core.advice.plans import Plan
from profet_core.estimate.disagreement import Disagreement
from profet_core.estimate.model import METHODS
from profet_core.estimate.regimes import Regime
from profet_core.latency import Interval
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_duration, format_ms, format_usd
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
    """One offer.

    Attributes
    ----------
    plan : the training there. ends : of the step's latency.
    regime : what was not measured. by_method : latency by each method, milliseconds.
    profiled : what a profile says; None where there is none.
    """

    plan: Plan
    ends: Interval | None
    epochs: int
    fit: FitAnswer | None
    regime: Regime
    by_method: Mapping[str, float]
    profiled: Disagreement | None

    @property
    def instance(self) -> str:
        """Its name."""
        return self.plan.instance


def estimate_columns(*, compared: bool) -> tuple[Column[EstimateRow], ...]:
    """All columns, in their order.

    Parameters
    ----------
    compared : there is a profile to compare with.
    """
    return (
        instance_column(),
        step_column(tip="Latency of a training step, told from the network's layers."),
        step_range_column(
            lambda row: row.ends,
            tip="Held nine in ten latencies where the like was left out. Sorted by its upper end.",
        ),
        *((_PROFILED,) if compared else ()),
        memory_column(
            tip="Whether a step fits in the GPU's memory, and the largest batch that does, by its layers.",
        ),
        Column(
            key="epoch_s",
            title="Epoch",
            cell=lambda row: format_duration(row.plan.total_s / row.epochs),
            value=lambda row: row.plan.total_s / row.epochs,
        ),
        Column(
            key="epoch_usd",
            title="Cost of an epoch",
            cell=lambda row: format_usd(row.plan.total_usd / row.epochs),
            value=lambda row: row.plan.total_usd / row.epochs,
        ),
        training_cost_column(by_default=False),
        Column(
            key="regime",
            title="Beyond what was measured",
            cell=lambda row: row.regime.value,
            value=lambda row: row.regime.value,
            by_default=False,
            tip="What of the question was not measured: it decides the method and the range.",
        ),
        *(_by_method(name) for name in METHODS),
        sureness_column(),
    )


_PROFILED: Column[EstimateRow] = Column(
    key="profiled_ms",
    title="By profile",
    cell=lambda row: MISSING if row.profiled is None else format_ms(row.profiled.profiled_ms),
    value=lambda row: None if row.profiled is None else row.profiled.profiled_ms,
    tip="What your profile says of the same step.",
)


def _by_method(name: str) -> Column[EstimateRow]:
    key = name.replace("-", "_")
    return Column(
        key=f"{key}_ms",
        title=f"By {name}",
        cell=lambda row: format_ms(row.by_method[name]),
        value=lambda row: row.by_method[name],
        by_default=False,
    )
