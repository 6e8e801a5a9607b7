"""The figures and files as pure functions of records."""

from __future__ import annotations

import csv
import io
import json

from profet_core.artifacts.methods import EnsembleRule
from ui.charts import Bar, TradeOffPoint, bars, curves, instance_colours, measured_and_predicted, trade_off
from ui.phrases import rule_phrase
from ui.tables import as_csv, as_json, format_percent, format_price, format_range, format_range_ms

ROWS = [
    {"instance": "g4dn.xlarge", "latency_ms": 203.295, "speedup": None, "anchor": True},
    {"instance": "p3.2xlarge", "latency_ms": 0.1 + 0.2, "speedup": 2.5, "anchor": False},
]


def test_bars_have_the_shortest_on_top_and_retired_ones_hatched():
    figure = bars([Bar("slow", 9.0, "9 ms", True), Bar("fast", 1.0, "1 ms", False)], "Latency")
    (trace,) = figure.data
    assert list(trace.y) == ["slow", "fast"]  # plotly draws from the bottom up
    assert list(trace.x) == [9.0, 1.0]
    assert list(trace.text) == ["9 ms", "1 ms"]
    assert list(trace.marker.pattern.shape) == ["/", ""]


def test_intervals_are_error_bars_and_texts_stand_beyond_them():
    figure = bars([Bar("slow", 9.0, "9 ms", True, 8.0, 12.0), Bar("anchor", 1.0, "1 ms", False)], "Latency")
    trace, texts = figure.data
    assert (list(trace.error_x.array), list(trace.error_x.arrayminus)) == ([3.0, None], [1.0, None])
    assert trace.textposition == "none"
    assert (list(texts.x), list(texts.y)) == ([12.0, 1.0], ["slow", "anchor"])
    assert [text.strip() for text in texts.text] == ["9 ms", "1 ms"]
    assert figure.layout.xaxis.range[1] > 12.0


def test_ranges_name_the_unit_once():
    assert format_range_ms(190.2, 205.4) == "190–205 ms"
    assert format_range("4 min 3 s", "5 min 1 s") == "4 min 3 s – 5 min 1 s"
    assert format_range("$0.21", "$0.25") == "$0.21–$0.25"


def test_percents_have_a_digit_that_tells():
    assert [format_percent(value) for value in (14.34, 0.389, 0.999, 90.0)] == ["14.3 %", "0.39 %", "1.0 %", "90.0 %"]


def test_measured_and_predicted_stand_side_by_side():
    figure = measured_and_predicted({"a": 1.0, "b": 2.0}, {"b": 3.0, "a": 4.0})
    assert {trace.name: list(trace.x) for trace in figure.data} == {"measured": [1.0, 2.0], "predicted": [4.0, 3.0]}


def test_the_marker_stands_where_the_slider_does():
    figure = curves(range(16, 19), {"a": [1.0, 2.0, 3.0]}, 17, {"a": "#000"}, "batch")
    line, marker = figure.data
    assert list(line.y) == [1.0, 2.0, 3.0]
    assert (list(marker.x), list(marker.y)) == ([17], [2.0])


def test_the_trade_off_joins_the_frontier_by_time():
    points = [
        TradeOffPoint("slow", 9, 1, "", True, False),
        TradeOffPoint("fast", 1, 9, "", True, True),
        TradeOffPoint("beaten", 9, 9, "", False, True),
    ]
    frontier, sensible, beaten = trade_off(points).data
    assert (list(frontier.x), list(frontier.y)) == ([1, 9], [9, 1])
    assert list(sensible.text) == ["slow", "fast"] and list(beaten.text) == ["beaten"]
    assert list(sensible.marker.symbol) == ["circle", "circle-open"]


def test_intervals_and_limits_stand_in_the_trade_off():
    points = [
        TradeOffPoint("slow", 9, 1, "", True, False, (8, 0.9), (10, 1.1)),
        TradeOffPoint("fast", 1, 9, "", True, True),
    ]
    figure = trade_off(points, deadline_h=5, budget_usd=1000)
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([8, 10, None], [0.9, 1.1, None])
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (5, 5), "a budget far beyond all costs is not drawn"
    assert figure.layout.xaxis.type is None and tuple(figure.layout.xaxis.range) == (0, 12.5)


def test_values_far_apart_stand_on_logarithmic_axes():
    points = [TradeOffPoint("slow", 90, 1, "", True, False), TradeOffPoint("fast", 2, 9, "", True, False)]
    figure = trade_off(points)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    low, high = figure.layout.xaxis.range
    assert 10**low < 2 and 10**high > 90
    assert {"2", "10", "50"} <= set(figure.layout.xaxis.ticktext) and "$5" in figure.layout.yaxis.ticktext
    limited = trade_off(points, deadline_h=10)
    assert limited.layout.shapes[0].x0 == 10 and limited.layout.annotations[0].x == 1


def test_every_instance_has_its_own_colour():
    assert len(set(instance_colours(["a", "b", "c", "d"]).values())) == 4


def test_downloads_keep_every_digit():
    assert json.loads(as_json(ROWS)) == ROWS
    read = list(csv.DictReader(io.StringIO(as_csv(ROWS))))
    assert [row["latency_ms"] for row in read] == ["203.295", repr(0.1 + 0.2)]
    assert read[0]["speedup"] == ""


def test_prices_have_at_least_two_decimals():
    assert [format_price(value) for value in (0.9, 0.526, 3.06, 21.957642, 1000)] == [
        "$0.90",
        "$0.526",
        "$3.06",
        "$21.957642",
        "$1,000.00",
    ]


def test_a_method_is_named_by_its_rule():
    assert rule_phrase(EnsembleRule(("line", "forest", "dense"), "median")) == "median of three models"
    assert rule_phrase(EnsembleRule(("forest", "dense"), "mean")) == "mean of two models"
    assert rule_phrase(EnsembleRule(("forest",), "mean")) == "one model"
