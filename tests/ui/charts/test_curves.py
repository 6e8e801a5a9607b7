"""Curves over batch or pixel size as a figure of records."""

from __future__ import annotations

import pytest

from profet_core.units import format_time
from ui.charts.curves import LATENCY, Curve, Shown, curves, size_axis, value_at
from ui.charts.gpu_look import gpu_look

SIZES = (16, 64, 256)
BATCH = size_axis("batch", SIZES)
TIME = Shown("Training time", format_time, in_time=True)


def curve(gpu: str = "L4", factor: float = 1.0, **others: object) -> Curve:
    values = [factor * size for size in SIZES]
    return Curve(**({"label": gpu, "look": gpu_look(gpu), "sizes": SIZES, "values": values} | others))


def lines(figure) -> list:
    return [trace for trace in figure.data if trace.mode == "lines" and trace.hovertemplate]


def test_what_does_not_fit_is_pale_and_dotted_from_the_largest_that_does():
    figure = curves([curve(largest_fit=128)], LATENCY, BATCH)
    inside, outside = lines(figure)
    assert (list(inside.x), list(inside.y)) == ([16, 64, 128], pytest.approx([16, 64, 128]))
    assert (list(outside.x), outside.line.dash) == ([128, 256], "dot") and outside.opacity < 1
    assert "doesn't fit" in outside.customdata[-1] and "doesn't fit" not in inside.customdata[-1]
    (mark,) = [trace for trace in figure.data if "largest that fits" in str(trace.text)]
    assert (list(mark.x), list(mark.y)) == ([128], pytest.approx([128]))


@pytest.mark.parametrize(("limit", "strokes"), [(None, 1), (256, 1), (8, 1), (16, 2)])
def test_a_curve_that_fits_or_does_not_fit_at_all_is_one_line(limit, strokes):
    found = lines(curves([curve(largest_fit=limit)], LATENCY, BATCH))
    assert len(found) == strokes
    assert (found[-1].line.dash == "dot") is (limit in (8, 16))


def test_a_curve_with_ends_has_a_band_and_the_axis_holds_it():
    ends = [(value / 2, value * 8) for value in (16, 64, 256)]
    plain = curves([curve()], LATENCY, BATCH)
    assert not [trace for trace in plain.data if trace.fill]
    figure = curves([curve(ends=ends, chosen=True)], LATENCY, BATCH)
    (band,) = [trace for trace in figure.data if trace.fill]
    assert list(band.x) == [16, 64, 256, 256, 64, 16] and list(band.y) == [8, 32, 128, 2048, 512, 128]


def test_between_its_sizes_a_curve_is_straight_in_the_logarithms():
    row = Curve(label="L4", look=gpu_look("L4"), sizes=(16, 64), values=(1, 4))
    assert [value_at(row, size) for size in (16, 32, 64)] == pytest.approx([1, 2, 4])


def test_a_linear_axis_starts_at_zero_and_marks_the_chosen_size():
    figure = curves([curve()], TIME, size_axis("pixels", SIZES, log=False), log=False, at=64)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("linear", "linear")
    assert figure.layout.yaxis.rangemode == "tozero" and figure.layout.yaxis.title.text == "Training time (s)"
    assert figure.layout.shapes[0].x0 == 64 and figure.layout.xaxis.title.text == "Image size (pixels)"
