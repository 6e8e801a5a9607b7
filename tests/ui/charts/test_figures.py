"""The figures that several pages show, as pure functions of records."""

from __future__ import annotations

from ui.charts.bars import Bar, bars
from ui.charts.style import instance_colours


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


def test_every_instance_has_its_own_colour():
    assert len(set(instance_colours(["a", "b", "c", "d"]).values())) == 4
