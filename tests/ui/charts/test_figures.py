"""The figures that several pages show, as pure functions of records."""

from __future__ import annotations

from ui.charts.bars import Bar, bars
from ui.charts.style import instance_colours
from ui.charts.trade_off import TradeOffPoint, trade_off


def test_bars_have_the_shortest_on_top_and_retired_ones_hatched():
    slow = Bar(label="slow", value=9.0, text="9 ms", retired=True)
    fast = Bar(label="fast", value=1.0, text="1 ms", retired=False)
    figure = bars([slow, fast], "Latency")
    (trace,) = figure.data
    assert list(trace.y) == ["slow", "fast"]  # plotly draws from the bottom up
    assert list(trace.x) == [9.0, 1.0]
    assert list(trace.text) == ["9 ms", "1 ms"]
    assert list(trace.marker.pattern.shape) == ["/", ""]


def test_intervals_are_error_bars_and_texts_stand_beyond_them():
    slow = Bar(label="slow", value=9.0, text="9 ms", retired=True, ends=(8.0, 12.0))
    anchor = Bar(label="anchor", value=1.0, text="1 ms", retired=False)
    figure = bars([slow, anchor], "Latency")
    trace, texts = figure.data
    assert (list(trace.error_x.array), list(trace.error_x.arrayminus)) == ([3.0, None], [1.0, None])
    assert trace.textposition == "none"
    assert (list(texts.x), list(texts.y)) == ([12.0, 1.0], ["slow", "anchor"])
    assert [text.strip() for text in texts.text] == ["9 ms", "1 ms"]
    assert figure.layout.xaxis.range[1] > 12.0


def plan(label: str, hours: float, usd: float, *, on_frontier=True, retired=False, ends=None) -> TradeOffPoint:
    return TradeOffPoint(
        label=label, hours=hours, usd=usd, hover="", on_frontier=on_frontier, retired=retired, ends=ends
    )


def test_the_trade_off_joins_the_frontier_by_time():
    points = [
        plan("slow", 9, 1),
        plan("fast", 1, 9, retired=True),
        plan("beaten", 9, 9, on_frontier=False, retired=True),
    ]
    frontier, sensible, beaten = trade_off(points).data
    assert (list(frontier.x), list(frontier.y)) == ([1, 9], [9, 1])
    assert list(sensible.text) == ["slow", "fast"] and list(beaten.text) == ["beaten"]
    assert list(sensible.marker.symbol) == ["circle", "circle-open"]


def test_intervals_and_limits_stand_in_the_trade_off():
    points = [
        plan("slow", 9, 1, ends=((8, 0.9), (10, 1.1))),
        plan("fast", 1, 9, retired=True),
    ]
    figure = trade_off(points, deadline_h=5, budget_usd=1000)
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([8, 10, None], [0.9, 1.1, None])
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (5, 5), "a budget far beyond all costs is not drawn"
    assert figure.layout.xaxis.type is None and tuple(figure.layout.xaxis.range) == (0, 12.5)


def test_values_far_apart_stand_on_logarithmic_axes():
    points = [plan("slow", 90, 1), plan("fast", 2, 9)]
    figure = trade_off(points)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    low, high = figure.layout.xaxis.range
    assert 10**low < 2 and 10**high > 90
    assert {"2", "10", "50"} <= set(figure.layout.xaxis.ticktext) and "$5" in figure.layout.yaxis.ticktext
    limited = trade_off(points, deadline_h=10)
    assert limited.layout.shapes[0].x0 == 10 and limited.layout.annotations[0].x == 1


def test_every_instance_has_its_own_colour():
    assert len(set(instance_colours(["a", "b", "c", "d"]).values())) == 4
