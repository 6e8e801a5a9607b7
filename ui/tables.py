"""Result tables and plain ones: columns, and rows in order, to show and to export; the row of export buttons."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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


class Column(Struct, frozen=True, kw_only=True):
    """One column, with a value for each row.

    Attributes
    ----------
    key : its name in links and exports, with the unit: "total_s".
    values, words : what it is sorted by, and how that is read.
    cells : as read, where that is more than the values' words.
    export : the values' name in exports, if not the key.
    data : where exports have more: name with unit -> full digits.
    narrow_under : key of the column that it stands beneath where the screen is narrow; empty: a column there too.
    """

    key: str
    title: str
    values: Sequence[Value]
    words: Callable[[Any], str] = str
    cells: Sequence[str | TableCell] | None = None
    export: str = ""
    data: Mapping[str, Sequence[Value]] | None = None
    by_default: bool = True
    tip: str = ""
    narrow_under: str = ""

    def drawn(self) -> list[TableCell]:
        """Its cells."""
        cells = [MISSING if value is None else self.words(value) for value in self.values]
        return [cell if isinstance(cell, TableCell) else TableCell(cell) for cell in self.cells or cells]

    def exported(self) -> Mapping[str, Sequence[Value]]:
        """Return what an export has of it: name with unit -> full digits."""
        return {self.export or self.key: self.values} if self.data is None else self.data


def chosen_columns(columns: Sequence[Column], keys: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of these keys, in the table's own order; unknown keys are ignored, none: the usual ones.

    The first column, which names the row, is always there.
    """
    wanted = {column.key for column in columns} & set(keys)
    first, *others = columns
    return first, *(column for column in others if (column.key in wanted if wanted else column.by_default))


def row_order(columns: Sequence[Column], order: str) -> list[int]:
    """Rows by a column's values, what has none last; equal rows, and all without such a column, stay as they came.

    `order` is that of links: "total_usd", or "-total_usd" for the largest first; empty for none.
    """
    rows = list(range(len(columns[0].values)))
    column = next((column for column in columns if column.key == order.removeprefix("-")), None)
    if column is None:
        return rows
    valued = [_comparable(value) for value in column.values]
    with_value = sorted(
        (row for row in rows if valued[row]), key=lambda row: valued[row] or (), reverse=order[0] == "-"
    )
    return with_value + [row for row in rows if valued[row] is None]


def _comparable(value: Value) -> tuple[bool, float, str] | None:
    """Numbers before words; None for what is missing or no number."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return (True, 0.0, value.casefold()) if isinstance(value, str) else (False, float(value), "")


def exported_rows(columns: Sequence[Column], order: Sequence[int]) -> list[dict[str, Value]]:
    """One mapping a row, of all that the columns export."""
    exported = {name: values for column in columns for name, values in column.exported().items()}
    return [{name: values[row] for name, values in exported.items()} for row in order]


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
    keys: Sequence[str],
    columns: Sequence[Column],
    *,
    choices: Table,
    stem: str,
    title: str,
    sorted_by: str = "",
    charts: bool | None = True,
) -> str | None:
    """Show the table; returns the key of the row that the visitor opened, None without one.

    The rows have their order, by the column `sorted_by`, until the visitor sorts them; of the columns the first names
    the row and is always there.
    `keys` tell the rows from each other, in links too. `stem` begins the names of exports, and `title` is for screen
    readers. `charts` says whether the page has charts to save; None: the page draws the view's row of exports itself.
    """
    key = f"{choices.prefix}:table"
    order, shown = row_order(columns, choices.sort), chosen_columns(columns, choices.columns)

    def sort() -> None:
        # What a browser sends may be anything.
        if (column := st.session_state[key].get("sort")) in [shown_column.key for shown_column in columns]:
            # The smallest first, then the largest first, and a third time as the rows come.
            wanted = {column: f"-{column}", f"-{column}": ""}.get(choices.sort or sorted_by, column)
            choices.sort = "" if wanted == sorted_by else wanted

    def open_row() -> None:
        if (row := st.session_state[key].get("open")) in keys:
            choices.open = "" if row == choices.open else row

    places = {column.key: number for number, column in enumerate(shown)}
    drawn = [column.drawn() for column in shown]
    heads = [
        {
            "key": column.key,
            "title": column.title,
            "tip": column.tip,
            # Numbers, a mark's place in line aside, stand flush right.
            "numeric": any(isinstance(value, int | float) for value in column.values)
            and not any(cell.mark for cell in cells),
            "sorted": {column.key: "ascending", f"-{column.key}": "descending"}.get(choices.sort or sorted_by, "none"),
            "under": places.get(column.narrow_under, -1),
        }
        for column, cells in zip(shown, drawn, strict=True)
    ]
    rows = [
        {"key": keys[row], "open": keys[row] == choices.open, "cells": [cells[row]._asdict() for cells in drawn]}
        for row in order
    ]
    component("result_table", Path(__file__).parent / "assets")(
        key=key,
        data={"title": title, "columns": heads, "rows": rows},
        on_sort_change=sort,
        on_open_change=open_row,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        _column_chooser(columns, shown, choices)
        if rows:
            made = partial(exported_rows, shown, order)
            save_button("JSON", lambda: as_json(made()), f"{stem}.json", "application/json")
            if charts is not None:
                export_row(stem, made, charts=charts)
    return choices.open if choices.open in keys else None


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
