"""Draws custom rows as a table to edit, with a CSV file in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pandas as pd
import streamlit as st

from profet_core import InputError, ProfetError
from profet_core.typed_numbers import as_typed
from ui.inputs.uploads import Uploader
from ui.notices import show_error
from ui.tables import download_button

Row = TypeVar("Row")
#: Of a file.
MAX_BYTES = 200_000
Cells = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """The file of a table.

    Attributes
    ----------
    take : adds the rows of a file's text; raises ProfetError. text : the visitor's rows, or an example.
    """

    label: str
    tip: str
    take: Callable[[str], object]
    text: Callable[[], str]
    name: str


@dataclass(frozen=True, slots=True)
class OwnTable(Generic[Row]):
    """A kind of custom rows.

    Attributes
    ----------
    key : prefix of its session keys.
    columns : column -> its configuration. numbers : columns of numbers. hidden : columns without a place in the table.
    rows : the visitor's rows. cells : the same as text cells.
    make : reads a row of cells; raises ProfetError.
    keep : replaces the visitor's rows, by number, and gets those before by the same numbers; raises ProfetError.
    """

    key: str
    columns: Mapping[str, Any]
    numbers: Sequence[str]
    rows: Callable[[], Sequence[Row]]
    cells: Callable[[], Sequence[Cells]]
    make: Callable[[dict[str, str]], Row]
    keep: Callable[[Mapping[int, Row], Mapping[int, Row]], object]
    hidden: Sequence[str] = ()
    file: OwnFile | None = None


@dataclass(slots=True)
class _Editing:
    """What the table opened with, and what counts now by row number."""

    number: int
    columns: str
    opened: list[Cells]
    now: dict[int, Any]
    problems: list[str]


def own_table(kind: OwnTable[Row]) -> None:
    """Draw the table, one line per bad row, and the file; a change counts once every row is good."""
    held = _editing(kind)
    data = pd.DataFrame(held.opened, columns=[*kind.columns, *kind.hidden], dtype=object)
    for column in kind.columns:
        is_number = column in kind.numbers
        # Empty text is no number; whole numbers may become others.
        data[column] = pd.to_numeric(data[column]).astype(float) if is_number else data[column].astype("str")
    st.data_editor(
        data,
        num_rows="dynamic",
        placeholder="",
        hide_index=True,
        column_order=tuple(kind.columns),
        column_config=dict(kind.columns),
        key=_editor_key(kind, held),
        on_change=_take_edits,
        args=(kind,),
    )
    for problem in held.problems:
        show_error(problem)
    if kind.file is not None:
        _file_input(kind, kind.file, held)


def _editing(kind: OwnTable[Row]) -> _Editing:
    """The table's state: anew where it was closed, or its columns or the visitor's rows changed elsewhere."""
    state, rows, columns = st.session_state, list(kind.rows()), repr(kind.columns)
    held: _Editing | None = state.get(_state_key(kind.key))
    if held is not None and held.columns == columns and _editor_key(kind, held) in state:
        now = held.now.values()
        if len(rows) == len(now) and all(row in rows for row in now):
            return held
    held = _Editing(0 if held is None else held.number + 1, columns, list(kind.cells()), dict(enumerate(rows)), [])
    state[_state_key(kind.key)] = held
    return held


def _take_edits(kind: OwnTable[Row]) -> None:
    held: _Editing = st.session_state[_state_key(kind.key)]
    edits, made = st.session_state[_editor_key(kind, held)], dict[int, Row]()
    held.problems = []
    for number, cells in edited_rows(held.opened, edits).items():
        try:
            made[number] = kind.make({column: cells.get(column, "") for column in (*kind.columns, *kind.hidden)})
        except ProfetError as error:
            held.problems.append(str(error))
    if held.problems:
        return
    try:
        kind.keep(made, held.now)
        held.now = made
    except ProfetError as error:
        held.problems.append(str(error))


def edited_rows(opened: Sequence[Cells], edits: Mapping[str, Any]) -> dict[int, dict[str, str]]:
    """Number of a row -> its cells, with what the editor says was changed, removed and added."""
    changed = {int(number): cells for number, cells in edits["edited_rows"].items()}
    removed = set(edits["deleted_rows"])
    rows = {
        number: {**cells, **_texts(changed.get(number, {}))}
        for number, cells in enumerate(opened)
        if number not in removed
    }
    added = (_texts(cells) for cells in edits["added_rows"])
    return rows | {number: cells for number, cells in enumerate(added, len(opened)) if any(cells.values())}


def _texts(cells: Mapping[str, Any]) -> dict[str, str]:
    return {
        column: "" if value is None else value.strip() if isinstance(value, str) else as_typed(value)
        for column, value in cells.items()
    }


def _file_input(kind: OwnTable[Row], file: OwnFile, held: _Editing) -> None:
    uploader = Uploader(kind.key)

    def take() -> None:
        # A rerun instead would close the dialog that this may be in, with what is wrong unread.
        given = st.session_state[uploader.key]
        if given is None:
            return
        try:
            if given.size > MAX_BYTES:
                raise InputError(f"The file is larger than {MAX_BYTES // 1000} kB: a row takes about 100 bytes.")
            file.take(given.getvalue().decode("utf-8-sig"))
            held.problems = []
        except UnicodeDecodeError:
            held.problems = ["The file is no UTF-8 text: save the table as CSV in UTF-8."]
        except ProfetError as error:
            held.problems = [str(error)]
        uploader.empty()

    with st.expander("CSV file", icon=":material/upload_file:"):
        st.file_uploader(file.label, type="csv", key=uploader.key, max_upload_size=1, help=file.tip, on_change=take)
        label = "Your rows (CSV)" if kind.rows() else "Template (CSV)"
        download_button(label, file.text, file.name, "text/csv", f"{kind.key}:download")


def _state_key(key: str) -> str:
    return f"{key}:table"


def _editor_key(kind: OwnTable[Row], held: _Editing) -> str:
    return f"{kind.key}:editor:{held.number}"
