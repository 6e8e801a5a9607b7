"""The scatter chart of time against cost: points by basis, the frontier, intervals, limits."""

from __future__ import annotations

import pytest

from ui.charts.bars import COLORS
from ui.charts.trade_off import TradeOffPoint, trade_off
from ui.words import ESTIMATED, MEASURED


def plan(label: str, time_s: float, usd: float, *, on_frontier: bool = True, **more) -> TradeOffPoint:
    values = {"key": label, "short": label, "basis": MEASURED, "hover": label, "labeled": True, **more}
    return TradeOffPoint(time_s=time_s, usd=usd, on_frontier=on_frontier, **values)


def traces(figure) -> dict[str, object]:
    return {trace.name: trace for trace in figure.data}


def test_the_frontier_joins_its_plans_by_time_and_is_named_in_the_legend():
    figure = trade_off([plan("slow", 90, 1), plan("fast", 10, 9), plan("beaten", 90, 9, on_frontier=False)])
    (line,) = [trace for name, trace in traces(figure).items() if name.startswith("Pareto frontier")]
    assert list(line.x) == [10, 90] and list(line.y) == [9, 1]
    points = traces(figure)[MEASURED]
    assert set(zip(points.customdata, points.marker.size, strict=True)) == {("slow", 13), ("fast", 13), ("beaten", 9)}
    assert figure.layout.meta.startswith("Time against cost")


def test_points_have_the_color_of_their_basis_and_lie_on_their_intervals():
    figure = trade_off([plan("a", 10, 1, basis=ESTIMATED, ends=((8, 0.8), (15, 1.5))), plan("b", 20, 2)])
    found = traces(figure)
    assert found[ESTIMATED].marker.color == COLORS[ESTIMATED] and found[MEASURED].marker.color == COLORS[MEASURED]
    interval = found["90% prediction interval"]
    assert list(interval.x) == [8, 15, None] and list(interval.y) == [0.8, 1.5, None]


def test_limits_are_drawn_with_their_names_where_they_are_in_sight():
    points = [plan("a", 100, 1), plan("b", 10, 9)]
    figure = trade_off(points, deadline_s=50, budget_usd=1000)
    assert [note.text.strip() for note in figure.layout.annotations] == ["deadline"]
    (line,) = figure.layout.shapes
    assert line.x0 == line.x1 == 50
    both = trade_off(points, deadline_s=200, budget_usd=0.5)
    assert sorted(note.text.strip() for note in both.layout.annotations) == ["budget", "deadline"]


@pytest.mark.parametrize("name", ["<b>custom</b>", "a&b"])
def test_a_name_stays_text(name):
    (label,) = traces(trade_off([plan(name, 1, 2)]))[MEASURED].text
    assert name not in label and ("&lt;" in label or "&amp;" in label)
