"""Shows a result table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from ui.state.session import Table
from ui.tables import Column, Row, chosen_columns, download_buttons, exported_rows, sorted_rows

_PACKAGE = "profet"


def own_component(name: str, beside: Path) -> Any:
    """What mounts the component: `assets/<name>.js` beside a module, and `assets/<name>.css` if there is one."""
    manager = get_bidi_component_manager()
    full_name = f"{_PACKAGE}.{name}"
    if manager.get_component_asset_root(full_name) is None:
        # Streamlit finds only components of installed packages by itself.
        manifest = ComponentManifest(_PACKAGE, "1", [ComponentConfig(name, asset_dir="assets")])
        manager.register_from_manifest(manifest, beside.parent)
    css = f"{name}.css" if (beside.parent / "assets" / f"{name}.css").exists() else None
    return st.components.v2.component(full_name, js=f"{name}.js", css=css, isolate_styles=False)


def result_table(
    rows: Sequence[Row],
    columns: Sequence[Column[Row]],
    *,
    choices: Table,
    stem: str,
    title: str,
    row_key: Callable[[Row], str],
    beside: Callable[[], None] | None = None,
) -> Row | None:
    """Show the table; returns the row that the visitor opened, None without one.

    Parameters
    ----------
    rows : in the order that they have until the visitor sorts them.
    columns : all that can be shown; the first names the row and is always there.
    choices : of the visitor. stem : of the names of its exports.
    title : its name for screen readers. row_key : what tells a row from the others, in links too.
    beside : draws more buttons beside those of the exports.
    """
    mounted = f"{choices.prefix}:table"
    shown_rows = sorted_rows(rows, columns, choices.sort)
    shown_columns = chosen_columns(columns, choices.columns)

    def sort() -> None:
        # What a browser sends may be anything.
        if (column := st.session_state[mounted].get("sort")) in [one.key for one in columns]:
            choices.sort_by(column)

    def open_row() -> None:
        if (row := st.session_state[mounted].get("open")) in [row_key(one) for one in rows]:
            choices.open = "" if row == choices.open else row

    own_component("result_table", Path(__file__))(
        key=mounted,
        data=table_data(shown_rows, shown_columns, choices, title=title, row_key=row_key),
        on_sort_change=sort,
        on_open_change=open_row,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        _column_chooser(columns, shown_columns, choices)
        if shown_rows:
            download_buttons(exported_rows(shown_rows, shown_columns), stem)
        if beside is not None:
            beside()
    return next((row for row in rows if row_key(row) == choices.open), None)


def table_data(
    rows: Sequence[Row],
    columns: Sequence[Column[Row]],
    choices: Table,
    *,
    title: str,
    row_key: Callable[[Row], str],
) -> dict[str, Any]:
    """What the table in the browser is made of: text, drawn as text."""
    place = {column.key: number for number, column in enumerate(columns)}
    return {
        "title": title,
        "columns": [
            {
                "key": column.key,
                "title": column.title,
                "tip": column.tip,
                "numeric": column.is_numeric(rows),
                "sorted": {column.key: "ascending", f"-{column.key}": "descending"}.get(choices.sort, "none"),
                "under": place.get(column.narrow_under, -1),
            }
            for column in columns
        ],
        "rows": [
            {
                "key": row_key(row),
                "open": row_key(row) == choices.open,
                "cells": [_cell(column, row) for column in columns],
            }
            for row in rows
        ],
    }


def _cell(column: Column[Row], row: Row) -> dict[str, str]:
    cell = column.drawn(row)
    return {"text": cell.text, "beneath": cell.beneath, "mark": cell.mark, "color": cell.color}


def _column_chooser(columns: Sequence[Column[Row]], shown: Sequence[Column[Row]], choices: Table) -> None:
    key = f"{choices.prefix}:columns"
    titles = {column.key: column.title for column in columns[1:]}

    def choose() -> None:
        # The usual ones leave nothing in the link.
        usual = [column.key for column in columns[1:] if column.by_default]
        chosen = [column.key for column in columns[1:] if column.key in st.session_state[key]]
        choices.columns = [] if chosen in ([], usual) else chosen

    # What the link says is what the chooser says.
    st.session_state[key] = [column.key for column in shown[1:]]
    with st.popover("Columns", icon=":material/view_column:"):
        st.pills(
            "Columns",
            tuple(titles),
            format_func=titles.__getitem__,
            selection_mode="multi",
            key=key,
            on_change=choose,
            label_visibility="collapsed",
        )
