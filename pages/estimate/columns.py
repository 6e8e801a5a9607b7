"""The table of No profile: an offer a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_core.advice.plans import Plan
from profet_core.advice.sureness import plan_sureness
from profet_core.catalog.naming import machine_words
from profet_core.estimate.disagreement import Disagreement
from profet_core.estimate.model import METHODS
from profet_core.estimate.regimes import Regime
from profet_core.latency import HOST_LIMITED, Interval
from profet_core.memory.fit import FitAnswer, Verdict
from profet_core.units import format_duration, format_ms, format_usd
from ui.charts.gpu_look import gpu_look
from ui.memory import fit_cell
from ui.result_table.columns import Cell, Column
from ui.sureness import sureness_cell
from ui.tables import MISSING, format_range_ms, gpu_cell


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
    batch_size: int
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
            key="latency_ms",
            title="Step",
            cell=lambda row: format_ms(row.plan.latency_ms),
            value=lambda row: row.plan.latency_ms,
            tip="Latency of a training step, told from the network's layers.",
        ),
        Column(
            key="latency_range_ms",
            title="Range",
            cell=lambda row: MISSING if row.ends is None else format_range_ms(row.ends.low_ms, row.ends.high_ms),
            value=lambda row: row.ends and row.ends.high_ms,
            data=lambda row: {
                "latency_low_ms": row.ends and row.ends.low_ms,
                "latency_high_ms": row.ends and row.ends.high_ms,
            },
            tip="Held nine in ten latencies where the like was left out. Sorted by its upper end.",
            narrow_under="latency_ms",
        ),
        *((_PROFILED,) if compared else ()),
        Column(
            key="memory",
            title="Memory",
            cell=lambda row: fit_cell(row.fit),
            value=lambda row: None if row.fit is None else row.fit.largest_batch,
            data=lambda row: {
                "fits_in_memory": None if row.fit is None else row.fit.verdict.value,
                "largest_batch": None if row.fit is None else row.fit.largest_batch,
            },
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
        Column(
            key="training_usd",
            title="Cost",
            cell=lambda row: format_usd(row.plan.total_usd),
            value=lambda row: row.plan.total_usd,
            tip="Of your training.",
            by_default=False,
        ),
        Column(
            key="regime",
            title="Beyond what was measured",
            cell=lambda row: row.regime.value,
            value=lambda row: row.regime.value,
            by_default=False,
            tip="What of the question was not measured: it decides the method and the range.",
        ),
        *(_by_method(name) for name in METHODS),
        Column(
            key="sureness",
            title="How sure",
            cell=lambda row: sureness_cell(plan_sureness(row.plan)),
            value=lambda row: int(plan_sureness(row.plan)),
            data=lambda row: {"sureness": plan_sureness(row.plan).word},
        ),
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


def _instance_cell(row: EstimateRow) -> Cell:
    offer = row.plan.offer
    said = [gpu_cell(offer)]
    if row.fit is not None and row.fit.verdict is Verdict.DOES_NOT_FIT:
        said.append("does not fit")
    if row.plan.limited_by_host:
        said.append(HOST_LIMITED)
    return Cell(machine_words(offer), beneath=", ".join(said), colour=gpu_look(offer.gpu).colour)
