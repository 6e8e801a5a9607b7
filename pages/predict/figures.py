"""What was measured beside what was predicted, as a chart."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from ui.charts.style import BLUE, GREY, framed, name_axis, value_axis


def measured_and_predicted(measured_ms: Mapping[str, float], predicted_ms: Mapping[str, float]) -> go.Figure:
    """Two bars per instance: what was measured and what was predicted, milliseconds."""
    instances = list(measured_ms)
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": [values[instance] for instance in instances],
            "y": instances,
            "orientation": "h",
            "marker": {"color": colour},
            "hovertemplate": "%{y}: %{x:,.3~r} ms " + name + "<extra></extra>",
        }
        for name, values, colour in (("predicted", predicted_ms, BLUE), ("measured", measured_ms, GREY))
    ]
    return framed(
        traces,
        x=value_axis("ms per step", rangemode="tozero"),
        y=name_axis(),
        height=130 + 56 * len(instances),
        barmode="group",
        legend={"traceorder": "reversed"},
    )
