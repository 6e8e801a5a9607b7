"""Plotly figures as plain parts: colors that read on light and on dark, frame, axes, and the bar chart."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from msgspec import Struct
from plotly.basedatatypes import BaseFigure

from profet_core.latency import BasisWord

#: Distinct for readers of any color vision, and at least 3:1 against both backgrounds: `tests/ui/test_charts.py`.
BLUE, GREEN, ORANGE, VIOLET = "#0f8fd1", "#2a9d5c", "#cf7d00", "#7a5cd6"
GRAY, RED = "#8b95a5", "#d55e00"
GRID = "rgba(128,128,128,0.25)"

#: A trace, an axis or another part of a figure, by the names that plotly.js gives its attributes.
Part = dict[str, Any]


class Figure(BaseFigure):
    """A figure of parts as plotly.js reads them.

    Plotly's own figure checks and copies every part, which was a third of the time of an action; tests check them.
    """

    def __init__(self, data: Sequence[Part], layout: Part) -> None:
        self._parts = {"data": list(data), "layout": layout}

    def to_dict(self) -> Part:
        """Its traces and its layout."""
        return self._parts


def show_chart(figure: Figure, key: str, on_pick: Callable[[str], None] | None = None) -> None:
    """Show a figure with its accessible name.

    The name holds no values: Streamlit draws a chart anew whose name changes. The table beside a chart has them.

    `on_pick` is called with the `customdata` of a clicked mark.
    """

    def picked() -> None:
        points, last = st.session_state[key].selection.points, f"{key}:picked"
        if points and points[0].get("customdata"):
            st.session_state[last] = str(points[0]["customdata"])
        # A second click on the same mark takes the selection away: it means that mark too.
        if on_pick is not None and last in st.session_state:
            on_pick(st.session_state[last])

    layout = figure.to_dict()["layout"]
    if on_pick is not None:
        # What Streamlit sets after the first drawing, for which plotly would draw all of it again.
        layout |= {"clickmode": "event+select", "hovermode": "closest", "dragmode": "pan"}
    st.plotly_chart(
        figure,
        config={"displayModeBar": False},
        # Streamlit's would be set a second time after the first drawing, and all of it drawn again.
        theme=None,
        key=key,
        alt=layout["meta"],
        on_select="ignore" if on_pick is None else picked,
        selection_mode="points",
    )


def no_markup(text: str) -> str:
    """`text` as plotly shows it letter for letter: it reads some tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def value_axis(title: str, more: Part) -> Part:
    """Return an axis of values."""
    return {"title": {"text": title}, "gridcolor": GRID, "fixedrange": True, **more}


def line_at(*, x: float | None = None, y: float | None = None, line: Mapping[str, object]) -> Part:
    """Return a line across the whole plot, at a value of one axis."""
    if x is not None:
        return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain", "line": line}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": y, "y1": y, "line": line}


def framed(
    traces: Sequence[Part], *, x: Part, y: Part, height: int, name: str, title: str = "", layout: Part
) -> Figure:
    """Return a figure in the frame that all share: its margins, legend and title.

    `name` says what the figure shows, for those who don't see it; the `legend` of the `layout` is joined with the
    frame's.
    """
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", **layout.get("legend", {})}
    font = {"color": text_color(), "family": '"Source Sans", sans-serif', "size": 12}
    page_color = "#171614" if st.context.theme.type == "dark" else "#ffffff"
    frame = {
        "font": font,
        "xaxis": _axis(x, 20, {"showgrid": False, "zeroline": False}),
        "yaxis": _axis(y, 24, {"zerolinecolor": GRID}),
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 44 if title else 40, "b": 8} | layout.get("margin", {}) | {"pad": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": legend,
        "dragmode": False,
        # Streamlit hands plotly a copy of a chart that it drew: no array in it is new.
        "datarevision": 1,
        "hoverlabel": {"namelength": -1, "bgcolor": page_color, "bordercolor": GRID, "font": font},
        "meta": name,
    }
    if title:
        frame["title"] = {"text": f"<b>{title}</b>", "x": 0, "pad": {"l": 4}, "font": {"size": 15}}
    return Figure(traces, {**layout, **frame})


def _axis(axis: Part, standoff: int, usual: Part) -> Part:
    """Return an axis as all have it. By default, plotly measures all labels several times to hide some."""
    title = {"font": {"size": 14}, "standoff": standoff, **axis.get("title", {})}
    return {"automargin": True, "ticklabeloverflow": "allow", **usual, **axis, "title": title}


def text_color() -> str:
    """Return the color of the page's own texts."""
    return "#fafafa" if st.context.theme.type == "dark" else "#31333f"


def muted_color() -> str:
    """Less than the text's, at a contrast of 4.5 : 1 or more."""
    return "#a8b0bd" if st.context.theme.type == "dark" else "#5b6472"


COLORS = dict(zip(BasisWord, (ORANGE, BLUE, GREEN, VIOLET), strict=True))
#: The same as Streamlit's markdown names them; `.streamlit/config.toml` gives them these values.
_COLOR_NAMES = {ORANGE: "orange", BLUE: "blue", GREEN: "green", VIOLET: "violet", GRAY: "gray"}
_ROW_PX, _ABOVE_PX, _BELOW_PX, _SPACE = 27, 36, 28, "\N{NO-BREAK SPACE}"
#: Room to the right of the longest interval, as a share of the axis, for its value; at most what one letter takes.
_LABEL_ROOM, _LETTER = 0.2, 0.03
#: Opacity of a bar that is not to be chosen.
_DIMMED = 0.35
#: How far beyond the axis's end for values a bar may go, and what that end is then multiplied by.
_OVER, _STEP = 1.08, 1.5
#: Where there is no interval: what is no number draws no whisker, but null draws one without length.
_NO_END = "none"
#: If all bars are shorter than this share of the axis, they get a shorter one.
_SHORT = 1 / 8


class Bar(Struct, frozen=True, kw_only=True):
    """One row.

    Attributes
    ----------
    value, low, high : in the chart's unit; value None: no bar, and `text` says why.
    text : behind the bar, as `name` is in front of it.
    hover : lines, as plotly reads them.
    key : what tells the row from others.
    usual, usual_end : the row's value and where its interval ends at the profiled size: a tick marks the value.
    waiting : share of it in which the GPU waits for data, which is hatched.
    doubtful : it may not fit in memory: all of it is hatched, the other way.
    """

    key: str
    name: str
    color: str = GRAY
    value: float | None = None
    low: float | None = None
    high: float | None = None
    text: str
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


def bar_chart(bars: Sequence[Bar], title: str, *, name: str, limit: float | None = None) -> Figure:
    """Draw the bars from top to bottom in their order; the axis stays while they move from their usual values.

    `name` says what the chart shows, for screen readers; at `limit` a line crosses the bars, such as a deadline.
    """
    longest, usual = max((bar.end for bar in bars), default=0.0), any(bar.usual_end for bar in bars)
    end = axis_end(bars) * (1 + _LABEL_ROOM)
    rows, shapes = list(range(len(bars))), list[Part]()
    if limit and limit <= longest:
        # Down the rows, but not through their values.
        free = (row for row, bar in enumerate(bars) if not _is_in_label(limit, bar, end))
        path = "".join(f"M{limit},{row - 0.5}L{limit},{row + 0.5}" for row in free)
        shapes.append({"type": "path", "path": path, "line": {"color": RED, "width": 1.5, "dash": "dash"}})
    return framed(
        [
            _drawn(bars),
            *([_drawn(bars, hatched=True)] if any(bar.waiting for bar in bars) else []),
            *([_marks(bars)] if usual else []),
            _labels(bars, end),
        ],
        x=value_axis(
            "",
            {"range": [0, end], "rangemode": "tozero", "nticks": 6, "zeroline": False, "automargin": False},
        ),
        y={
            "range": [len(bars) - 0.5, -0.5],
            "tickvals": rows,
            "ticktext": [bar.name for bar in bars],
            # One name a line, with room for the longest.
            **{"ticksuffix": "  ", "automargin": True, "fixedrange": True, "showgrid": False, "zeroline": False},
        },
        height=_ROW_PX * len(bars) + _ABOVE_PX + _BELOW_PX,
        title=title,
        name=name,
        layout={
            "shapes": shapes,
            "showlegend": False,
            "barmode": "overlay",
            "margin": {"l": max(map(_name_px, bars), default=0), "r": 8, "t": _ABOVE_PX, "b": _BELOW_PX},
        },
    )


def _name_px(bar: Bar) -> float:
    """Room for a name, hardly ever too little: where it is, plotly finds out, and draws all of the chart again."""
    letters = re.sub("<[^>]*>", "", bar.name)
    return 18 + 6.3 * len(letters) - 3.9 * letters.count(" ")


def axis_end(bars: Sequence[Bar]) -> float:
    """Where the axis of bars ends, which stays while they move from their usual values."""
    longest, usual = max((bar.end for bar in bars), default=0.0), max((bar.usual_end for bar in bars), default=0.0)
    return _axis_end(longest, usual or longest)


def _axis_end(longest: float, usual: float) -> float:
    """Return the usual end, longer in steps while a bar needs it, shorter only where all bars are too short.

    >>> _axis_end(90, 100), _axis_end(130, 100), _axis_end(13, 100), _axis_end(10, 100)
    (100, 150.0, 100, 12.5)
    """
    end = usual or 1.0
    while longest > end * _OVER:
        end *= _STEP
    while 0 < longest < end * _SHORT:
        end *= _SHORT
    return end


def _is_in_label(x: float, bar: Bar, axis_end: float) -> bool:
    return bar.end <= x <= bar.end + _LETTER * axis_end * (len(bar.text) + 1)


def show_legend(bars: Sequence[Bar], words: Mapping[str, str], *more: str) -> None:
    """Show what the colors that are there mean, with one colored square each, and `more`."""
    shown = {bar.color for bar in bars if bar.value is not None}
    parts = [f":{_COLOR_NAMES[color]}[■]{_SPACE}{text}" for color, text in words.items() if color in shown]
    with st.container(key="legend"):
        st.markdown(f":small[{f'{_SPACE} '.join([*parts, *more])}]")


def _drawn(every: Sequence[Bar], *, hatched: bool = False) -> Part:
    """Bars with their whiskers; `hatched`: over them, the part in which the GPU waits."""
    known = [(place, bar, bar.value) for place, bar in enumerate(every) if bar.value is not None]
    bars = [one for one in known if one[1].waiting] if hatched else known
    # Where a part is hatched, the whisker is drawn over it.
    ends = [(bar.high, bar.low) if hatched or not bar.waiting else (None, None) for _, bar, _ in bars]
    whiskers = {
        "type": "data",
        "symmetric": False,
        "array": [_NO_END if high is None else high - value for (high, _), (*_, value) in zip(ends, bars, strict=True)],
        "arrayminus": [
            _NO_END if low is None else value - low for (_, low), (*_, value) in zip(ends, bars, strict=True)
        ],
        **{"color": text_color(), "thickness": 1.2, "width": 3},
    }
    shapes = ["/" if hatched else "\\" * bar.doubtful for _, bar, _ in bars]
    pattern: Part = {"shape": shapes, "size": 6, "solidity": 0.3, "fillmode": "overlay"}
    return {
        "type": "bar",
        "orientation": "h",
        "width": 0.72,
        "x": [value * (bar.waiting if hatched else 1) for _, bar, value in bars],
        "base": [value * (1 - bar.waiting) if hatched else 0 for _, bar, value in bars],
        "y": [place for place, *_ in bars],
        "marker": {
            **({"pattern": pattern} if any(shapes) else {}),
            "color": [bar.color for _, bar, _ in bars],
            "opacity": [_DIMMED if bar.dimmed else 1 for _, bar, _ in bars],
        },
        "unselected": {"marker": {"opacity": 1}},
        "error_x": whiskers if any(high for high, _ in ends) else {"visible": False},
        "customdata": [bar.key for _, bar, _ in bars],
        "hovertext": [bar.hover for _, bar, _ in bars],
        "hoverinfo": "text",
    }


def _marks(bars: Sequence[Bar]) -> Part:
    """Return a faint tick across each bar at its usual value."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [bar.usual for bar in bars if bar.usual is not None],
        "y": [row for row, bar in enumerate(bars) if bar.usual is not None],
        "marker": {"symbol": "line-ns", "size": 14, "opacity": 0.5, "line": {"width": 1.5, "color": text_color()}},
        "hoverinfo": "skip",
    }


def _labels(bars: Sequence[Bar], axis_end: float) -> Part:
    """Each row's value behind its interval, and behind a tick there; where there is none, why."""
    color = text_color()
    ticks = [bar.usual or 0.0 for bar in bars]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [tick if _is_in_label(tick, bar, axis_end) else bar.end for bar, tick in zip(bars, ticks, strict=True)],
        "y": list(range(len(bars))),
        "text": [f"\N{NO-BREAK SPACE}{bar.text}" for bar in bars],
        "textposition": "middle right",
        "cliponaxis": False,
        "customdata": [bar.key for bar in bars],
        "hovertext": [bar.hover or bar.text for bar in bars],
        "hoverinfo": "text",
        "textfont": {"color": [muted_color() if bar.value is None else color for bar in bars]},
    }
