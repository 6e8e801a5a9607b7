"""Time against money as a figure of records."""

from __future__ import annotations

import math

import pytest

from ui.charts.gpu_look import gpu_look
from ui.charts.style import chart_name
from ui.charts.trade_off import TradeOffPoint, trade_off


def plan(label: str, time_s: float, usd: float, **others: object) -> TradeOffPoint:
    usual = {"short": label[:2], "gpu": "Tesla T4", "hover": "", "on_frontier": True, "retired": False}
    return TradeOffPoint(label=label, time_s=time_s, usd=usd, **(usual | others))


def by_label(figure) -> dict[str, object]:
    return {trace.text[1].strip("\N{NO-BREAK SPACE}"): trace for trace in figure.data if trace.text}


def test_the_frontier_joins_its_plans_by_time_and_what_is_beaten_is_smaller():
    figure = trade_off([plan("slow", 90, 1), plan("fast", 10, 9), plan("beaten", 90, 9, on_frontier=False)])
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([10, 90], [9, 1])
    sizes = {label: trace.marker.size[1] for label, trace in by_label(figure).items()}
    assert sizes["beaten"] < sizes["slow"] == sizes["fast"]


def test_a_point_lies_on_its_range_of_time_and_money_in_the_colour_of_its_gpu():
    figure = trade_off([plan("a", 10, 1, gpu="L4", ends=((8, 0.8), (15, 1.5))), plan("b", 20, 2, retired=True)])
    a, b = by_label(figure)["a"], by_label(figure)["b"]
    assert (list(a.x), list(a.y)) == ([8, 10, 15], [0.8, 1, 1.5])
    assert a.line.color == a.marker.color == gpu_look("L4").colour
    assert (list(b.x), b.marker.symbol) == ([None, 20, None], "circle-open")


def test_limits_are_drawn_with_their_names_where_they_are_in_sight():
    points = [plan("slow", 90, 1), plan("fast", 10, 9)]
    figure = trade_off(points, deadline_s=50, budget_usd=1000)
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (50, 50), "a budget far beyond all costs is not drawn"
    (name,) = figure.layout.annotations
    low, high = figure.layout.xaxis.range
    assert name.text.strip() == "deadline" and name.x == pytest.approx((math.log10(50) - low) / (high - low))
    both = trade_off(points, deadline_s=200, budget_usd=0.5)
    assert 10 ** both.layout.xaxis.range[1] > 200 and 10 ** both.layout.yaxis.range[0] < 0.5


def test_axes_stand_still_while_values_move_a_little():
    layouts = [trade_off([plan("slow", 90 * by, 1 * by), plan("fast", 12 * by, 6 * by)]).layout for by in (1, 1.03)]
    one, other = ((layout.xaxis.range, layout.yaxis.range) for layout in layouts)
    assert one == other


def test_what_is_chosen_stands_out_and_is_drawn_last():
    figure = trade_off([plan("chosen", 90, 1, chosen=True), plan("other", 80, 1.1)])
    last = figure.data[-1]
    assert "<b>" in last.text[1] and "chosen" in last.text[1]
    assert last.marker.size[1] > max(trace.marker.size[1] for trace in figure.data[:-1] if trace.text)


def test_its_name_is_said_and_holds_no_value():
    assert chart_name(trade_off([plan("a", 1, 2)])).startswith("Time against cost")
    assert chart_name(trade_off([plan("a", 1, 2)])) == chart_name(trade_off([plan("b", 7, 8)]))


def test_no_plan_at_all_is_an_empty_figure():
    assert trade_off([]).data == ()


def test_a_name_stays_text():
    (trace,) = [one for one in trade_off([plan("<b>own</b>", 1, 2)]).data if one.text]
    assert trace.text[1].strip("\N{NO-BREAK SPACE}") == "&lt;b>own&lt;/b>"
