"""Costs as bars, points and rows: what the Cost page shows of each instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from profet_core import Catalog, CostRow, CostTable
from profet_core.advice.frontier import frontier
from profet_core.latency import StepTime
from profet_core.units import (
    S_PER_HOUR,
    format_duration,
    format_ms,
    format_significant,
    format_usd,
)
from ui.basis import SHORT_BASIS, marked
from ui.charts.bars import Bar
from ui.charts.trade_off import TradeOffPoint
from ui.tables import MISSING, format_range, gpu_cell, price_source, speedup_cell
from ui.texts import plain

#: Takes one figure out of a row.
Value = Callable[[CostRow], float]


@dataclass(frozen=True, slots=True)
class CostEnds:
    """Costs on one instance at the low and at the high end of its step latency's interval."""

    low: CostRow
    high: CostRow


@dataclass(frozen=True, slots=True)
class Costs:
    """What a training takes and costs on every instance.

    Attributes
    ----------
    ends : instance -> its costs at both ends of its interval, for those that have one.
    steps : instance -> its step latency, with what it rests on.
    """

    catalog: Catalog
    table: CostTable
    ends: Mapping[str, CostEnds]
    steps: Mapping[str, StepTime]

    @property
    def best(self) -> tuple[str, ...]:
        """Instances that no other one beats in both time and money."""
        return tuple(row.instance for row in frontier(self.table.rows))


def time_bars(costs: Costs) -> list[Bar]:
    """Time of an epoch."""
    return [_bar(costs, row, _epoch_s, format_duration) for row in costs.table.rows]


def cost_bars(costs: Costs) -> list[Bar]:
    """Cost of an epoch."""
    return [_bar(costs, row, _epoch_usd, format_usd) for row in costs.table.rows]


def points(costs: Costs) -> list[TradeOffPoint]:
    """The whole training on each instance."""
    best = costs.best
    return [
        TradeOffPoint(
            label=_label(costs, row),
            hours=row.total_s / S_PER_HOUR,
            usd=row.total_usd,
            hover=f"{row.instance}<br>{format_duration(row.total_s)}<br>{format_usd(row.total_usd)}",
            on_frontier=row.instance in best,
            retired=row.status == "retired",
        )
        for row in costs.table.rows
    ]


def text_rows(costs: Costs) -> list[dict[str, str]]:
    """One row an instance, as the page's table shows it."""
    return [_text_row(costs, row) for row in costs.table.rows]


def data_rows(costs: Costs) -> list[dict[str, object]]:
    """One row an instance with full digits, for download."""
    return [_data_row(costs, row) for row in costs.table.rows]


def _epoch_s(row: CostRow) -> float:
    return row.epoch_s


def _epoch_usd(row: CostRow) -> float:
    return row.epoch_usd


def _label(costs: Costs, row: CostRow) -> str:
    return marked(row.instance, costs.steps[row.instance].basis)


def _bar(costs: Costs, row: CostRow, value: Value, words: Callable[[float], str]) -> Bar:
    ends = costs.ends.get(row.instance)
    return Bar(
        label=_label(costs, row),
        value=value(row),
        text=words(value(row)),
        retired=row.status == "retired",
        ends=(value(ends.low), value(ends.high)) if ends else None,
        rough=costs.steps[row.instance].basis.is_rough,
    )


def _between(ends: CostEnds | None, value: Value, words: Callable[[float], str]) -> str:
    return format_range(words(value(ends.low)), words(value(ends.high))) if ends else MISSING


def _text_row(costs: Costs, row: CostRow) -> dict[str, str]:
    entry, ends, epochs = costs.catalog[row.instance], costs.ends.get(row.instance), f"{costs.table.epochs:,} epochs"
    return {
        "Instance": row.instance,
        "An epoch": format_duration(row.epoch_s),
        **({"An epoch, between": _between(ends, _epoch_s, format_duration)} if costs.ends else {}),
        "$ an epoch": plain(format_usd(row.epoch_usd)),
        **({"$ an epoch, between": _usd_between(ends)} if costs.ends else {}),
        epochs: format_duration(row.total_s),
        f"$ for {epochs}": plain(format_usd(row.total_usd)),
        "Time is": SHORT_BASIS[costs.steps[row.instance].basis],
        "GPU": gpu_cell(entry),
        "Images per second": format_significant(row.images_per_s),
        "Speed-up": speedup_cell(row.speedup),
        "Step latency": format_ms(row.latency_ms),
        "Price per hour": plain(format_usd(row.usd_per_hour)),
        "Price from": price_source(entry),
        "Status": row.status,
    }


def _usd_between(ends: CostEnds | None) -> str:
    return plain(_between(ends, _epoch_usd, format_usd)) if ends else MISSING


def _data_row(costs: Costs, row: CostRow) -> dict[str, object]:
    entry, step, table = costs.catalog[row.instance], costs.steps[row.instance], costs.table
    return {
        "instance": row.instance,
        "batch_size": table.batch_size,
        "images": table.images,
        "validation_images": table.validation_images,
        "epochs": table.epochs,
        "gpu": entry.gpu,
        "gpu_count": entry.gpu_count,
        "basis": step.basis,
        "note": step.note,
        "latency_ms": row.latency_ms,
        "images_per_s": row.images_per_s,
        "speedup": row.speedup,
        "epoch_s": row.epoch_s,
        **_data_ends(costs, row.instance, "epoch_s", _epoch_s),
        "epoch_usd": row.epoch_usd,
        **_data_ends(costs, row.instance, "epoch_usd", _epoch_usd),
        "total_s": row.total_s,
        "total_usd": row.total_usd,
        "usd_per_hour": row.usd_per_hour,
        "price_as_of": entry.as_of,
        "market": entry.market,
        "region": entry.region,
        "status": row.status,
    }


def _data_ends(costs: Costs, instance: str, name: str, value: Value) -> dict[str, object]:
    """Columns that there are if any instance has an interval."""
    if not costs.ends:
        return {}
    ends = costs.ends.get(instance)
    return {f"{name}_low": ends and value(ends.low), f"{name}_high": ends and value(ends.high)}
