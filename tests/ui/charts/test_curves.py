"""Curves over batch or pixel size as a figure of records."""

from __future__ import annotations

import math

import pytest

from ui.charts.curves import SHOWN, Curve, curves, value_at
from ui.charts.gpu_look import gpu_look
from ui.charts.style import chart_name

SIZES = (16, 64, 256)


def curve(gpu: str = "L4", factor: float = 1.0, **others: object) -> Curve:
    values = [factor * size for size in SIZES]
    return Curve(**({"label": gpu, "gpu": gpu, "sizes": SIZES, "values": values} | others))


def lines(figure) -> list:
    return [trace for trace in figure.data if trace.mode == "lines" and trace.hovertemplate]


def test_a_curve_has_its_gpu_s_look_and_its_name_at_its_end():
    figure = curves([curve("L4"), curve("Tesla K80", 4)], "batch", "latency")
    one, other = lines(figure)
    assert (one.line.color, other.line.dash) == (gpu_look("L4").colour, gpu_look("Tesla K80").dash)
    names = {text.text.partition("</span> ")[2]: text for text in figure.layout.annotations}
    assert set(names) == {"L4", "Tesla K80"}
    assert gpu_look("L4").colour in names["L4"].text and "■" in names["Tesla K80"].text
    low, high = figure.layout.yaxis.range
    assert names["L4"].y == pytest.approx((math.log10(256) - low) / (high - low))


def test_names_of_lines_that_end_close_together_stand_apart_and_equal_lines_have_one():
    rows = [curve("L4"), curve("A10G", 1.01), curve("L4")]
    texts = curves(rows, "batch", "latency").layout.annotations
    assert len(texts) == 2
    assert abs(texts[0].y - texts[1].y) * 348 >= 15 - 1e-6


def test_what_does_not_fit_is_pale_and_dotted_from_the_largest_that_does():
    figure = curves([curve(largest_fit=128)], "batch", "latency")
    inside, outside = lines(figure)
    assert (list(inside.x), list(inside.y)) == ([16, 64, 128], pytest.approx([16, 64, 128]))
    assert (list(outside.x), outside.line.dash) == ([128, 256], "dot") and outside.opacity < 1
    assert "does not fit" in outside.customdata[-1] and "does not fit" not in inside.customdata[-1]
    (mark,) = [trace for trace in figure.data if "largest that fits" in str(trace.text)]
    assert (list(mark.x), list(mark.y)) == ([128], pytest.approx([128]))


@pytest.mark.parametrize(("limit", "strokes"), [(None, 1), (256, 1), (1000, 1), (8, 1), (16, 2)])
def test_a_curve_that_fits_or_does_not_fit_at_all_is_one_line(limit, strokes):
    found = lines(curves([curve(largest_fit=limit)], "batch", "latency"))
    assert len(found) == strokes
    assert (found[-1].line.dash == "dot") is (limit in (8, 16))


def test_only_the_chosen_curve_has_a_band_and_the_axis_holds_it():
    ends = [(value / 2, value * 8) for value in (16, 64, 256)]
    plain = curves([curve(ends=ends)], "batch", "latency")
    assert not [trace for trace in plain.data if trace.fill]
    figure = curves([curve(ends=ends, chosen=True)], "batch", "latency")
    (band,) = [trace for trace in figure.data if trace.fill]
    assert list(band.x) == [16, 64, 256, 256, 64, 16] and list(band.y) == [8, 32, 128, 2048, 512, 128]
    assert 10 ** figure.layout.yaxis.range[1] > 2048


def test_the_axis_has_the_powers_of_two_and_hovering_tells_every_curve():
    figure = curves([curve("L4"), curve("A10G", 2)], "batch", "latency")
    assert not figure.layout.shapes and figure.layout.hovermode == "x unified"
    assert list(figure.layout.xaxis.tickvals) == [16, 32, 64, 128, 256]
    assert list(curves([curve()], "pixels", "latency").layout.xaxis.ticktext) == ["32", "64", "128", "256"]


@pytest.mark.parametrize(
    ("shows", "value", "text"),
    [("latency", 64, "64.0 ms"), ("images", 64, "64.0"), ("time", 725, "12 min 5 s"), ("cost", 0.17, "$0.17")],
)
def test_values_are_written_in_their_unit(shows, value, text):
    row = Curve(label="L4", gpu="L4", sizes=(16, 256), values=(value, value))
    figure = curves([row], "batch", shows)
    assert lines(figure)[0].customdata[0] == f"L4: {text}"
    assert chart_name(figure) == f"{SHOWN[shows].title} over batch size, a curve each GPU"


def test_between_its_sizes_a_curve_is_straight_in_the_logarithms():
    row = Curve(label="L4", gpu="L4", sizes=(16, 64), values=(1, 4))
    assert [value_at(row, size) for size in (16, 32, 64)] == pytest.approx([1, 2, 4])


def test_a_name_stays_text():
    figure = curves([curve(label="<b>own</b>", largest_fit=64)], "batch", "latency")
    shown = str([trace.customdata for trace in figure.data]) + figure.layout.annotations[0].text
    assert "&lt;b>own&lt;/b>" in shown and "<b>own" not in shown
