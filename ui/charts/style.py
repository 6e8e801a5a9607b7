"""What all figures share: colours that read on light and on dark, axes, frame, and how a page shows them."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

BLUE, GREY, ORANGE, RED = "#0f8fd1", "#8b95a5", "#e08a00", "#d55e00"
#: One colour per instance, the same on every page (Okabe-Ito without black and yellow: told apart by the colour-blind).
_INSTANCE_COLOURS = (BLUE, ORANGE, "#12a37a", "#c86aa3", RED, "#7a7ff0")
GRID = "rgba(128,128,128,0.25)"
#: Values this many times apart are shown on logarithmic axes.
WIDE = 30


def instance_colours(instances: Sequence[str]) -> dict[str, str]:
    """Instance -> colour, by its place in the catalogue of measured instances."""
    return {name: _INSTANCE_COLOURS[index % len(_INSTANCE_COLOURS)] for index, name in enumerate(instances)}


def show_chart(figure: go.Figure, key: str) -> None:
    """Show a figure without plotly's own buttons."""
    st.plotly_chart(figure, config={"displayModeBar": False}, key=key)


def name_axis(figure: go.Figure, *, lines: bool = False, **more: object) -> None:
    """The y axis of a horizontal chart: one name a line, drawn if `lines`, with room for the longest name."""
    grid = {"gridcolor": GRID} if lines else {}
    figure.update_yaxes(**more, fixedrange=True, ticksuffix="  ", automargin=True, **grid)


def value_axis(figure: go.Figure, title: str, **more: object) -> None:
    """The x axis of a horizontal chart."""
    figure.update_xaxes(title=title, gridcolor=GRID, **more, fixedrange=True)


def framed(figure: go.Figure, title: str, height: int) -> go.Figure:
    """The margins, legend and title that all figures share."""
    figure.update_layout(
        title={"text": title, "x": 0, "font": {"size": 15}} if title else None,
        height=height,
        margin={"l": 8, "r": 8, "t": 44 if title else 40, "b": 8},
        legend_orientation="h",
        legend_y=1.02,
        legend_yanchor="bottom",
        legend_x=0,
        dragmode=False,
        hoverlabel={"namelength": -1},
    )
    return figure
