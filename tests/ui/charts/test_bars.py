"""Bar charts: one row per instance in its place, a color per basis, whiskers, values and reasons as text."""

from __future__ import annotations

from ui.charts.bars import COLORS, Bar, bar_chart, legend
from ui.words import DERIVED, ESTIMATED, GIVEN

BARS = [
    Bar(key="a", name="T4 (anchor)", color=COLORS[GIVEN], value=10.0, text="10 h"),
    Bar(key="b", name="H100", color=COLORS[ESTIMATED], value=2.0, low=1.5, high=4.0, text="2.00 h"),
    Bar(key="c", name="K80", text="doesn't fit; largest batch 48"),
]


def test_rows_keep_their_places_and_colors():
    figure = bar_chart(BARS, "Time (h)", name="Time per instance")
    drawn, labels = figure.data
    assert (list(drawn.y), list(drawn.customdata)) == ([0, 1], ["a", "b"])
    assert list(drawn.marker.color) == [COLORS[GIVEN], COLORS[ESTIMATED]]
    assert list(drawn.error_x.array) == [0.0, 2.0] and list(drawn.error_x.arrayminus) == [0.0, 0.5]
    assert [text.strip() for text in labels.text] == ["10 h", "2.00 h", "doesn't fit; largest batch 48"]
    assert list(labels.x) == [10.0, 4.0, 0.0], "behind bar and whisker"
    assert list(figure.layout.yaxis.ticktext) == ["T4 (anchor)", "H100", "K80"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first row is on top"


def test_a_limit_is_a_line_where_it_is_in_sight():
    assert bar_chart(BARS, "", name="", limit=5.0).layout.shapes[0].x0 == 5.0
    assert not bar_chart(BARS, "", name="", limit=50.0).layout.shapes
    assert bar_chart([], "", name="").layout.xaxis.range[1] > 0


def test_the_legend_names_what_is_there():
    words = legend(BARS, {color: basis for basis, color in COLORS.items()}, "90% interval")
    assert GIVEN in words and ESTIMATED in words and DERIVED not in words and "90%" in words
