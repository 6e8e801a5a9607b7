"""Measured accuracy as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from profet_core.accuracy.cells import CellsAccuracy
from profet_core.accuracy.validation import MeasuredPoint
from profet_core.catalog.gpus import gpu_model
from profet_core.units import format_ms
from ui.charts.gpu_look import GpuLook, gpu_look
from ui.charts.style import BLUE, GREY, RED, Part, framed, line_at, name_axis, value_axis
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
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": [values[model] for model in ordered],
            "y": ordered,
            "orientation": "h",
            "marker": {"color": colour},
            "hovertemplate": "%{y}: %{x:.1f} % " + name + "<extra></extra>",
        }
        for name, values, colour in (("original", original, GREY), ("here", default, BLUE))
    ]
    return framed(
        traces,
        x=value_axis("mean error, %", rangemode="tozero"),
        y=name_axis(),
        height=120 + 32 * len(ordered),
        barmode="group",
        bargap=0.3,
        legend={"traceorder": "reversed"},
    )


def coverage_dots(covered: Mapping[str, float], half_width: Mapping[str, float], level: float) -> go.Figure:
    """One dot per architecture, the least covered on top; a line where the interval promises to be."""
    ordered = sorted(covered, key=covered.__getitem__, reverse=True)
    dots = {
        "type": "scatter",
        "x": [covered[name] for name in ordered],
        "y": ordered,
        "mode": "markers",
        "marker": {"size": 11, "color": [BLUE if covered[name] >= 100 * level else RED for name in ordered]},
        "customdata": [half_width[name] for name in ordered],
        "hovertemplate": "%{y}: %{x:.1f} % inside, interval ±%{customdata:.0f} %<extra></extra>",
        "showlegend": False,
    }
    least = min(covered.values(), default=0.0)
    return framed(
        [dots],
        x=value_axis("measurements inside the interval, %", range=[min(60.0, least - 3), 101]),
        y=name_axis(lines=True),
        height=90 + 26 * len(ordered),
        shapes=[line_at(x=100 * level, line={"color": "rgba(128,128,128,0.9)", "width": 1.5, "dash": "dot"})],
    )


def predicted_against_measured(points: Sequence[MeasuredPoint]) -> go.Figure:
    """Every workload, log against log; those outside their interval stand out."""
    every = [value for point in points for value in (point.measured_ms, point.predicted_ms)]
    ends = [min(every, default=1.0) / 1.2, max(every, default=10.0) * 1.2]
    equal: Part = {
        "type": "scatter",
        "x": ends,
        "y": ends,
        "mode": "lines",
        "line": {"color": GREY, "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    traces = [equal]
    for inside, name, colour in (
        (True, "measured inside the interval", BLUE),
        (False, "outside", RED),
    ):
        group = [point for point in points if (point.low_ms <= point.measured_ms <= point.high_ms) is inside]
        dots: Part = {
            "type": "scatter",
            "x": np.array([point.measured_ms for point in group]),
            "y": np.array([point.predicted_ms for point in group]),
            "text": [_hover(point) for point in group],
            "name": name,
            "mode": "markers",
            "marker": {"color": colour, "size": 5, "opacity": 0.55},
            "hovertemplate": "%{text}<extra></extra>",
        }
        traces.append(dots)
    ticks = {"type": "log", "dtick": 1, "tickformat": ",~r"}
    return framed(
        traces,
        x=value_axis("measured, ms per step", **ticks),
        y=value_axis("predicted, ms per step", **ticks),
        height=520,
    )


def direction_dots(errors: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """One line per direction, the worst on top, and a mark on it for each way to get there; percent."""
    ways = list(next(iter(errors.values())))
    ordered = sorted(errors, key=lambda name: errors[name][ways[0]])
    marks = ((BLUE, "circle"), (RED, "diamond-open"), (GREY, "x"))
    traces = [
        {
            "type": "scatter",
            "x": [errors[name][way] for name in ordered],
            "y": ordered,
            "name": way,
            "mode": "markers",
            "marker": {"size": 10, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
            "zorder": -place,
            "hovertemplate": "%{y}: %{x:.1f} % " + way + "<extra></extra>",
        }
        for place, (way, (colour, symbol)) in enumerate(zip(ways, marks, strict=True))
    ]
    return framed(
        traces,
        x=value_axis("mean error, %", rangemode="tozero"),
        y=name_axis(lines=True),
        height=130 + 28 * len(ordered),
    )


def errors_by_cells(accuracy: CellsAccuracy, gpus: Mapping[str, str]) -> go.Figure:
    """Error over number of measured cells, a line each GPU that played the new one, and their mean; percent.

    Parameters
    ----------
    gpus : instance -> full name of its GPU.
    """
    cells = [row.cells for row in accuracy.rows]
    lines = [
        _error_line(gpu_model(gpu), cells, [row.gpus[name].mape for row in accuracy.rows], gpu_look(gpu))
        for name, gpu in gpus.items()
    ]
    mean = _error_line("mean", cells, [row.mean for row in accuracy.rows], GpuLook(GREY, "x", "solid"))
    return framed(
        [*lines, mean],
        x=value_axis(
            "measured cells", type="log", tickvals=cells, ticktext=[f"{number}" for number in cells], hoverformat=",d"
        ),
        y=value_axis("mean error, %", rangemode="tozero"),
        height=380,
        hovermode="x unified",
    )


def _error_line(name: str, cells: Sequence[int], errors: Sequence[float], look: GpuLook) -> Part:
    return {
        "type": "scatter",
        "x": cells,
        "y": errors,
        "name": name,
        "mode": "lines+markers",
        "line": {"color": look.colour, "width": 2, "dash": look.dash},
        "marker": {"color": look.colour, "symbol": look.symbol, "size": 9},
        "hovertemplate": "%{y:.1f} %",
    }


def _hover(point: MeasuredPoint) -> str:
    return (
        f"{point.model}, {point.pixels} pixels, batch {point.batch_size}<br>{point.anchor} to {point.target}<br>"
        f"measured {format_ms(point.measured_ms)}, predicted {format_ms(point.predicted_ms)}<br>"
        f"interval {format_range_ms(point.low_ms, point.high_ms)}"
    )
