"""Time against money: what no other plan beats in both, and what is beaten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ui.charts.gpu_look import gpu_look
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
    short : a shorter label, for where there is no room for the other. hover : lines, as plotly reads them.
    gpu : full name, by which it is drawn.
    chosen : it is what the page names, or what is open; it stands out.
    ends : of its interval, None where it has none. Both time and money move with one latency, so the interval is a
        line.
    """

    label: str
    short: str
    gpu: str
    time_s: float
    usd: float
    hover: str
    on_frontier: bool
    retired: bool
    chosen: bool = False
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
    """Time against money; the frontier joins what no other plan beats in both, and what is beaten is smaller.

    Both axes are logarithmic: twice as fast is as far everywhere, and little of it moves with a slider.
    """
    ends = [(point.time_s, point.usd) for point in points]
    ends += [end for point in points if point.ends for end in point.ends]
    times, dollars = [end[0] for end in ends], [end[1] for end in ends]
    deadline_s, budget_usd = _in_sight(deadline_s, times), _in_sight(budget_usd, dollars)
    x = time_axis([*times, *([deadline_s] if deadline_s else [])])
    y = usd_axis([*dollars, *([budget_usd] if budget_usd else [])])
    return framed(
        [*_frontier(points), *_plans(points, _Plot(x, y, deadline_s, budget_usd))],
        x=x.part("Time"),
        y=y.part("Cost"),
        height=_HEIGHT,
        name="Time against cost, a point each plan with the range of both",
        margin=_MARGIN,
        showlegend=False,
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
            "x": [point.time_s for point in best],
            "y": [point.usd for point in best],
            "mode": "lines",
            "line": _FRONTIER,
            "hoverinfo": "skip",
        }


def _plans(points: Sequence[TradeOffPoint], plot: _Plot) -> Iterator[Part]:
    # What stands out is drawn last, over the others, and chooses the place of its label first.
    ordered = sorted(points, key=lambda point: (point.chosen, point.on_frontier, -point.usd), reverse=True)
    labels = place_labels(
        [Labelled(plot.across(point.time_s), plot.down(point.usd), (point.label, point.short)) for point in ordered],
        NARROW_PLOT_WIDTH,
        _PLOT_HEIGHT,
        across_x=[] if plot.deadline_s is None else [plot.across(plot.deadline_s)],
        across_y=[] if plot.budget_usd is None else [plot.down(plot.budget_usd)],
    )
    for point, label in reversed(list(zip(ordered, labels, strict=True))):
        yield _plan(point, label)


def _plan(point: TradeOffPoint, label: PlacedLabel) -> Part:
    """The point on the line of its interval, with its label."""
    look, text = gpu_look(point.gpu), no_markup(label.spaced)
    low, high = point.ends or ((None, None), (None, None))
    size = 17 if point.chosen else 13 if point.on_frontier else 9
    return {
        "type": "scatter",
        "x": [low[0], point.time_s, high[0]],
        "y": [low[1], point.usd, high[1]],
        "text": ["", f"<b>{text}</b>" if point.chosen else text, ""],
        "textposition": label.place,
        "mode": "lines+markers+text",
        "line": {"color": look.colour, "width": 2 if point.on_frontier else 1},
        "marker": {
            "color": look.colour,
            "opacity": 1,
            "size": [0, size, 0],
            "symbol": f"{look.symbol}-open" if point.retired else look.symbol,
            "line": {"width": [0, 2, 0], "color": look.colour},
        },
        "cliponaxis": False,
        "customdata": [point.hover] * 3,
        "hovertemplate": "%{customdata}<extra></extra>",
    }
