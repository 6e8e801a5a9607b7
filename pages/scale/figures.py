"""Latency over size as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ui.basis import MARK
from ui.charts.style import GRID, framed


@dataclass(frozen=True, slots=True)
class Curve:
    """One instance's latencies over the sizes, milliseconds a step; `rough`: nobody profiled its GPU."""

    instance: str
    latencies_ms: Sequence[float]
    colour: str
    rough: bool = False


def curves(sizes: Sequence[int], rows: Sequence[Curve], at: int, size_title: str) -> go.Figure:
    """Latency over size per instance, with a marker where the slider stands; rough ones are dashed and starred."""
    figure = go.Figure()
    index = list(sizes).index(at)
    for row in rows:
        figure.add_scatter(
            x=list(sizes),
            y=list(row.latencies_ms),
            name=f"{row.instance}{MARK}" if row.rough else row.instance,
            mode="lines",
            line={"color": row.colour, "width": 2.5, "dash": "dash" if row.rough else "solid"},
            hovertemplate=row.instance + "<br>%{x}: %{y:,.4~r} ms<extra></extra>",
        )
        figure.add_scatter(
            x=[at],
            y=[row.latencies_ms[index]],
            mode="markers",
            showlegend=False,
            marker={"color": row.colour, "size": 11, "line": {"width": 2, "color": "white"}},
            hoverinfo="skip",
        )
    figure.add_vline(x=at, line={"color": "rgba(128,128,128,0.7)", "width": 1, "dash": "dot"})
    figure.update_xaxes(title=size_title, gridcolor=GRID, fixedrange=True)
    figure.update_yaxes(title="ms per step", gridcolor=GRID, rangemode="tozero", fixedrange=True)
    return framed(figure, "", height=420)
