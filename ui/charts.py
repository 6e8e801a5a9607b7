"""Plotly figures as plain parts: colors that read on light and on dark, frame and axes; the legend of colors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import streamlit as st
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


COLORS = dict(zip(BasisWord, (ORANGE, BLUE, GREEN, VIOLET), strict=True))
#: The same as Streamlit's markdown names them; `.streamlit/config.toml` gives them these values.
_COLOR_NAMES = {ORANGE: "orange", BLUE: "blue", GREEN: "green", VIOLET: "violet", GRAY: "gray"}


def show_legend(shown: Collection[str], words: Mapping[str, str], *more: str) -> None:
    """Show what the colors that are `shown` mean, with one colored square each, and `more`."""
    space = "\N{NO-BREAK SPACE}"
    parts = [f":{_COLOR_NAMES[color]}[■]{space}{text}" for color, text in words.items() if color in shown]
    with st.container(key="legend"):
        st.markdown(f":small[{f'{space} '.join([*parts, *more])}]")
