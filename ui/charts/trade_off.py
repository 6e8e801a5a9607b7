"""Time against cost, with the Pareto frontier."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profet_core.units import format_time, format_usd
from ui.charts.bars import COLORS
from ui.charts.curves import Shown
from ui.charts.style import GREY, RED, Part, framed, line_at, no_markup

#: Seconds and US dollars.
End = tuple[float, float]
_HEIGHT = 440
_TIME, _COST = Shown("Time", format_time, in_time=True), Shown("Cost", format_usd, prefix="$")
_LIMIT = {"color": RED, "width": 1.5, "dash": "dash"}
_FRONTIER = {"color": GREY, "width": 1.5, "dash": "dot"}
#: A limit this many times beyond all plans is not drawn: it would leave no room for them.
_IN_SIGHT = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOffPoint:
    """One plan in the trade-off of time and money.

    Attributes
    ----------
    key : what tells the plan from others. short : its label.
    hover : lines, as plotly reads them. labeled : its label is written beside it.
    basis : one of `ui.charts.bars.COLORS`' words.
    ends : of its interval, None where it has none. Time and cost move with one latency, so the interval is a line.
    """

    key: str
    short: str
    basis: str
    time_s: float
    usd: float
    hover: str
    on_frontier: bool
    labeled: bool = False
    ends: tuple[End, End] | None = None


def trade_off(
    points: Sequence[TradeOffPoint], deadline_s: float | None = None, budget_usd: float | None = None
) -> go.Figure:
    """Time against cost on logarithmic axes, one color per basis; a line joins the Pareto frontier."""
    ends = [(point.time_s, point.usd) for point in points]
    ends += [end for point in points if point.ends for end in point.ends]
    times, dollars = [end[0] for end in ends], [end[1] for end in ends]
    deadline_s, budget_usd = _in_sight(deadline_s, times), _in_sight(budget_usd, dollars)
    seconds, x = _TIME.axis(times)
    _, y = _COST.axis(dollars)
    if times:
        # Labels of the frontier stand to the left of their marks.
        x["range"] = [math.log10(min(times) / seconds) - 0.2, math.log10(max(times) / seconds) + 0.1]
    return framed(
        [
            _intervals(points, seconds),
            *_frontier(points, seconds),
            *(_plans(of, seconds, basis, color) for basis, color in COLORS.items() if (of := _of_basis(points, basis))),
        ],
        x=x,
        y=y,
        height=_HEIGHT,
        name="Time against cost, one point per instance",
        hovermode="closest",
        **_limits(deadline_s and deadline_s / seconds, budget_usd),
    )


def _in_sight(limit: float | None, values: Sequence[float]) -> float | None:
    if limit is None or not values or not min(values) / _IN_SIGHT < limit < max(values) * _IN_SIGHT:
        return None
    return limit


def _of_basis(points: Sequence[TradeOffPoint], basis: str) -> list[TradeOffPoint]:
    return [point for point in points if point.basis == basis]


def _limits(deadline: float | None, budget_usd: float | None) -> Part:
    """Lines with their names at their ends."""
    shapes: list[Part] = []
    texts: list[Part] = []
    # On a logarithmic axis a text takes the logarithm, a line the value.
    if deadline is not None:
        shapes.append(line_at(x=deadline, line=_LIMIT))
        place = {"yref": "y domain", "y": 1, "xanchor": "right", "yanchor": "top"}
        texts.append({"text": "deadline ", "x": math.log10(deadline), "showarrow": False, **place})
    if budget_usd is not None:
        shapes.append(line_at(y=budget_usd, line=_LIMIT))
        place = {"xref": "x domain", "x": 0, "xanchor": "left", "yanchor": "bottom"}
        texts.append({"text": " budget", "y": math.log10(budget_usd), "showarrow": False, **place})
    return {"shapes": shapes, "annotations": texts}


def _frontier(points: Sequence[TradeOffPoint], seconds: float) -> Iterator[Part]:
    best = sorted((point for point in points if point.on_frontier), key=lambda point: point.time_s)
    if len(best) > 1:
        yield {
            "type": "scatter",
            "name": "Pareto frontier: nothing is both faster and cheaper",
            "x": [point.time_s / seconds for point in best],
            "y": [point.usd for point in best],
            "mode": "lines",
            "line": _FRONTIER,
            "hoverinfo": "skip",
        }


def _intervals(points: Sequence[TradeOffPoint], seconds: float) -> Part:
    """All prediction intervals as one trace of separate lines."""
    ends = [point.ends for point in points if point.ends]
    return {
        "type": "scatter",
        "name": "90% prediction interval",
        "x": [value for low, high in ends for value in (low[0] / seconds, high[0] / seconds, None)],
        "y": [value for low, high in ends for value in (low[1], high[1], None)],
        "mode": "lines",
        "line": {"color": "rgba(128,128,128,0.35)", "width": 1},
        "hoverinfo": "skip",
    }


def _plans(points: Sequence[TradeOffPoint], seconds: float, basis: str, color: str) -> Part:
    """Nothing lies below and left of the frontier: there is room for its labels."""
    return {
        "type": "scatter",
        "name": basis,
        "x": [point.time_s / seconds for point in points],
        "y": [point.usd for point in points],
        # Labels of all would hide each other on a phone; a mark's tooltip has its name.
        "text": [no_markup(point.short) if point.labeled else "" for point in points],
        "textposition": ["bottom left" if point.on_frontier else "top right" for point in points],
        "mode": "markers+text",
        "marker": {"color": color, "size": [13 if point.on_frontier else 9 for point in points], "opacity": 1},
        "unselected": {"marker": {"opacity": 1}},
        "cliponaxis": False,
        "customdata": [point.key for point in points],
        "hovertext": [point.hover for point in points],
        "hoverinfo": "text",
    }
