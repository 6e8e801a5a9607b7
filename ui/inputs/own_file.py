"""Files of rows of a visitor's own, in and out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from profet_core import ProfetError
from ui.errors import show_error
from ui.inputs.uploader import Uploader


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A kind of such files.

    Attributes
    ----------
    key : opens the keys of its widgets. label, tip : of the field it is given in.
    max_bytes : more are refused, with `too_large`.
    take : lays its rows over the visitor's; ProfetError says what is wrong with it. text : the visitor's rows.
    file_name : that they are saved as.
    """

    key: str
    label: str
    tip: str
    max_bytes: int
    too_large: str
    take: Callable[[bytes], object]
    text: Callable[[], str]
    file_name: str


def own_file_input(kind: OwnFile, *, has_rows: bool) -> None:
    """A field for a file, what is wrong with the last one, and the visitor's rows to save."""
    uploader, problem_key, state = Uploader(kind.key), f"{kind.key}:problem", st.session_state
    file = st.file_uploader(kind.label, type="csv", key=uploader.key, max_upload_size=1, help=kind.tip)
    if file is not None:
        state[problem_key] = _taken(kind, file.getvalue() if file.size <= kind.max_bytes else None)
        uploader.empty()
        st.rerun()
    if problem := state.get(problem_key):
        show_error(problem)
    st.download_button(
        "Your rows (CSV)" if has_rows else "Template (CSV)",
        kind.text,
        file_name=kind.file_name,
        mime="text/csv",
        icon=":material/download:",
        key=f"{kind.key}:download",
        on_click="ignore",
    )


def _taken(kind: OwnFile, data: bytes | None) -> str | None:
    """What is wrong with a file; None if its rows count."""
    if data is None:
        return kind.too_large
    try:
        kind.take(data)
    except ProfetError as error:
        return str(error)
    return None
