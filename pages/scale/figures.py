"""Latency over size as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from ui.basis import MARK
from ui.charts.style import Part, framed, value_axis


@dataclass(frozen=True, slots=True)
class Curve:
    """One instance's latencies over the sizes, milliseconds a step; `rough`: nobody profiled its GPU."""

    instance: str
    latencies_ms: Sequence[float]
    colour: str
    rough: bool = False


def curves(sizes: Sequence[int], rows: Sequence[Curve], size_title: str) -> go.Figure:
    """Latency over size per instance; rough ones are dashed and starred. A live view's cursor marks one size."""
    every = np.asarray(sizes)
    return framed(
        [_line(every, row) for row in rows],
        x=value_axis(size_title),
        y=value_axis("ms per step", rangemode="tozero"),
        height=420,
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
