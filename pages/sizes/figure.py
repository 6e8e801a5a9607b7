"""The curves of Sizes as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from pages.sizes.rows import SizeRow, shown_value
from profet_core.scaling.axes import KNOTS
from ui.charts.gpu_look import gpu_look
from ui.charts.style import Part, framed, value_axis

_TITLES = {"latency": "ms a step", "images": "images a second", "time": "hours in all", "cost": "US dollars in all"}


def size_curves(rows: Mapping[str, Sequence[SizeRow]], sizes: Sequence[int], axis: str, shows: str) -> go.Figure:
    """One line an instance over the sizes of an axis."""
    traces = [
        {
            "type": "scatter",
            "x": list(sizes),
            "y": [shown_value(row.plan, row.batch_size, shows) for row in by_size],
            "mode": "lines",
            "name": name,
            "line": {
                "color": gpu_look(by_size[0].plan.offer.gpu).colour,
                "dash": gpu_look(by_size[0].plan.offer.gpu).dash,
            },
        }
        for name, by_size in rows.items()
    ]
    ticks = list(KNOTS[axis])
    return framed(
        traces,
        x=value_axis(
            "images a step" if axis == "batch" else "pixels a side", type="log", tickvals=ticks, ticktext=ticks
        ),
        y=value_axis(_TITLES[shows], type="log"),
        height=440,
    )


def _line(row: SizeRow) -> Part:
    look = gpu_look(row.plan.offer.gpu)
    return {"color": look.colour, "dash": look.dash}
