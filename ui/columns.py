"""Columns of the pages' result tables, the records of their rows, and their cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from profet_core.answers.sizes import SizePoint
from profet_core.catalog import Instance
from profet_core.catalog.collection import is_guess
from profet_core.catalog.instance import cloud_words, price_source, price_words
from profet_core.catalog.interconnects import load_interconnects
from profet_core.latency import HOST_LIMITED, BasisWord
from profet_core.training.memory import FitAnswer, Verdict, does_not_fit
from profet_core.training.plans import COSTED_STEPS, Period, Plan, plan_confidence
from profet_core.training.several_gpus import WholeNodePlan
from profet_profiles.units import (
    TimeUnit,
    format_certainty,
    format_co2e,
    format_energy,
    format_ms,
    format_ms_range,
    format_significant,
    format_usd,
    format_usd_range,
)
from ui.curves import gpu_look
from ui.tables import MISSING, Cell, Column, Row, Value


class PlanRow(Protocol):
    """A row of a result table."""

    @property
    def plan(self) -> Plan:
        """The training on one offer."""

    @property
    def fit(self) -> FitAnswer | None:
        """Whether a step fits in the GPU's memory; None where that is not known."""


def _hidden(column: Column[Row], **changes: Any) -> Column[Row]:
    """The column, shown only where it is chosen."""
    return replace(column, by_default=False, **changes)


def _offer_cell(row: PlanRow, code: str = "") -> Cell:
    """GPU and cloud, in the GPU's color; beneath them the machine's code and what is special about it."""
    plan, notes = row.plan, [code or row.plan.code]
    notes += ["does not fit"] if does_not_fit(row.fit) else []
    notes += ["may not fit"] if row.fit is not None and row.fit.verdict is Verdict.CANT_TELL else []
    notes += [HOST_LIMITED] if plan.row.limited_by_host else []
    return Cell(plan.name, beneath=", ".join(notes), color=gpu_look(plan.offer.gpu).color)


def _offer_data(plan: Plan) -> dict[str, Value]:
    """An offer in exports, as people and as programs name it, and the date of its price."""
    offer = plan.offer
    columns = ("gpu", "gpu_count", "provider", "market")
    return {
        "name": plan.phrase,
        "instance": plan.instance,
        **{column: getattr(offer, column) for column in columns},
        "price_as_of": offer.as_of,
    }


def _range(
    key: str, title: str, unit: str, words: Callable[[float, float], str], low: str, beneath: str, **more: Any
) -> Column[PlanRow]:
    """The interval of a training's "seconds" or "usd", or of a step's "ms", sorted by its upper end.

    `low`: name of its lower end in exports. `beneath`: the column it is of.
    """

    def ends(plan: Plan) -> tuple[float, float] | None:
        if unit == "ms":
            return plan.row.interval and (plan.row.interval.low_ms, plan.row.interval.high_ms)
        return plan.interval and getattr(plan.interval, unit)

    return Column(
        key,
        title,
        lambda row: (found := ends(row.plan)) and found[1],
        cell=lambda row: MISSING if (found := ends(row.plan)) is None else words(*found),
        data=lambda row: dict(zip((low, low.replace("low", "high")), ends(row.plan) or (None, None), strict=True)),
        narrow_under=beneath,
        **{"tip": "90% prediction interval. Sorted by its upper end.", **more},
    )


#: An instance that one GPU trains on, by its name.
INSTANCE: Column[PlanRow] = Column(
    "instance",
    "Instance",
    lambda row: row.plan.instance,
    cell=_offer_cell,
    data=lambda row: {**_offer_data(row.plan), "batch_size": row.plan.batch_size},
    row_key=lambda row: row.plan.label,
)
STEP: Column[PlanRow] = Column(
    "latency_ms",
    "Step",
    lambda row: row.plan.latency_ms,
    format_ms,
    export="step_ms",
    tip="Latency of a training step.",
)
STEP_RANGE = _range("latency_range_ms", "Range", "ms", format_ms_range, "step_low_ms", "latency_ms")
IMAGES: Column[PlanRow] = Column("images_per_s", "Images/s", lambda row: row.plan.images_per_s, format_significant)
TRAINING_COST_RANGE = _range(
    "cost_range_usd", "Cost range", "usd", format_usd_range, "training_low_usd", "training_usd"
)
TRAINING_COST: Column[PlanRow] = Column(
    "training_usd",
    "Cost",
    lambda row: row.plan.total_usd,
    format_usd,
    data=lambda row: {"training_usd": row.plan.total_usd, **TRAINING_COST_RANGE.exported(row)},
    tip="Of your training.",
)
#: Sorted by the largest batch that fits.
MEMORY: Column[PlanRow] = Column(
    "memory",
    "Memory",
    lambda row: row.fit and row.fit.largest_batch,
    # 'fits, ≤ 512', 'does not fit, ≤ 16', "can't tell".
    cell=lambda row: (
        f"{row.fit.verdict}" + (f", ≤ {most:,}" if (most := row.fit.largest_batch) else "") if row.fit else MISSING
    ),
    data=lambda row: {
        "fits_in_memory": row.fit and row.fit.verdict.value,
        "largest_batch": row.fit and row.fit.largest_batch,
    },
    tip="Whether a step fits in one GPU's memory, and the largest batch that does.",
)


def basis_column(narrow_under: str) -> Column[PlanRow]:
    """What time and money are based on, the widest range first; only the word beside the mark is read aloud."""
    return Column(
        "confidence",
        "Basis",
        lambda row: int(plan_confidence(row.plan)),
        cell=lambda row: Cell(row.plan.basis.word, mark=plan_confidence(row.plan).mark),
        data=lambda row: {
            "basis": row.plan.basis.value,
            "basis_word": row.plan.basis.word.value,
            "basis_note": row.plan.row.note,
            "confidence": plan_confidence(row.plan).word,
        },
        tip="; ".join(f"{word}: {word.words}" for word in BasisWord) + ". More dots: a narrower range.",
        narrow_under=narrow_under,
    )


@dataclass(frozen=True, slots=True)
class TableRow:
    """A training on one offer, with the time and cost that are shown; `values`: what else a page's rows have."""

    plan: Plan
    fit: FitAnswer | None = None
    is_anchor: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def offer(self) -> Instance:
        """What is rented."""
        return self.plan.offer


def predict_columns(per: Period, unit: TimeUnit) -> tuple[Column[TableRow], ...]:
    """All columns of Predict, in their order; the first six are shown until others are chosen. Rows have energy.

    Exports name a value by what it is of and its unit: step_low_ms, epoch_s, training_high_usd.
    """
    tip = "Time and cost move together along it."
    cost = f"cost_per_{COSTED_STEPS}_steps" if per is Period.STEP else per.value
    energy = cost.replace("cost", "energy")
    cost_range = _range("cost_range", "Cost range", "usd", format_usd_range, f"{cost}_low_usd", "cost", tip=tip)
    time_range = _range("time_range", "Range", "seconds", unit.range_words, f"{per}_low_s", "time")
    more: tuple[Column[TableRow], ...] = (
        cost_range,
        STEP,
        IMAGES,
        Column(
            "in_time", "In time", lambda row: row.plan.in_time, format_certainty, tip="Chance to keep to the deadline."
        ),
        Column(
            "in_budget",
            "Within budget",
            lambda row: row.plan.in_budget,
            format_certainty,
            tip="Chance to keep to the budget.",
        ),
        MEMORY,
        Column(
            "energy_kwh",
            "Energy",
            lambda row: row.values["kwh"],
            format_energy,
            export=f"{energy}_kwh_at_most",
            tip="Upper bound: board power of the GPUs that train, idle power of the others, all CPU cores at full "
            "load. Memory, disks and network are not counted.",
        ),
        Column(
            "co2e_kg",
            "CO₂e",
            lambda row: row.values["co2e_kg"],
            format_co2e,
            export=f"{energy}_co2e_kg_at_most",
            tip="That energy, with the data center's overhead and the mean carbon intensity of the region's grid in "
            "2023 (Green Software Foundation, Cloud Region Metadata). No number where the region is not in it.",
        ),
        Column("provider", "Cloud", lambda row: cloud_words(row.plan.offer.provider), export="cloud"),
        Column("market", "Market", lambda row: row.plan.offer.market),
        Column("region", "Region", lambda row: row.plan.offer.region),
        Column(
            "price_from",
            "Price from",
            lambda row: row.plan.offer.as_of,
            cell=lambda row: "your guess" if is_guess(row.plan.offer) else price_source(row.plan.offer),
            data=lambda row: {"price_as_of": row.plan.offer.as_of, "price_source": row.plan.offer.source},
        ),
        Column("status", "Status", lambda row: row.plan.offer.status),
    )
    return (
        Column(
            "plan",
            "Instance",
            lambda row: row.plan.label,
            cell=_offer_cell,
            data=lambda row: _offer_data(row.plan),
        ),
        Column(
            "time",
            "Time",
            lambda row: row.plan.total_s,
            unit.words,
            data=lambda row: {
                STEP.export: row.plan.latency_ms,
                **({} if per is Period.STEP else {f"{per}_s": row.plan.total_s}),
            },
        ),
        replace(time_range, data=STEP_RANGE.data) if per is Period.STEP else time_range,
        Column(
            "cost",
            "Cost",
            lambda row: row.plan.total_usd,
            format_usd,
            data=lambda row: {f"{cost}_usd": row.plan.total_usd, **cost_range.exported(row)},
        ),
        Column(
            "usd_per_hour",
            "$/h",
            lambda row: row.plan.offer.usd_per_hour,
            cell=lambda row: Cell(
                price_words(row.plan.offer),
                "" if row.plan.offer.gpu_count == 1 else f"{format_usd(row.plan.offer.usd_per_gpu_hour)} a GPU",
            ),
            data=lambda row: {
                "usd_per_hour": row.plan.offer.usd_per_hour,
                "usd_per_gpu_hour": row.plan.offer.usd_per_gpu_hour,
            },
            tip="Of the whole machine, with all its GPUs. A month marks a price that is over 60 days old.",
        ),
        basis_column("cost"),
        *map(_hidden, more),
    )


def size_columns(unit: TimeUnit, *, with_batch: bool = False) -> tuple[Column[SizePoint], ...]:
    """All columns of Sizes, in their order, with times in one unit; `with_batch`: each row has its own batch size."""
    return (
        INSTANCE,
        Column("batch_size", "Batch size", lambda row: row.plan.batch_size, "{:,}".format, by_default=with_batch),
        STEP,
        STEP_RANGE,
        _hidden(IMAGES),
        Column("training_s", "Training time", lambda row: row.plan.total_s, unit.words),
        TRAINING_COST,
        _hidden(TRAINING_COST_RANGE),
        _hidden(MEMORY),
        basis_column("training_usd"),
    )


def out_columns(unit: TimeUnit) -> tuple[Column[WholeNodePlan], ...]:
    """All columns of Scale out, in their order, with times in one unit."""
    cost_range = _range("cost_range_usd", "Cost range", "usd", format_usd_range, "epoch_low_usd", "epoch_usd")
    return (
        Column(
            "instance",
            "Instance",
            lambda row: row.offer.name,
            cell=lambda row: _offer_cell(row, "" if row.nodes == 1 else f"{row.nodes} × {row.plan.code}"),
            data=lambda row: {
                **_offer_data(row.plan),
                "instance": row.offer.name,
                "nodes": row.nodes,
                "gpus": row.step.gpus,
                "batch_size": row.step.batch_size,
            },
            row_key=lambda row: row.label,
        ),
        _hidden(STEP, tip="Step latency on all GPUs."),
        _hidden(STEP_RANGE),
        Column(
            "speed_up",
            "Speed-up",
            lambda row: row.step.speed_up,
            cell=lambda row: Cell(format_significant(row.step.speed_up), beneath=f"of {row.step.gpus}"),
            data=lambda row: {"speed_up": row.step.speed_up, "one_gpu_step_ms": row.step.one_gpu_ms},
            tip="Images/s of all GPUs over images/s of one, at the same batch per GPU.",
        ),
        _hidden(IMAGES),
        Column("epoch_s", "Epoch time", lambda row: row.epoch_s, unit.words),
        _range("epoch_range_s", "Range", "seconds", unit.range_words, "epoch_low_s", "epoch_s"),
        Column(
            "epoch_usd",
            "Epoch cost",
            lambda row: row.epoch_usd,
            format_usd,
            data=lambda row: {"epoch_usd": row.epoch_usd, **cost_range.exported(row)},
            tip="You pay for whole machines.",
        ),
        _hidden(cost_range),
        Column(
            "usd_per_hour",
            "$/h",
            lambda row: row.usd_per_hour,
            cell=lambda row: Cell(
                price_words(row.plan.offer),
                "" if row.nodes == 1 else f"{row.nodes} × {format_usd(row.offer.usd_per_hour)}",
            ),
            data=lambda row: {
                "usd_per_hour": row.usd_per_hour,
                "node_usd_per_hour": row.offer.usd_per_hour,
            },
            tip="All machines together.",
            narrow_under="epoch_usd",
        ),
        basis_column("epoch_usd"),
        Column(
            "strategy",
            "Strategy",
            lambda row: row.step.strategy.value,
            cell=lambda row: row.step.strategy.words,
            by_default=False,
        ),
        Column(
            "links",
            "Links",
            lambda row: load_interconnects().of(row.offer).link_gb_per_s,
            cell=lambda row: load_interconnects().of(row.offer).words,
            data=lambda row: {
                "link": (links := load_interconnects().of(row.offer)).link.value,
                "link_gb_per_s": links.link_gb_per_s,
                "network_gbit_per_s": links.network_gbit_per_s,
                "links_assumed": links.assumed,
            },
            by_default=False,
        ),
        _hidden(MEMORY, data=lambda row: {"fits_in_memory": row.fit and row.fit.verdict.value}),
    )
