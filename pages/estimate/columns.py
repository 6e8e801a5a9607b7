"""Columns of the result table of Without a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from profet_core.advice.plans import Plan
from profet_core.catalog import Instance
from profet_core.from_layers.estimate import Disagreement
from profet_core.from_layers.model import METHODS, Regime
from profet_core.latency import Interval
from profet_core.memory.fit import FitAnswer
from profet_core.units import format_ms, format_time, format_usd
from ui.state.session import NetworkFile
from ui.tables import (
    INSTANCE,
    MEMORY,
    STEP,
    TRAINING_COST,
    Column,
    confidence_column,
    hidden,
    step_range_column,
)


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
        return self.offer.label


def estimate_columns(*, compared: bool) -> tuple[Column[EstimateRow], ...]:
    """All columns, in order.

    Parameters
    ----------
    compared : there is a profile to compare with.
    """
    return (
        INSTANCE,
        replace(STEP, tip="Step latency, estimated from the network's layers."),
        step_range_column(lambda row: row.ends),
        *((_PROFILED,) if compared else ()),
        MEMORY,
        Column(
            "epoch_s",
            "Epoch time",
            lambda row: row.plan.total_s / row.epochs,
            format_time,
            narrow_under="epoch_usd",
        ),
        Column("epoch_usd", "Epoch cost", lambda row: row.plan.total_usd / row.epochs, format_usd),
        hidden(TRAINING_COST),
        Column(
            "regime",
            "Case",
            lambda row: row.regime.value,
            by_default=False,
            tip="Which part of the question was not measured.",
        ),
        *(_by_method(name) for name in METHODS),
        confidence_column("latency_ms"),
    )


_PROFILED: Column[EstimateRow] = Column(
    "profiled_ms",
    "From profile",
    lambda row: None if row.profiled is None else row.profiled.profiled_ms,
    format_ms,
    tip="Step latency predicted from your profile.",
)


def _by_method(name: str) -> Column[EstimateRow]:
    key = f"{name.replace('-', '_')}_ms"
    return Column(
        key, NetworkFile.net_method.options[name], lambda row: row.by_method[name], format_ms, by_default=False
    )
