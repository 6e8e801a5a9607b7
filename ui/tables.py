"""Result tables and plain ones: columns, and rows in order, to show and to export; the row of export buttons."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd
import streamlit as st
from msgspec import Struct

from ui.session import Table
from ui.streamlit_internals import component

Rows = Sequence[Mapping[str, object]]


def export_row(
    stem: str, rows: Callable[[], Rows] | None = None, *, charts: bool = True, report: Callable[[], str] | None = None
) -> None:
    """Draw Copy link, CSV, PNG and Report, as far as they apply.

    `assets/exports.js` handles Copy link and PNG in the browser: the picture has all charts of the page, below its
    title and the text of the container with the key "shown", above that of the key "legend".

    `stem` begins the files' names: "profet-sizes"; `rows` and `report` are made on demand, and None is no such button.
    """
    with st.container(horizontal=True, width="content", gap="xsmall", vertical_alignment="center"):
        st.button("Copy link", key=f"copy-link:{stem}", icon=":material/link:", type="tertiary")
        if rows is not None:
            save_button("CSV", lambda: as_csv(rows()), f"{stem}.csv", "text/csv")
        if charts:
            st.button("PNG", key=f"picture:{stem}", icon=":material/image:", type="tertiary")
        if report is not None:
            save_button("Report", report, "profet-report.html", "text/html", ":material/print:")


def save_button(
    label: str, data: str | bytes | Callable[[], str], file_name: str, mime: str, icon: str = ":material/download:"
) -> None:
    """Offer a file to save; data that is made of a function is made when it is saved."""
    st.download_button(
        label, data, file_name, mime, key=f"save:{file_name}", icon=icon, type="tertiary", on_click="ignore"
    )


_FORMULA = re.compile(r"[\s\0\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")


def as_csv(rows: Rows) -> str:
    """Rows as CSV with a header; a missing value is empty, and no text, of a head neither, is a formula."""
    table = pd.DataFrame(rows, dtype=object)
    return table.map(_no_formula).rename(columns=_no_formula).to_csv(index=False, lineterminator="\n")


def _no_formula(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula, whatever blanks or marks stand before its sign."""
    is_formula = isinstance(cell, str) and _FORMULA.match(cell)
    return f"'{cell}" if is_formula else cell


def as_json(rows: Rows) -> str:
    """Rows as one JSON document; a missing value is null."""
    return json.dumps(list(rows), indent=2, allow_nan=False)


Row = TypeVar("Row")
#: A figure with full digits, a word, or None where there is none.
Value = float | int | str | bool | None
#: What stands in a cell without a value, and between the ends of a range.
MISSING = DASH = "–"


class TableCell(NamedTuple):
    """What stands in a cell.

    `beneath` is a second, smaller line. A `mark`, which isn't read aloud, stands before the text.
    """

    text: str
    beneath: str = ""
    mark: str = ""


#: The value of a row: its path, such as "offer.name" ("": the row itself), or what makes it of the row.
Of = str | Callable[[Any], Any]


class Column(Struct, frozen=True):
    """One column, declared for all rows.

    Attributes
    ----------
    key : its name in links, with the unit: "total_s".
    of : what it is sorted by, by default its key; two paths are the ends of a range, sorted by the upper one.
    words : how that is read, or what `read` is of a row if it isn't None; of a range it takes both ends.
    exports : name with unit -> full digits; a name alone is that of the value, which is by default the key.
    part : of each row, if it is a column of that.
    narrow_under : key of the column that it stands beneath where the screen is narrow; empty: a column there too.
    """

    key: str
    title: str
    of: Of | tuple[str, str] = ""
    words: Callable[..., str | TableCell] = str
    read: Of | None = None
    exports: Mapping[str, Of] | str = ""
    part: Of = ""
    tip: str = ""
    narrow_under: str = ""
    by_default: bool = True

    def values(self, rows: Sequence[Any]) -> list[Any]:
        """Return what it is sorted by; None where it is missing."""
        of = self.of[1] if isinstance(self.of, tuple) else self.of
        return _values(_values(rows, self.part), of or self.key)

    def drawn(self, rows: Sequence[Any]) -> list[TableCell]:
        """Its cells."""
        ends = self.of if isinstance(self.of, tuple) else (self.of or self.key if self.read is None else self.read,)
        read = zip(*(_values(_values(rows, self.part), of) for of in ends), strict=True)
        cells = (MISSING if values[-1] is None else self.words(*values) for values in read)
        return [TableCell(cell) if isinstance(cell, str) else cell for cell in cells]

    @property
    def exported(self) -> Mapping[str, Of]:
        """What an export has of it, but for a range's ends: name with unit -> value."""
        if isinstance(self.exports, Mapping):
            return self.exports
        assert not isinstance(self.of, tuple), "the ends of a range have names"
        return {self.exports or self.key: self.of or self.key}


def _values(rows: Sequence[Any], of: Of) -> list[Any]:
    if callable(of):
        return [None if row is None else of(row) for row in rows]
    values = list(rows)
    for name in of.split(".") if of else ():
        get: Any = itemgetter(int(name)) if name.isdigit() else attrgetter(name)
        values = [None if value is None else get(value) for value in values]
    return values


def chosen_columns(columns: Sequence[Column], keys: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of these keys, in the table's own order; unknown keys are ignored, none: the usual ones.

    The first column, which names the row, is always there.
    """
    wanted = {column.key for column in columns} & set(keys)
    first, *others = columns
    return first, *(column for column in others if (column.key in wanted if wanted else column.by_default))


def in_order(rows: Sequence[Row], columns: Sequence[Column], order: str) -> list[Row]:
    """Rows by a column's values, what has none last; equal rows, and all without such a column, stay as they came.

    `order` is that of links: "total_usd", or "-total_usd" for the largest first; empty for none.
    """
    column = next((column for column in columns if column.key == order.removeprefix("-")), None)
    if column is None:
        return list(rows)
    valued = [(_comparable(value), row) for value, row in zip(column.values(rows), rows, strict=True)]
    with_value = [(value, row) for value, row in valued if value]
    with_value.sort(key=lambda pair: pair[0], reverse=order[0] == "-")
    return [row for _, row in with_value] + [row for value, row in valued if not value]


def _comparable(value: Value) -> tuple[bool, float, str] | None:
    """Numbers before words; None for what is missing or no number."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return (True, 0.0, value.casefold()) if isinstance(value, str) else (False, float(value), "")


def exported_rows(rows: Sequence[Any], columns: Sequence[Column]) -> list[dict[str, Value]]:
    """One mapping a row, of all that the columns export."""
    exported = {
        name: _values(_values(rows, column.part), of) for column in columns for name, of in column.exported.items()
    }
    return [{name: values[row] for name, values in exported.items()} for row in range(len(rows))]


def show_table(rows: Sequence[Mapping[str, str]], alt: str) -> None:
    """Show a plain HTML table: read by screen readers, copied as text, scrolled sideways where it is too wide."""
    kept_whole = [{column: _unbroken(value) for column, value in row.items()} for row in rows]
    st.table(pd.DataFrame(kept_whole), border="horizontal", hide_index=True, alt=alt)


def _unbroken(value: str) -> str:
    """Return a short value that never wraps into a tall row on a phone; a range breaks after its dash, if at all."""
    if value != MISSING and len(value.replace("\\", "")) <= 16:
        return value.replace(" ", "\N{NO-BREAK SPACE}").replace(DASH, f"{DASH}\N{WORD JOINER}")
    return f" {DASH} ".join(map(_unbroken, value.split(f" {DASH} "))) if f" {DASH} " in value else value


def result_table(
    rows: Sequence[Any],
    columns: Sequence[Column],
    *,
    choices: Table,
    stem: str,
    title: str,
    sorted_by: str = "",
    label: Of = "label",
    charts: bool | None = True,
) -> str | None:
    """Show the table; returns the label of the row that the visitor opened, None without one.

    The rows have their order, by the column `sorted_by`, until the visitor sorts them; of the columns the first names
    the row and is always there.
    A row is known by its `label`, in links too. `stem` begins the names of exports, and `title` is for
    screen readers. `charts` says whether the page has charts to save; None: the page draws the view's row of exports
    itself.
    """
    key = f"{choices.prefix}:table"
    rows, shown = in_order(rows, columns, choices.sort), chosen_columns(columns, choices.columns)
    labels = _values(rows, label)

    def sort() -> None:
        # What a browser sends may be anything.
        if (column := st.session_state[key].get("sort")) in [shown_column.key for shown_column in columns]:
            # The smallest first, then the largest first, and a third time as the rows come.
            wanted = {column: f"-{column}", f"-{column}": ""}.get(choices.sort or sorted_by, column)
            choices.sort = "" if wanted == sorted_by else wanted

    def open_row() -> None:
        if (row := st.session_state[key].get("open")) in labels:
            choices.open = "" if row == choices.open else row

    places = {column.key: number for number, column in enumerate(shown)}
    drawn = [column.drawn(rows) for column in shown]
    heads = [
        {
            "key": column.key,
            "title": column.title,
            "tip": column.tip,
            # Numbers, a mark's place in line aside, stand flush right.
            "numeric": any(isinstance(value, int | float) for value in column.values(rows))
            and not any(cell.mark for cell in cells),
            "sorted": {column.key: "ascending", f"-{column.key}": "descending"}.get(choices.sort or sorted_by, "none"),
            "under": places.get(column.narrow_under, -1),
        }
        for column, cells in zip(shown, drawn, strict=True)
    ]
    lines = [
        {"key": key, "open": key == choices.open, "cells": [cell._asdict() for cell in cells]}
        for key, *cells in zip(labels, *drawn, strict=True)
    ]
    component("result_table", Path(__file__).parent / "assets")(
        key=key,
        data={"title": title, "columns": heads, "rows": lines},
        on_sort_change=sort,
        on_open_change=open_row,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        _column_chooser(columns, shown, choices)
        if rows:
            made = partial(exported_rows, rows, shown)
            save_button("JSON", lambda: as_json(made()), f"{stem}.json", "application/json")
            if charts is not None:
                export_row(stem, made, charts=charts)
    return choices.open if choices.open in labels else None


def _column_chooser(columns: Sequence[Column], shown: Sequence[Column], choices: Table) -> None:
    key, titles = f"{choices.prefix}:columns", {column.key: column.title for column in columns[1:]}

    def choose() -> None:
        # The usual ones leave nothing in the link.
        usual = [column.key for column in columns[1:] if column.by_default]
        chosen = [column for column in titles if column in st.session_state[key]]
        choices.columns = [] if chosen in ([], usual) else chosen

    # While it is closed, a browser would keep what it showed last, whatever a link says now.
    popover = st.popover("Columns", key=f"{key}:open", icon=":material/view_column:", on_change="rerun")
    if not popover.open:
        return
    # What the link says is what the chooser says.
    st.session_state[key] = [column.key for column in shown[1:]]
    with popover:
        st.pills(
            "Columns",
            tuple(titles),
            format_func=titles.__getitem__,
            selection_mode="multi",
            key=key,
            on_change=choose,
            label_visibility="collapsed",
        )
