"""Bars: rows with a bar in each of several charts side by side, drawn by the page's own script with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import streamlit as st
from msgspec import Struct
from msgspec.structs import asdict

from ui.charts import GRAY, RED
from ui.streamlit_internals import component

#: How far beyond the axis's end for values a bar may go, and what that end is then multiplied by.
_OVER, _STEP = 1.08, 1.5
#: If all bars are shorter than this share of the axis, they get a shorter one.
_SHORT = 1 / 8


class Bar(Struct, frozen=True, kw_only=True):
    """One bar, or the reason why there is none.

    Attributes
    ----------
    value, low, high : in the chart's unit; value None: no bar, and `text` says why.
    text : behind the bar.
    hover : lines that show beside the pointer.
    usual, usual_end : its value and where its interval ends at the profiled size: a tick marks the value.
    waiting : share of it in which the GPU waits for data, which is hatched.
    doubtful : it may not fit in memory: all of it is hatched, the other way.
    """

    text: str
    color: str = GRAY
    value: float | None = None
    low: float | None = None
    high: float | None = None
    hover: str = ""
    dimmed: bool = False
    usual: float | None = None
    usual_end: float = 0.0
    waiting: float = 0.0
    doubtful: bool = False

    @property
    def end(self) -> float:
        """Where bar and interval end."""
        return self.high or self.value or 0.0


class BarRow(Struct, frozen=True, kw_only=True):
    """One row, with a bar in each chart.

    Attributes
    ----------
    key : what tells the row from others.
    name : empty where it belongs to the row above.
    marks : small words behind the name.
    tag : what it is recommended for.
    first : it stands above the line below the recommended rows.
    kept : it is shown before all are asked for.
    """

    key: str
    name: str
    bars: tuple[Bar, ...]
    marks: tuple[str, ...] = ()
    tag: str = ""
    bold: bool = False
    first: bool = False
    kept: bool = True


class BarAxis(NamedTuple):
    """One of the charts side by side.

    `key` names it in the page, `prefix` stands before each number of its axis, and at `limit` a line crosses the bars.
    """

    key: str
    title: str
    prefix: str = ""
    limit: float | None = None
    limit_name: str = ""


def show_bars(
    axes: Sequence[BarAxis],
    rows: Sequence[BarRow],
    title: str,
    key: str,
    on_pick: Callable[[str], None] | None = None,
    legend: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Show rows from top to bottom in their order; an axis stays while its bars move from their usual values.

    `on_pick` is called with the key of a row that is clicked, or chosen by keyboard. `legend`: color -> what has it.
    """

    def picked() -> None:
        # What a browser sends may be anything.
        row = st.session_state[key].get("open")
        if on_pick is not None and row in [bar_row.key for bar_row in rows]:
            on_pick(row)

    kept = [row for row in rows if row.kept]
    charts = [
        # Where the axis ends for the first rows, and for all.
        axis._asdict() | {"color": RED, "ends": [axis_end(row.bars[place] for row in shown) for shown in (kept, rows)]}
        for place, axis in enumerate(axes)
    ]
    drawn = [asdict(row) | {"bars": [asdict(bar) | {"end": bar.end} for bar in row.bars]} for row in rows]
    component("bars", Path(__file__).parent / "assets")(
        key=key,
        data={
            **{"title": title, "charts": charts, "bars": drawn, "opens": on_pick is not None},
            "legend": [*legend.items()],
        },
        on_open_change=picked,
    )


def axis_end(bars: Iterable[Bar]) -> float:
    """Where the axis ends: at the usual end, further in steps while a bar needs it, nearer if all are far too short."""
    shown = list(bars)
    longest, end = max((bar.end for bar in shown), default=0.0), max((bar.usual_end for bar in shown), default=0.0)
    end = end or longest or 1.0
    while longest > end * _OVER:
        end *= _STEP
    while 0 < longest < end * _SHORT:
        end *= _SHORT
    return end
