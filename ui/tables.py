"""Columns of result tables, their rows in order, plain tables, and exports."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd
import streamlit as st

from profet_core import Instance
from profet_core.advice.plans import Plan, plan_confidence
from profet_core.catalog.instance import OWN_PROVIDER
from profet_core.catalog.naming import cloud_words, gpu_words, machine_words, price_age_years
from profet_core.latency import HOST_LIMITED, Basis
from profet_core.memory.fit import FitAnswer, Verdict, does_not_fit
from profet_core.units import format_ms, format_significant, format_usd, format_usd_range
from ui.charts.gpu_look import gpu_look
from ui.words import SHORT_BASIS

Row = TypeVar("Row")
#: Contravariant: a column of all rows with a plan is one of any page's rows.
ColumnRow = TypeVar("ColumnRow", contravariant=True)
#: A figure with full digits, a word, or None where there is none.
Value = float | int | str | bool | None
MISSING = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell.

    Attributes
    ----------
    text : as read aloud too. beneath : a second line, smaller.
    mark : drawn before the text, not read aloud.
    color : of a swatch before the text: a GPU's, as in the charts.
    """

    text: str
    beneath: str = ""
    mark: str = ""
    color: str = ""


# Without slots: Python 3.11 can't make `Column[Plan](...)` of a generic class that is frozen and has them.
@dataclass(frozen=True)
class Column(Generic[ColumnRow]):
    """One column.

    Attributes
    ----------
    key : its name in links and exports, with the unit: "total_s".
    value : what it is sorted by. words : the value as read.
    cell : as read, where that is more than the value's words.
    data : name with unit -> full digits, for export; None: `key` and `value`.
    tip : what the title means, one line.
    narrow_under : key of the column that it stands beneath where the screen is narrow; empty: a column there too.
    """

    key: str
    title: str
    value: Callable[[ColumnRow], Value]
    words: Callable[[Any], str] = str
    cell: Callable[[ColumnRow], str | Cell] | None = None
    data: Callable[[ColumnRow], Mapping[str, Value]] | None = None
    by_default: bool = True
    tip: str = ""
    narrow_under: str = ""

    def drawn(self, row: ColumnRow) -> Cell:
        """The row's cell."""
        if self.cell is None:
            value = self.value(row)
            return Cell(MISSING if value is None else self.words(value))
        found = self.cell(row)
        return found if isinstance(found, Cell) else Cell(found)

    def exported(self, row: ColumnRow) -> Mapping[str, Value]:
        """What an export has of a row."""
        return {self.key: self.value(row)} if self.data is None else self.data(row)

    def is_numeric(self, rows: Sequence[ColumnRow]) -> bool:
        """Whether its values are numbers, which stand flush right; a mark's place in line is none."""
        return any(isinstance(self.value(row), int | float) and not self.drawn(row).mark for row in rows)


def chosen_columns(columns: Sequence[Column[Row]], keys: Sequence[str]) -> tuple[Column[Row], ...]:
    """The columns of these keys, in the table's own order; unknown keys are ignored, and none mean the usual ones.

    The first column, which names the row, is always there.
    """
    known = {column.key for column in columns} & set(keys)
    first, *others = columns
    return first, *(column for column in others if (column.key in known if known else column.by_default))


def sorted_rows(rows: Sequence[Row], columns: Sequence[Column[Row]], order: str) -> list[Row]:
    """Rows by a column's values, what has none last; as they came without an order or for a column that is not there.

    Equal rows stay as they came.

    Parameters
    ----------
    order : as in links: "total_usd", or "-total_usd" for the largest first; empty for none.
    """
    column = next((column for column in columns if column.key == order.removeprefix("-")), None)
    if column is None:
        return list(rows)
    valued = [(_comparable(column.value(row)), row) for row in rows]
    known = [(value, row) for value, row in valued if value is not None]
    known.sort(key=lambda one: one[0], reverse=order.startswith("-"))
    return [row for _, row in known] + [row for value, row in valued if value is None]


def exported_rows(rows: Sequence[Row], columns: Sequence[Column[Row]]) -> list[dict[str, Value]]:
    """One mapping a row, of all that its columns export."""
    return [{name: value for column in columns for name, value in column.exported(row).items()} for row in rows]


def _comparable(value: Value) -> tuple[bool, float, str] | None:
    """Numbers before words; None for what is missing or no number."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return (True, 0.0, value.casefold()) if isinstance(value, str) else (False, float(value), "")


_DASH = "–"  # between the ends of a range


def show_table(rows: Sequence[Mapping[str, str]], alt: str) -> None:
    """A plain HTML table: read by screen readers, copied as text, scrolled sideways where it is too wide."""
    kept_whole = [{column: _unbroken(value) for column, value in row.items()} for row in rows]
    st.table(pd.DataFrame(kept_whole), border="horizontal", hide_index=True, alt=alt)


def _unbroken(value: str) -> str:
    """A short value that never wraps into a tall row on a phone; a range breaks after its dash, if at all."""
    if value != MISSING and len(value.replace("\\", "")) <= 16:
        return value.replace(" ", "\N{NO-BREAK SPACE}").replace(_DASH, f"{_DASH}\N{WORD JOINER}")
    return f" {_DASH} ".join(map(_unbroken, value.split(f" {_DASH} "))) if f" {_DASH} " in value else value


def format_range_ms(low_ms: float, high_ms: float) -> str:
    """An interval of latencies: '190–205 ms'; the unit once."""
    return f"{format_significant(low_ms)}{_DASH}{format_ms(high_ms)}"


def fit_cell(answer: FitAnswer | None) -> str:
    """For a table, with the largest batch that fits: 'fits, ≤ 512', 'does not fit, ≤ 16', 'can't tell'."""
    if answer is None:
        return MISSING
    return f"{answer.verdict}, ≤ {answer.largest_batch:,}" if answer.largest_batch else answer.verdict


def fit_sentence(answer: FitAnswer) -> str:
    """Whether it fits, up to which batch, how sure that is, and why."""
    sure, fits = "", answer.probability
    if fits is not None and answer.verdict is Verdict.CANT_TELL:
        sure = f" ({fits:.0%} that it fits)"
    elif fits is not None:
        sure = f" ({min(fits if answer.verdict is Verdict.FITS else 1 - fits, 0.99):.0%} sure)"
    largest = f", up to batch {answer.largest_batch:,}" if answer.largest_batch else ""
    return f"{answer.verdict}{largest}{sure}: {answer.why}."


def gpu_cell(entry: Instance) -> str:
    """'T4, AWS'; of a node 'A100 (1 of 8), GCP': the speed is that of one GPU."""
    gpu = gpu_words(entry) if entry.gpu_count == 1 else f"{gpu_words(entry)} (1 of {entry.gpu_count})"
    return gpu if entry.provider == OWN_PROVIDER else f"{gpu}, {cloud_words(entry.provider)}"


def plan_gpus(plan: Plan) -> str:
    """As `gpu_cell`; where all GPUs of a node train '8 × A100, GCP'."""
    return plan.gpu_words if plan.gpus > 1 else gpu_cell(plan.offer)


def price_cell(offer: Instance) -> Cell:
    """'$1.29', with its year where it is old: '$1.29 · 2024'; beneath a node's what one of its GPUs comes to."""
    share = "" if offer.gpu_count == 1 else f"{format_usd(offer.usd_per_gpu_hour)} a GPU"
    return Cell(price_words(offer), beneath=share)


def price_words(offer: Instance) -> str:
    """US dollars an hour of the whole machine, with the year where the price is more than a year old."""
    old = f" · {offer.as_of[:4]}" if price_age_years(offer.as_of) else ""
    return f"{format_usd(offer.usd_per_hour)}{old}"


def price_source(entry: Instance) -> str:
    """Where a price is from: '2026, us-east-1, on-demand', on one line."""
    if not entry.as_of:
        return entry.market
    text = f"{entry.as_of}, {entry.region}, {entry.market}"
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}")


def download_buttons(rows: Sequence[Mapping[str, object]], stem: str) -> None:
    """What is on screen as CSV and as JSON, with full digits."""
    with st.container(horizontal=True, width="content"):
        for kind, made, mime in (("csv", as_csv, "text/csv"), ("json", as_json, "application/json")):
            download_button(kind.upper(), partial(made, rows), f"{stem}.{kind}", mime, f"{stem}:{kind}")


def download_button(
    label: str, data: str | bytes | Callable[[], str], file_name: str, mime: str, key: str, **more: Any
) -> None:
    """A file to save; data that is made of a function is made when it is asked for."""
    icon = more.pop("icon", ":material/download:")
    st.download_button(label, data, file_name, mime, key=key, icon=icon, on_click="ignore", **more)


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV with a header; a missing value is empty, and no text is a formula to a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _no_formula(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _no_formula(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def as_json(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as one JSON document; a missing value is null."""
    return json.dumps(list(rows), indent=2, allow_nan=False)


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
    plan, said = row.plan, [gpus]
    said += ["retired"] if plan.offer.status == "retired" else []
    said += ["does not fit"] if does_not_fit(row.fit) else []
    said += [SHORT_BASIS[plan.basis]] if plan.basis is Basis.CALIBRATED else []
    said += [HOST_LIMITED] if plan.limited_by_host else []
    return Cell(name, beneath=", ".join(said), color=gpu_look(plan.offer.gpu).color)


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


def cost_range_column(of: str) -> Column[PlanRow]:
    """The interval of the plan's cost, which is of an "epoch" or the "training"."""

    return range_column(
        "cost_range_usd",
        "Cost range",
        lambda row: row.plan.interval and (row.plan.interval.low_usd, row.plan.interval.high_usd),
        format_usd_range,
        (f"{of}_low_usd", f"{of}_high_usd"),
        beneath=f"{of}_usd",
    )


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
#: The interval of the step's latency.
STEP_RANGE: Column[PlanRow] = range_column(
    "latency_range_ms",
    "Range",
    lambda row: row.plan.step_interval and (row.plan.step_interval.low_ms, row.plan.step_interval.high_ms),
    format_range_ms,
    ("latency_low_ms", "latency_high_ms"),
    beneath="latency_ms",
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
