"""Latency over size as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from ui.basis import MARK
from ui.charts.style import Part, framed, line_at, value_axis


@dataclass(frozen=True, slots=True)
class Curve:
    """One instance's latencies over the sizes, milliseconds a step; `rough`: nobody profiled its GPU."""

    instance: str
    latencies_ms: Sequence[float]
    colour: str
    rough: bool = False


def curves(sizes: Sequence[int], rows: Sequence[Curve], at: int, size_title: str) -> go.Figure:
    """Latency over size per instance, with a marker where the slider stands; rough ones are dashed and starred."""
    index = list(sizes).index(at)
    every = np.asarray(sizes)
    return framed(
        [*(_line(every, row) for row in rows), _marks(at, [(row.colour, row.latencies_ms[index]) for row in rows])],
        x=value_axis(size_title),
        y=value_axis("ms per step", rangemode="tozero"),
        height=420,
        shapes=[line_at(x=at, line={"color": "rgba(128,128,128,0.7)", "width": 1, "dash": "dot"})],
    )


def _line(sizes: np.ndarray, row: Curve) -> Part:
    return {
        "type": "scatter",
        "x": sizes,
        "y": np.asarray(row.latencies_ms, float),
        "name": f"{row.instance}{MARK}" if row.rough else row.instance,
        "mode": "lines",
        "line": {"color": row.colour, "width": 2.5, "dash": "dash" if row.rough else "solid"},
        "hovertemplate": row.instance + "<br>%{x}: %{y:,.4~r} ms<extra></extra>",
    }


def _marks(at: int, latencies_ms: Sequence[tuple[str, float]]) -> Part:
    """A mark on each curve, by its colour, where the slider stands."""
    return {
        "type": "scatter",
        "x": [at] * len(latencies_ms),
        "y": [latency_ms for _, latency_ms in latencies_ms],
        "mode": "markers",
        "showlegend": False,
        "marker": {
            "color": [colour for colour, _ in latencies_ms],
            "size": 11,
            "line": {"width": 2, "color": "white"},
        },
        "hoverinfo": "skip",
    }
