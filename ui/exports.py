"""The row of buttons beside a view: copy its link, save its rows and its charts, print its report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

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


@dataclass(slots=True)
class MadeLater:
    """What a header's buttons save when they are clicked, of what is drawn below it; `none`: nothing."""

    rows: Callable[[], Rows] = list
    report: Callable[[], str] = str
    none: bool = False

    def set(self, rows: Callable[[], Rows] = list, report: Callable[[], str] = str, *, none: bool = False) -> None:
        """Keep what is drawn now; the header is drawn again where its buttons come or go."""
        drawn, self.rows, self.report, self.none = self.none, rows, report, none
        if drawn != none:
            st.rerun()


def made_later() -> MadeLater:
    """The session's."""
    made: MadeLater = st.session_state.setdefault("exports:later", MadeLater())
    return made


def save_button(
    label: str, data: str | bytes | Callable[[], str], file_name: str, mime: str, icon: str = ":material/download:"
) -> None:
    """A file to save; data that is made of a function is made when it is saved."""
    st.download_button(
        label, data, file_name, mime, key=f"save:{file_name}", icon=icon, type="tertiary", on_click="ignore"
    )


def as_csv(rows: Rows) -> str:
    """Rows as CSV with a header; a missing value is empty, and no text is a formula to a spreadsheet."""
    risky = ("=", "+", "-", "@", "\t", "\r")
    cells = pd.DataFrame(rows, dtype=object)
    safe = cells.map(lambda cell: f"'{cell}" if isinstance(cell, str) and cell.startswith(risky) else cell)
    return safe.to_csv(index=False, lineterminator="\n")


def as_json(rows: Rows) -> str:
    """Rows as one JSON document; a missing value is null."""
    return json.dumps(list(rows), indent=2, allow_nan=False)
