"""Horizontal bars: one instance a line, retired ones hatched, what nobody profiled pale, intervals as error bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ui.charts.style import BLUE, GREY, RED, Part, framed, name_axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar.

    Attributes
    ----------
    text : the value as written beside it.
    retired : the instance can't be rented any more.
    ends : of its interval; None where it has none.
    rough : nobody profiled that GPU; the bar is pale.
    """

    label: str
    value: float
    text: str
    retired: bool
    ends: tuple[float, float] | None = None
    rough: bool = False


def bars(rows: Sequence[Bar], title: str) -> go.Figure:
    """The shortest on top, each with its value beside it."""
    ordered = sorted(rows, key=lambda row: row.value, reverse=True)
    intervals = any(row.ends for row in rows)
    drawn: Part = {
        "type": "bar",
        "x": [row.value for row in ordered],
        "y": [row.label for row in ordered],
        "text": [row.text for row in ordered],
        "orientation": "h",
        "textposition": "none" if intervals else "outside",
        "cliponaxis": False,
        "hovertemplate": "%{y}: %{text}<extra></extra>",
        "marker": _markers(ordered),
    }
    traces = [drawn | {"error_x": _error_bars(ordered)}, _beside_intervals(ordered)] if intervals else [drawn]
    largest = max((_upper_end(row) for row in rows), default=1.0)
    values = {
        "range": [0, largest * 1.32],
        "showticklabels": False,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    return framed(traces, x=values, y=name_axis(), height=90 + 46 * len(rows), title=title, showlegend=False)


def _markers(rows: Sequence[Bar]) -> Part:
    return {
        "color": [GREY if row.retired else BLUE for row in rows],
        "opacity": [0.5 if row.rough else 1.0 for row in rows],
        "pattern": {"shape": ["/" if row.retired else "" for row in rows], "fillmode": "overlay", "solidity": 0.2},
    }


def _error_bars(rows: Sequence[Bar]) -> Part:
    return {
        "type": "data",
        "symmetric": False,
        "array": [row.ends and row.ends[1] - row.value for row in rows],
        "arrayminus": [row.ends and row.value - row.ends[0] for row in rows],
        "color": RED,
        "thickness": 2,
        "width": 6,
    }


def _beside_intervals(rows: Sequence[Bar]) -> Part:
    """The values, beside the ends of the intervals, which would run through a text beside the bars' own ends."""
    return {
        "type": "scatter",
        "x": [_upper_end(row) for row in rows],
        "y": [row.label for row in rows],
        "text": [f" {row.text}" for row in rows],
        "mode": "text",
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _upper_end(row: Bar) -> float:
    return row.ends[1] if row.ends else row.value
