"""Columns of a result table, and its rows in order: as read, and with full digits for export."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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
    colour: str = ""


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
