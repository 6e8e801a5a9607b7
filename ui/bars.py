"""Bars as HTML: rows with a bar in each of several charts side by side, drawn with the numbers of a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from msgspec import Struct

from ui.charts import RED, Bar, axis_end
from ui.streamlit_internals import component

#: Fields of a bar that `assets/bars.js` draws: its name is its row's.
_DRAWN = tuple(name for name in Bar.__struct_fields__ if name not in ("key", "name", "usual_end"))


class BarAxis(NamedTuple):
    """One of the charts side by side.

    `key` names it in the page, `prefix` stands before each number of its axis, and at `limit` a line crosses the bars.
    """

    key: str
    title: str
    prefix: str = ""
    limit: float | None = None
    limit_name: str = ""


class BarRow(Struct, frozen=True, kw_only=True):
    """One row, with a bar in each chart.

    Attributes
    ----------
    bars : one per chart; key and name are the first one's.
    marks : small words behind the name.
    tag : what it is recommended for.
    first : it stands above the line below the recommended rows.
    kept : it is shown before all are asked for.
    """

    bars: tuple[Bar, ...]
    marks: tuple[str, ...] = ()
    tag: str = ""
    bold: bool = False
    first: bool = False
    kept: bool = True


def show_bars(
    axes: Sequence[BarAxis], rows: Sequence[BarRow], title: str, key: str, on_pick: Callable[[str], None] | None = None
) -> None:
    """Show rows from top to bottom in their order; an axis stays while its bars move from their usual values.

    `on_pick` is called with the key of a row that is clicked, or chosen by keyboard.
    """

    def picked() -> None:
        row = st.session_state[key].get("open")
        if on_pick is not None and row in [one.bars[0].key for one in rows]:
            on_pick(row)

    kept = [row for row in rows if row.kept]
    charts = [
        {
            **{"key": axis.key, "title": axis.title, "prefix": axis.prefix, "limit": axis.limit},
            **{"limitName": axis.limit_name, "limitColor": RED},
            # Of the first rows, and of all.
            "ends": [axis_end([row.bars[place] for row in shown]) for shown in (kept, rows)],
        }
        for place, axis in enumerate(axes)
    ]
    drawn = [
        {
            **{"key": row.bars[0].key, "name": row.bars[0].name, "marks": row.marks, "tag": row.tag},
            **{"bold": row.bold, "first": row.first, "kept": row.kept, "bars": [_drawn(bar) for bar in row.bars]},
        }
        for row in rows
    ]
    component("bars", Path(__file__).parent / "assets")(
        key=key,
        data={"title": title, "charts": charts, "bars": drawn, "opens": on_pick is not None},
        on_open_change=picked,
    )


def _drawn(bar: Bar) -> dict[str, object]:
    return {name: getattr(bar, name) for name in _DRAWN} | {"end": bar.end}
