"""A horizontal bar chart with prediction intervals: one row per instance, one color per basis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ui.charts.style import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    RED,
    Figure,
    Part,
    framed,
    line_at,
    name_axis,
    text_color,
    value_axis,
    whiskers,
)
from ui.words import DERIVED, ESTIMATED, GIVEN, MEASURED

COLORS = {GIVEN: ORANGE, MEASURED: BLUE, DERIVED: GREEN, ESTIMATED: GRAY}
#: The same as Streamlit's markdown names them; `.streamlit/config.toml` gives them these values.
_COLOR_NAMES = {ORANGE: "orange", BLUE: "blue", GREEN: "green", GRAY: "gray"}
_ROW_PX, _FRAME_PX, _SPACE = 27, 92, "\N{NO-BREAK SPACE}"
#: Room to the right of the longest interval, as a share of the axis, for its value.
_LABEL_ROOM = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One row.

    Attributes
    ----------
    name : in front of the bar.
    value, low, high : in the chart's unit; value None: no bar, and `text` says why.
    text : behind the bar. hover : lines, as plotly reads them. key : what tells the row from others.
    """

    key: str
    name: str
    color: str = GRAY
    value: float | None = None
    low: float | None = None
    high: float | None = None
    text: str
    hover: str = ""


def bar_chart(bars: Sequence[Bar], title: str, *, name: str, limit: float | None = None) -> Figure:
    """The bars from top to bottom in their order.

    Parameters
    ----------
    name : what the chart shows, for screen readers. limit : where a line crosses all bars, such as a deadline.
    """
    longest = max((bar.high or bar.value or 0.0 for bar in bars), default=0.0) or 1.0
    shapes = [line_at(x=limit, line={"color": RED, "width": 1.5, "dash": "dash"})] if limit and limit <= longest else []
    rows = list(range(len(bars)))
    return framed(
        [_drawn([(place, bar) for place, bar in enumerate(bars) if bar.value is not None]), _labels(bars)],
        x=value_axis("", range=[0, longest * (1 + _LABEL_ROOM)], rangemode="tozero", nticks=6, zeroline=False),
        y=name_axis(range=[len(bars) - 0.5, -0.5], tickvals=rows, ticktext=[bar.name for bar in bars], showgrid=False),
        height=_ROW_PX * len(bars) + _FRAME_PX,
        title=title,
        name=name,
        shapes=shapes,
        showlegend=False,
        margin={"l": 8, "r": 8, "t": 36, "b": 28},
    )


def legend(bars: Sequence[Bar], words: Mapping[str, str], *more: str) -> str:
    """What the colors that are there mean, as small markdown with one colored square each, and `more`."""
    shown = {bar.color for bar in bars if bar.value is not None}
    parts = [f":{_COLOR_NAMES[color]}[■]{_SPACE}{text}" for color, text in words.items() if color in shown]
    return f":small[{f'{_SPACE} '.join([*parts, *more])}]"


def _drawn(rows: Sequence[tuple[int, Bar]]) -> Part:
    values = [bar.value or 0.0 for _, bar in rows]
    ends = [(bar.low or value, bar.high or value) for (_, bar), value in zip(rows, values, strict=True)]
    return {
        "type": "bar",
        "orientation": "h",
        "width": 0.72,
        "x": values,
        "y": [place for place, _ in rows],
        "marker": {"color": [bar.color for _, bar in rows]},
        "unselected": {"marker": {"opacity": 1}},
        "error_x": whiskers(values, ends) if any(bar.high for _, bar in rows) else {"visible": False},
        "customdata": [bar.key for _, bar in rows],
        "hovertext": [bar.hover for _, bar in rows],
        "hoverinfo": "text",
    }


def _labels(bars: Sequence[Bar]) -> Part:
    """Each row's value behind its interval, readable on the shortest bar; where there is none, why."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": [bar.high or bar.value or 0.0 for bar in bars],
        "y": list(range(len(bars))),
        "text": [f"\N{NO-BREAK SPACE}{bar.text}" for bar in bars],
        "textposition": "middle right",
        "cliponaxis": False,
        "customdata": [bar.key for bar in bars],
        "hovertext": [bar.hover or bar.text for bar in bars],
        "hoverinfo": "text",
        "textfont": {"color": [GRAY if bar.value is None else text_color() for bar in bars]},
    }
