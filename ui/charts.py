"""Plotly figures as pure functions of records. Colours are mid-tones that read on light and on dark."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

#: One colour per instance, the same on every page (Okabe-Ito without black and yellow: told apart by the colour-blind).
_COLOURS = ("#0f8fd1", "#e08a00", "#12a37a", "#c86aa3", "#d55e00", "#7a7ff0")
AVAILABLE_COLOUR = "#0f8fd1"
RETIRED_COLOUR = "#8b95a5"
MEASURED_COLOUR = "#8b95a5"
PREDICTED_COLOUR = "#0f8fd1"
GRID = "rgba(128,128,128,0.25)"
#: Reads on a blue bar, on a grey one and on either background.
INTERVAL_COLOUR = "#d55e00"
#: Values this many times apart are shown on logarithmic axes.
WIDE = 30


@dataclass(frozen=True)
class Bar:
    """One bar: its label, value, the value as written beside it, and whether the instance can't be rented any more.

    `low` and `high` are the ends of its interval, None where it has none. `rough`: nobody profiled that GPU; the bar is
    pale.
    """

    label: str
    value: float
    text: str
    retired: bool
    low: float | None = None
    high: float | None = None
    rough: bool = False


@dataclass(frozen=True)
class TradeOffPoint:
    """One instance in the trade-off of time and money.

    Attributes
    ----------
    low, high : hours and dollars at both ends of its interval, None where it has none. Both move with one latency, so
        the interval is a line.
    """

    label: str
    hours: float
    usd: float
    hover: str
    on_frontier: bool
    retired: bool
    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None


def instance_colours(instances: Sequence[str]) -> dict[str, str]:
    """Instance -> colour, by its place in the catalogue of measured instances."""
    return {name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(instances)}


def bars(rows: Sequence[Bar], title: str) -> go.Figure:
    """Horizontal bars, the shortest on top; retired instances grey and hatched; intervals as error bars."""
    ordered = sorted(rows, key=lambda row: row.value, reverse=True)
    ends = [row.value if row.high is None else row.high for row in ordered]
    intervals = any(row.high is not None for row in rows)
    figure = go.Figure(
        go.Bar(
            x=[row.value for row in ordered],
            y=[row.label for row in ordered],
            text=[row.text for row in ordered],
            orientation="h",
            textposition="none" if intervals else "outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{text}<extra></extra>",
            error_x=_error_bars(ordered) if intervals else None,
            marker={
                "color": [RETIRED_COLOUR if row.retired else AVAILABLE_COLOUR for row in ordered],
                "opacity": [0.5 if row.rough else 1.0 for row in ordered],
                "pattern": {
                    "shape": ["/" if row.retired else "" for row in ordered],
                    "fillmode": "overlay",
                    "solidity": 0.2,
                },
            },
        )
    )
    if intervals:
        # Beside the end of the interval, which would run through a text beside the bar's own end.
        figure.add_scatter(
            x=ends,
            y=[row.label for row in ordered],
            text=[f" {row.text}" for row in ordered],
            mode="text",
            textposition="middle right",
            cliponaxis=False,
            hoverinfo="skip",
        )
        figure.update_layout(showlegend=False)
    largest = max(ends, default=1.0)
    figure.update_xaxes(
        range=[0, largest * 1.32], showticklabels=False, showgrid=False, zeroline=False, fixedrange=True
    )
    figure.update_yaxes(fixedrange=True, ticksuffix="  ", automargin=True)
    return framed(figure, title, height=90 + 46 * len(rows))


def _error_bars(rows: Sequence[Bar]) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [None if row.high is None else row.high - row.value for row in rows],
        "arrayminus": [None if row.low is None else row.value - row.low for row in rows],
        "color": INTERVAL_COLOUR,
        "thickness": 2,
        "width": 6,
    }


def measured_and_predicted(measured_ms: Mapping[str, float], predicted_ms: Mapping[str, float]) -> go.Figure:
    """Two bars per instance: what was measured and what was predicted, milliseconds."""
    instances = list(measured_ms)
    figure = go.Figure()
    for name, values, colour in (
        ("predicted", predicted_ms, PREDICTED_COLOUR),
        ("measured", measured_ms, MEASURED_COLOUR),
    ):
        figure.add_bar(
            name=name,
            x=[values[instance] for instance in instances],
            y=instances,
            orientation="h",
            marker_color=colour,
            hovertemplate="%{y}: %{x:,.3~r} ms " + name + "<extra></extra>",
        )
    figure.update_layout(barmode="group", legend={"traceorder": "reversed"})
    figure.update_xaxes(title="ms per step", gridcolor=GRID, rangemode="tozero", fixedrange=True)
    figure.update_yaxes(fixedrange=True, ticksuffix="  ", automargin=True)
    return framed(figure, "", height=130 + 56 * len(instances))


def curves(
    sizes: Sequence[int],
    curves_ms: Mapping[str, Sequence[float]],
    at: int,
    colours: Mapping[str, str],
    size_title: str,
    rough: Collection[str] = (),
) -> go.Figure:
    """Latency over size per instance, with a marker where the slider stands; `rough` ones are dashed and starred."""
    figure = go.Figure()
    index = list(sizes).index(at)
    for name, values in curves_ms.items():
        figure.add_scatter(
            x=list(sizes),
            y=list(values),
            name=f"{name}*" if name in rough else name,
            mode="lines",
            line={"color": colours[name], "width": 2.5, "dash": "dash" if name in rough else "solid"},
            hovertemplate=name + "<br>%{x}: %{y:,.4~r} ms<extra></extra>",
        )
        figure.add_scatter(
            x=[at],
            y=[values[index]],
            mode="markers",
            showlegend=False,
            marker={"color": colours[name], "size": 11, "line": {"width": 2, "color": "white"}},
            hoverinfo="skip",
        )
    figure.add_vline(x=at, line={"color": "rgba(128,128,128,0.7)", "width": 1, "dash": "dot"})
    figure.update_xaxes(title=size_title, gridcolor=GRID, fixedrange=True)
    figure.update_yaxes(title="ms per step", gridcolor=GRID, rangemode="tozero", fixedrange=True)
    return framed(figure, "", height=420)


def trade_off(
    points: Sequence[TradeOffPoint], deadline_h: float | None = None, budget_usd: float | None = None
) -> go.Figure:
    """Time against money per training; the frontier joins what no other instance beats in both.

    Both axes are logarithmic where the largest value is far beyond the smallest.
    """
    frontier = sorted((point for point in points if point.on_frontier), key=lambda point: point.hours)
    figure = go.Figure()
    if any(point.high for point in points):
        figure.add_scatter(**_interval_lines(points))
    if len(frontier) > 1:
        figure.add_scatter(
            x=[point.hours for point in frontier],
            y=[point.usd for point in frontier],
            mode="lines",
            line={"color": AVAILABLE_COLOUR, "dash": "dot", "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    # Neighbours' labels stand above and below in turn.
    by_time = sorted(points, key=lambda point: point.hours)
    above = {point.label: ("top center", "bottom center")[number % 2] for number, point in enumerate(by_time)}
    for sensible, name, colour, symbol in (
        (True, "worth considering", AVAILABLE_COLOUR, "circle"),
        (False, "beaten in both", RETIRED_COLOUR, "diamond"),
    ):
        group = [point for point in points if point.on_frontier is sensible]
        figure.add_scatter(
            x=[point.hours for point in group],
            y=[point.usd for point in group],
            text=[point.label for point in group],
            customdata=[point.hover for point in group],
            name=name,
            mode="markers+text",
            textposition=[above[point.label] for point in group],
            cliponaxis=False,
            marker={
                "color": colour,
                "size": 13,
                "line": {"width": 2, "color": colour},
                "symbol": [f"{symbol}-open" if point.retired else symbol for point in group],
            },
            hovertemplate="%{customdata}<extra></extra>",
        )
    ends = [(point.hours, point.usd) for point in points]
    ends += [end for point in points for end in (point.low, point.high) if end]
    hours, usd = [end[0] for end in ends], [end[1] for end in ends]
    wide = any(max(values) > WIDE * min(values) for values in (hours, usd) if values)
    figure.update_xaxes(title="hours in all", gridcolor=GRID, fixedrange=True, **_axis(hours, wide))
    figure.update_yaxes(title="US dollars in all", gridcolor=GRID, fixedrange=True, **_axis(usd, wide, "$"))
    limit = {"line": {"color": INTERVAL_COLOUR, "width": 1.5, "dash": "dash"}}
    # Plotly places a line on a logarithmic axis by its value, and a text by the logarithm of it.
    at = math.log10 if wide else float
    # A limit far outside would leave no room for what is to be seen.
    if deadline_h is not None and min(hours) / 2 < deadline_h < max(hours) * 1.25:
        figure.add_vline(x=deadline_h, **limit)
        figure.add_annotation(x=at(deadline_h), y=1, yref="paper", text="deadline", xanchor="right", showarrow=False)
    if budget_usd is not None and min(usd) / 2 < budget_usd < max(usd) * 1.25:
        figure.add_hline(y=budget_usd, **limit)
        figure.add_annotation(y=at(budget_usd), x=1, xref="paper", text="budget", yanchor="top", showarrow=False)
    return framed(figure, "", height=400)


def _interval_lines(points: Sequence[TradeOffPoint]) -> dict[str, object]:
    """One trace with a line from end to end of each interval; None lifts the pen."""
    lines = [(point.low, point.high) for point in points if point.low and point.high]
    return {
        "x": [x for low, high in lines for x in (low[0], high[0], None)],
        "y": [y for low, high in lines for y in (low[1], high[1], None)],
        "mode": "lines",
        "name": "interval",
        "line": {"color": INTERVAL_COLOUR, "width": 1.5},
        "opacity": 0.6,
        "hoverinfo": "skip",
    }


def _axis(values: Sequence[float], wide: bool, prefix: str = "") -> dict[str, object]:
    """From 0, or logarithmic around all values; with room for the labels."""
    largest, smallest = max(values, default=1.0), min(values, default=1.0)
    if not wide:
        return {"range": [0, largest * 1.25], "tickprefix": prefix}
    ends = math.log10(smallest / 1.5), math.log10(largest * 2)
    ticks = [step * 10.0**power for power in range(math.floor(ends[0]), math.ceil(ends[1])) for step in (1, 2, 5)]
    return {"type": "log", "range": ends, "tickvals": ticks, "ticktext": [f"{prefix}{tick:,.10g}" for tick in ticks]}


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
