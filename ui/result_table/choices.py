"""What a visitor chose of a result table: columns, order and the open row, in the session and in the link."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from ui.result_table.columns import Column, Order, Row, chosen_columns, sorted_rows

_NAME = re.compile(r"[a-z0-9_]{1,40}", re.ASCII)
_LONGEST_ROW_KEY = 120
_MOST_COLUMNS = 60


@dataclass(frozen=True, slots=True)
class TableChoices:
    """The three settings of one table.

    Attributes
    ----------
    columns_key : list of column keys, empty for the usual ones.
    order_key : an `Order` as text, empty for the order the rows come in.
    open_key : the key of the open row, empty for none.
    """

    table: str

    @property
    def columns_key(self) -> str:
        """Setting of the chosen columns."""
        return f"{self.table}_columns"

    @property
    def order_key(self) -> str:
        """Setting of the order."""
        return f"{self.table}_sort"

    @property
    def open_key(self) -> str:
        """Setting of the open row."""
        return f"{self.table}_open"

    @property
    def keys(self) -> tuple[str, str, str]:
        """All three, for a page's link."""
        return self.columns_key, self.order_key, self.open_key

    @property
    def order(self) -> Order | None:
        """The chosen order; None: as the rows come."""
        text = st.session_state.get(self.order_key, "")
        return Order.of_text(text) if text else None

    @property
    def open_row(self) -> str:
        """Key of the open row; empty if none is."""
        return st.session_state.get(self.open_key, "")

    def shown(self, rows: Sequence[Row], columns: Sequence[Column[Row]]) -> tuple[list[Row], tuple[Column[Row], ...]]:
        """The rows in the chosen order, and the chosen columns."""
        return sorted_rows(rows, columns, self.order), chosen_columns(
            columns, st.session_state.get(self.columns_key, [])
        )

    def choose_columns(self, keys: Sequence[str], columns: Sequence[Column[Row]]) -> None:
        """Show these; the usual ones leave nothing in the link."""
        usual = [column.key for column in columns[1:] if column.by_default]
        chosen = [column.key for column in columns[1:] if column.key in keys]
        st.session_state[self.columns_key] = [] if chosen in ([], usual) else chosen

    def sort_by(self, key: str) -> None:
        """Sort by a column: the smallest first, asked again the largest first, and a third time as the rows come."""
        before = self.order
        if before is None or before.key != key:
            after = str(Order(key))
        else:
            after = "" if before.descending else str(Order(key, descending=True))
        st.session_state[self.order_key] = after

    def close(self) -> None:
        """Close the open row."""
        st.session_state[self.open_key] = ""

    def open(self, row_key: str) -> None:
        """Open a row."""
        st.session_state[self.open_key] = row_key

    def toggle(self, row_key: str) -> None:
        """Open a row, or close it if it is open."""
        st.session_state[self.open_key] = "" if row_key == self.open_row else row_key


def parse_columns(text: str) -> list[str]:
    """Names of columns joined by commas, as links have them; which there are, the table knows."""
    names = list(dict.fromkeys(part for part in text.split(",") if part))
    if len(names) > _MOST_COLUMNS or not all(_NAME.fullmatch(name) for name in names):
        raise ValueError(text)
    return names


def parse_order(text: str) -> str:
    """An `Order` as text."""
    if not _NAME.fullmatch(text.removeprefix("-")):
        raise ValueError(text)
    return text


def parse_row_key(text: str) -> str:
    """Key of a row; which there are, the table knows."""
    if len(text) > _LONGEST_ROW_KEY:
        raise ValueError(text[:_LONGEST_ROW_KEY])
    return text
