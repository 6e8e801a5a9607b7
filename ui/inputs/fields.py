"""The kinds of field that pages ask with, and a table to edit; each keeps its value while the visitor is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core import ProfetError
from profet_core.typed_numbers import as_typed
from profet_core.units import LARGEST_NUMBER, SMALLEST_NUMBER
from ui.state.session import Field
from ui.words import show_error


def choice(
    label: str,
    field: Field[str] | str,
    options: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    """One of a few, all in sight.

    Parameters
    ----------
    options : each to how it reads; None: as the field has them. more : as `st.segmented_control` takes it.
    """
    key, options = _of(field, options)
    words = options.__getitem__
    st.segmented_control(
        label, tuple(options), format_func=words, key=key, required=True, persist_state="session", **more
    )


def select(
    label: str, field: Field[str] | Field[str | None] | str, options: Mapping[str, str] | None = None, **more: Any
) -> None:
    """One of many, behind a list; `options` as in `choice`, `more` as `st.selectbox` takes it."""
    key, options = _of(field, options)
    st.selectbox(label, tuple(options), format_func=options.__getitem__, key=key, persist_state="session", **more)


def toggle(label: str, field: Field[bool], tip: str) -> None:
    """Yes or no."""
    st.toggle(label, key=field.key, persist_state="session", help=tip)


def some_of(label: str, field: Field[list[str]], options: Collection[str], **more: Any) -> None:
    """Some of many; `more` as `st.multiselect` takes it."""
    st.multiselect(label, options, key=field.key, persist_state="session", **more)


def number_field(
    label: str,
    field: Field[Any] | str,
    bounds: tuple[float, float] = (SMALLEST_NUMBER, LARGEST_NUMBER),
    *,
    empty: str | None = None,
    tip: str | None = None,
    at: DeltaGenerator | None = None,
    on_change: Callable[[], None] | None = None,
) -> None:
    """A number above 0.

    Parameters
    ----------
    field : of the session, with its bounds, or a key.
    bounds : of a key: smallest and largest number; whole ones take whole numbers only.
    empty : stands in the field while it is empty; None: it may not be. at : where it is drawn, such as a column.
    """
    key, bounds = (field, bounds) if isinstance(field, str) else (field.key, field.bounds)
    kind: dict[str, Any] = {"format": "%d"} if isinstance(bounds[0], int) else {"format": "%g", "step": 0.1}
    (st if at is None else at).number_input(
        label,
        *bounds,
        value="min" if empty is None else None,
        key=key,
        placeholder=empty,
        help=tip,
        on_change=on_change,
        persist_state="session",
        **kind,
    )


def _of(field: Field[Any] | str, options: Mapping[str, str] | None) -> tuple[str, Mapping[str, str]]:
    if isinstance(field, str):
        return field, options or {}
    return field.key, options or field.options


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
