"""Measured accuracy as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from profet_core.accuracy.validation import MeasuredPoint
from profet_core.units import format_ms
from ui.charts.style import BLUE, GREY, GRID, RED, framed, name_axis, value_axis
from ui.state.settings import ALL_INSTANCES
from ui.tables import format_range_ms


def chosen_points(points: Sequence[MeasuredPoint], anchor: str, target: str) -> list[MeasuredPoint]:
    """Points of one anchor and one target, or of all."""
    return [
        point for point in points if anchor in (ALL_INSTANCES, point.anchor) and target in (ALL_INSTANCES, point.target)
    ]


def error_bars(default: Mapping[str, float], original: Mapping[str, float]) -> go.Figure:
    """Two bars per architecture, the worst on top: our error and the original's, percent."""
    ordered = sorted(default, key=default.__getitem__)
    figure = go.Figure()
    for name, values, colour in (("original", original, GREY), ("here", default, BLUE)):
        figure.add_bar(
            name=name,
            x=[values[model] for model in ordered],
            y=ordered,
            orientation="h",
            marker_color=colour,
            hovertemplate="%{y}: %{x:.1f} % " + name + "<extra></extra>",
        )
    figure.update_layout(barmode="group", bargap=0.3, legend={"traceorder": "reversed"})
    value_axis(figure, "mean error, %", rangemode="tozero")
    name_axis(figure)
    return framed(figure, "", height=120 + 32 * len(ordered))


def coverage_dots(covered: Mapping[str, float], half_width: Mapping[str, float], level: float) -> go.Figure:
    """One dot per architecture, the least covered on top; a line where the interval promises to be."""
    ordered = sorted(covered, key=covered.__getitem__, reverse=True)
    figure = go.Figure(
        go.Scatter(
            x=[covered[name] for name in ordered],
            y=ordered,
            mode="markers",
            marker={
                "size": 11,
                "color": [BLUE if covered[name] >= 100 * level else RED for name in ordered],
            },
            customdata=[half_width[name] for name in ordered],
            hovertemplate="%{y}: %{x:.1f} % inside, interval ±%{customdata:.0f} %<extra></extra>",
            showlegend=False,
        )
    )
    figure.add_vline(x=100 * level, line={"color": "rgba(128,128,128,0.9)", "width": 1.5, "dash": "dot"})
    least = min(covered.values(), default=0.0)
    figure.update_xaxes(
        title="measurements inside the interval, %", range=[min(60.0, least - 3), 101], gridcolor=GRID, fixedrange=True
    )
    name_axis(figure, lines=True)
    return framed(figure, "", height=90 + 26 * len(ordered))


def predicted_against_measured(points: Sequence[MeasuredPoint]) -> go.Figure:
    """Every workload, log against log; those outside their interval stand out."""
    figure = go.Figure()
    every = [value for point in points for value in (point.measured_ms, point.predicted_ms)]
    ends = [min(every, default=1.0) / 1.2, max(every, default=10.0) * 1.2]
    figure.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        line={"color": GREY, "width": 1, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    for inside, name, colour in (
        (True, "measured inside the interval", BLUE),
        (False, "outside", RED),
    ):
        group = [point for point in points if (point.low_ms <= point.measured_ms <= point.high_ms) is inside]
        figure.add_scatter(
            x=[point.measured_ms for point in group],
            y=[point.predicted_ms for point in group],
            text=[_hover(point) for point in group],
            name=name,
            mode="markers",
            marker={"color": colour, "size": 5, "opacity": 0.55},
            hovertemplate="%{text}<extra></extra>",
        )
    ticks = {"type": "log", "gridcolor": GRID, "fixedrange": True, "dtick": 1, "tickformat": ",~r"}
    figure.update_xaxes(title="measured, ms per step", **ticks)
    figure.update_yaxes(title="predicted, ms per step", **ticks)
    return framed(figure, "", height=520)


def direction_dots(errors: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """One line per direction, the worst on top, and a mark on it for each way to get there; percent."""
    ways = list(next(iter(errors.values())))
    ordered = sorted(errors, key=lambda name: errors[name][ways[0]])
    figure = go.Figure()
    marks = ((BLUE, "circle"), (RED, "diamond-open"), (GREY, "x"))
    for place, (way, (colour, symbol)) in enumerate(zip(ways, marks, strict=True)):
        figure.add_scatter(
            x=[errors[name][way] for name in ordered],
            y=ordered,
            name=way,
            mode="markers",
            marker={"size": 10, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
            zorder=-place,
            hovertemplate="%{y}: %{x:.1f} % " + way + "<extra></extra>",
        )
    value_axis(figure, "mean error, %", rangemode="tozero")
    name_axis(figure, lines=True)
    return framed(figure, "", height=130 + 28 * len(ordered))


def _hover(point: MeasuredPoint) -> str:
    return (
        f"{point.model}, {point.pixels} pixels, batch {point.batch_size}<br>{point.anchor} to {point.target}<br>"
        f"measured {format_ms(point.measured_ms)}, predicted {format_ms(point.predicted_ms)}<br>"
        f"interval {format_range_ms(point.low_ms, point.high_ms)}"
    )
