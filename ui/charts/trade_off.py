"""Time against money: what no other plan beats in both, and what is beaten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ui.charts.style import BLUE, GREY, RED, WIDE, Part, framed, line_at, value_axis

#: Hours and US dollars.
End = tuple[float, float]
_LIMIT = {"color": RED, "width": 1.5, "dash": "dash"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOffPoint:
    """One plan in the trade-off of time and money.

    Attributes
    ----------
    ends : of its interval, None where it has none. Both hours and dollars move with one latency, so the interval is a
        line.
    """

    label: str
    hours: float
    usd: float
    hover: str
    on_frontier: bool
    retired: bool
    ends: tuple[End, End] | None = None


def trade_off(
    points: Sequence[TradeOffPoint], deadline_h: float | None = None, budget_usd: float | None = None
) -> go.Figure:
    """Time against money per training; the frontier joins what no other instance beats in both.

    Both axes are logarithmic where the largest value is far beyond the smallest.
    """
    ends = [(point.hours, point.usd) for point in points]
    ends += [end for point in points if point.ends for end in point.ends]
    hours, usd = [end[0] for end in ends], [end[1] for end in ends]
    wide = any(max(values) > WIDE * min(values) for values in (hours, usd) if values)
    shapes: list[Part] = []
    texts: list[Part] = []
    # Plotly places a line on a logarithmic axis by its value, and a text by the logarithm of it.
    at = math.log10 if wide else float
    if deadline_h is not None and _in_sight(deadline_h, hours):
        shapes.append(line_at(x=deadline_h, line=_LIMIT))
        texts.append({"x": at(deadline_h), "y": 1, "yref": "paper", "text": "deadline", "xanchor": "right"})
    if budget_usd is not None and _in_sight(budget_usd, usd):
        shapes.append(line_at(y=budget_usd, line=_LIMIT))
        texts.append({"y": at(budget_usd), "x": 1, "xref": "paper", "text": "budget", "yanchor": "top"})
    return framed(
        [*_intervals(points), *_frontier(points), *_points(points)],
        x=value_axis("hours in all", **_axis(hours, wide)),
        y=value_axis("US dollars in all", **_axis(usd, wide, "$")),
        height=400,
        shapes=shapes,
        annotations=[text | {"showarrow": False} for text in texts],
    )


def _intervals(points: Sequence[TradeOffPoint]) -> Iterator[Part]:
    """One trace with a line from end to end of each interval; None lifts the pen."""
    lines = [point.ends for point in points if point.ends]
    if lines:
        yield {
            "type": "scatter",
            "x": [x for low, high in lines for x in (low[0], high[0], None)],
            "y": [y for low, high in lines for y in (low[1], high[1], None)],
            "mode": "lines",
            "name": "interval",
            "line": {"color": RED, "width": 1.5},
            "opacity": 0.6,
            "hoverinfo": "skip",
        }


def _frontier(points: Sequence[TradeOffPoint]) -> Iterator[Part]:
    frontier = sorted((point for point in points if point.on_frontier), key=lambda point: point.hours)
    if len(frontier) > 1:
        yield {
            "type": "scatter",
            "x": [point.hours for point in frontier],
            "y": [point.usd for point in frontier],
            "mode": "lines",
            "line": {"color": BLUE, "dash": "dot", "width": 2},
            "hoverinfo": "skip",
            "showlegend": False,
        }


def _points(points: Sequence[TradeOffPoint]) -> Iterator[Part]:
    # Neighbours' labels stand above and below in turn.
    by_time = sorted(points, key=lambda point: point.hours)
    above = {point.label: ("top center", "bottom center")[number % 2] for number, point in enumerate(by_time)}
    for sensible, name, colour, symbol in (
        (True, "worth considering", BLUE, "circle"),
        (False, "beaten in both", GREY, "diamond"),
    ):
        group = [point for point in points if point.on_frontier is sensible]
        yield {
            "type": "scatter",
            "x": [point.hours for point in group],
            "y": [point.usd for point in group],
            "text": [point.label for point in group],
            "customdata": [point.hover for point in group],
            "name": name,
            "mode": "markers+text",
            "textposition": [above[point.label] for point in group],
            "cliponaxis": False,
            "marker": {
                "color": colour,
                "size": 13,
                "line": {"width": 2, "color": colour},
                "symbol": [f"{symbol}-open" if point.retired else symbol for point in group],
            },
            "hovertemplate": "%{customdata}<extra></extra>",
        }


def _in_sight(limit: float, values: Sequence[float]) -> bool:
    """A limit far outside would leave no room for what is to be seen."""
    return min(values) / 2 < limit < max(values) * 1.25


def _axis(values: Sequence[float], wide: bool, prefix: str = "") -> dict[str, object]:
    """From 0, or logarithmic around all values; with room for the labels."""
    largest, smallest = max(values, default=1.0), min(values, default=1.0)
    if not wide:
        return {"range": [0, largest * 1.25], "tickprefix": prefix}
    ends = math.log10(smallest / 1.5), math.log10(largest * 2)
    ticks = [step * 10.0**power for power in range(math.floor(ends[0]), math.ceil(ends[1])) for step in (1, 2, 5)]
    return {"type": "log", "range": ends, "tickvals": ticks, "ticktext": [f"{prefix}{tick:,.10g}" for tick in ticks]}
