"""Draws custom rows as a table to edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from profet_core import ProfetError
from profet_core.typed_numbers import as_typed
from ui.notices import show_error

Row = TypeVar("Row")
Cells = Mapping[str, str]


@dataclass(slots=True)
class _Editing:
    """What the table opened with, and the rows that count now."""

    number: int
    columns: str
    opened: list[Cells]
    now: Sequence[Any]
    problems: list[str]


def own_table(
    key: str,
    columns: Mapping[str, Any],
    rows: Sequence[Row],
    cells: Callable[[Row], Cells],
    make: Callable[[dict[str, str]], Row],
    keep: Callable[[list[Row]], object],
) -> None:
    """Draw the table and one line per bad row; a change counts once every row is good.

    Parameters
    ----------
    columns : column -> its configuration.
    rows : the visitor's rows. cells : a row's text cells. make : reads a row of cells; raises ProfetError.
    keep : replaces the visitor's rows; raises ProfetError.
    """
    held = _editing(key, repr(columns), rows, cells)
    editor_key = f"{key}:editor:{held.number}"

    def take_edits() -> None:
        made: list[Row] = []
        held.problems = []
        for found in edited_rows(held.opened, st.session_state[editor_key]):
            try:
                made.append(make(dict.fromkeys(columns, "") | found))
            except ProfetError as error:
                held.problems.append(str(error))
        try:
            if not held.problems:
                keep(made)
                held.now = made
        except ProfetError as error:
            held.problems.append(str(error))

    data = pd.DataFrame(held.opened, columns=[*columns], dtype=object)
    for column in columns:
        # Empty text is no number; whole numbers may become others.
        numeric = columns[column]["type_config"]["type"] == "number"
        data[column] = pd.to_numeric(data[column]).astype(float) if numeric else data[column].astype("str")
    st.data_editor(
        data,
        num_rows="dynamic",
        placeholder="",
        hide_index=True,
        column_config=dict(columns),
        key=editor_key,
        on_change=take_edits,
    )
    for problem in held.problems:
        show_error(problem)


def _editing(key: str, columns: str, rows: Sequence[Row], cells: Callable[[Row], Cells]) -> _Editing:
    """The table's state: anew where it was closed, or its columns or the visitor's rows changed elsewhere."""
    held: _Editing | None = st.session_state.get(f"{key}:table")
    if (
        held is not None
        and held.columns == columns
        and f"{key}:editor:{held.number}" in st.session_state
        # Prices come back in the order of the catalog.
        and len(rows) == len(held.now)
        and all(row in rows for row in held.now)
    ):
        return held
    number = 0 if held is None else held.number + 1
    held = _Editing(number, columns, [cells(row) for row in rows], rows, [])
    st.session_state[f"{key}:table"] = held
    return held


def edited_rows(opened: Sequence[Cells], edits: Mapping[str, Any]) -> list[dict[str, str]]:
    """Cells of each row, with what the editor says was changed, removed and added."""
    changed = {int(number): cells for number, cells in edits["edited_rows"].items()}
    rows = [
        {**cells, **_texts(changed.get(number, {}))}
        for number, cells in enumerate(opened)
        if number not in edits["deleted_rows"]
    ]
    return rows + [cells for cells in map(_texts, edits["added_rows"]) if any(cells.values())]


def _texts(cells: Mapping[str, Any]) -> dict[str, str]:
    return {
        column: "" if value is None else value.strip() if isinstance(value, str) else as_typed(value)
        for column, value in cells.items()
    }
