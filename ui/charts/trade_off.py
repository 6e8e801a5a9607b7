"""Time against cost, with the Pareto frontier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ui.charts.bars import COLORS
from ui.charts.labels import NARROW_PLOT_WIDTH, Labelled, PlacedLabel, place_labels
from ui.charts.scales import LogAxis, time_axis, usd_axis
from ui.charts.style import GREY, RED, Part, framed, line_at, no_markup

#: Seconds and US dollars.
End = tuple[float, float]
_HEIGHT, _MARGIN = 400, {"l": 8, "r": 12, "t": 12, "b": 8}
#: In pixels, without the axis and its title.
_PLOT_HEIGHT = _HEIGHT - 72
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


@dataclass(frozen=True, slots=True)
class _Plot:
    """Axes and limits; pixels are those of the narrowest plot."""

    x: LogAxis
    y: LogAxis
    deadline_s: float | None
    budget_usd: float | None

    def across(self, time_s: float) -> float:
        return self.x.share(time_s) * NARROW_PLOT_WIDTH

    def down(self, usd: float) -> float:
        return (1 - self.y.share(usd)) * _PLOT_HEIGHT


def trade_off(
    points: Sequence[TradeOffPoint], deadline_s: float | None = None, budget_usd: float | None = None
) -> go.Figure:
    """Time against cost on logarithmic axes, one color per basis; a line joins the Pareto frontier."""
    ends = [(point.time_s, point.usd) for point in points]
    ends += [end for point in points if point.ends for end in point.ends]
    times, dollars = [end[0] for end in ends], [end[1] for end in ends]
    deadline_s, budget_usd = _in_sight(deadline_s, times), _in_sight(budget_usd, dollars)
    x = time_axis([*times, *([deadline_s] if deadline_s else [])])
    y = usd_axis([*dollars, *([budget_usd] if budget_usd else [])])
    return framed(
        [_intervals(points), *_frontier(points), *_plans(points, _Plot(x, y, deadline_s, budget_usd))],
        x=x.part("Time"),
        y=y.part("Cost"),
        height=_HEIGHT,
        name="Time against cost, one point per instance",
        margin=_MARGIN,
        legend={"y": -0.15, "yanchor": "top"},
        hovermode="closest",
        **_limits(_Plot(x, y, deadline_s, budget_usd)),
    )


def _in_sight(limit: float | None, values: Sequence[float]) -> float | None:
    if limit is None or not values or not min(values) / _IN_SIGHT < limit < max(values) * _IN_SIGHT:
        return None
    return limit


def _limits(plot: _Plot) -> Part:
    """Lines with their names at their ends."""
    shapes: list[Part] = []
    texts: list[Part] = []
    if plot.deadline_s is not None:
        shapes.append(line_at(x=plot.deadline_s, line=_LIMIT))
        texts.append({"x": plot.x.share(plot.deadline_s), "y": 1, "xanchor": "right", "yanchor": "top"})
        texts[-1]["text"] = "deadline "
    if plot.budget_usd is not None:
        shapes.append(line_at(y=plot.budget_usd, line=_LIMIT))
        texts.append({"x": 0, "y": plot.y.share(plot.budget_usd), "xanchor": "left", "yanchor": "bottom"})
        texts[-1]["text"] = " budget"
    # By their place in the plot: of a logarithmic axis a text would take the logarithm, a line the value.
    place = {"xref": "x domain", "yref": "y domain", "showarrow": False}
    return {"shapes": shapes, "annotations": [text | place for text in texts]}


def _frontier(points: Sequence[TradeOffPoint]) -> Iterator[Part]:
    best = sorted((point for point in points if point.on_frontier), key=lambda point: point.time_s)
    if len(best) > 1:
        yield {
            "type": "scatter",
            "name": "Pareto frontier: nothing is both faster and cheaper",
            "x": [point.time_s for point in best],
            "y": [point.usd for point in best],
            "mode": "lines",
            "line": _FRONTIER,
            "hoverinfo": "skip",
        }


def _intervals(points: Sequence[TradeOffPoint]) -> Part:
    """All prediction intervals as one trace of separate lines."""
    ends = [point.ends for point in points if point.ends]
    return {
        "type": "scatter",
        "name": "90% prediction interval",
        "x": [value for low, high in ends for value in (low[0], high[0], None)],
        "y": [value for low, high in ends for value in (low[1], high[1], None)],
        "mode": "lines",
        "line": {"color": "rgba(128,128,128,0.35)", "width": 1},
        "hoverinfo": "skip",
    }


def _plans(points: Sequence[TradeOffPoint], plot: _Plot) -> Iterator[Part]:
    # The frontier chooses the places of its labels first.
    ordered = sorted(points, key=lambda point: (not point.on_frontier, point.usd))
    # Labels of all would hide each other on a phone; a mark's tooltip has its name.
    labels = place_labels(
        [
            Labelled(plot.across(point.time_s), plot.down(point.usd), (point.short,) if point.labeled else ("",))
            for point in ordered
        ],
        NARROW_PLOT_WIDTH,
        _PLOT_HEIGHT,
        across_x=[] if plot.deadline_s is None else [plot.across(plot.deadline_s)],
        across_y=[] if plot.budget_usd is None else [plot.down(plot.budget_usd)],
    )
    for basis, color in COLORS.items():
        shown = [(point, label) for point, label in zip(ordered, labels, strict=True) if point.basis == basis]
        if shown:
            yield _points(basis, color, shown)


def _points(basis: str, color: str, shown: Sequence[tuple[TradeOffPoint, PlacedLabel]]) -> Part:
    return {
        "type": "scatter",
        "name": basis,
        "x": [point.time_s for point, _ in shown],
        "y": [point.usd for point, _ in shown],
        "text": [no_markup(label.spaced) for _, label in shown],
        "textposition": [label.place for _, label in shown],
        "mode": "markers+text",
        "marker": {"color": color, "size": [13 if point.on_frontier else 9 for point, _ in shown], "opacity": 1},
        "unselected": {"marker": {"opacity": 1}},
        "cliponaxis": False,
        "customdata": [point.key for point, _ in shown],
        "hovertext": [point.hover for point, _ in shown],
        "hoverinfo": "text",
    }
