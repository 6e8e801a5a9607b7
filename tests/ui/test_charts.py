"""Charts: each GPU's look, bars in their places, curves over sizes, time against cost."""

from __future__ import annotations

import dataclasses
import math
from itertools import combinations

import numpy as np
import plotly.graph_objects as go
import pytest
from msgspec.structs import replace
from streamlit.testing.v1 import AppTest

from pages.compare.profiles import PROFILE_COLORS
from pages.predict.results import trade_off
from profet_core.latency import Basis, BasisWord
from profet_core.training.plans import Period
from profet_profiles.units import format_time
from tests.made.step_times import OFFERS, ROWS, plans_of
from ui.bars import Bar, axis_end
from ui.charts import COLORS
from ui.curves import LATENCY, Curve, Look, Shown, curves, size_axis, value_at


def checked(figure) -> go.Figure:
    """The figure as plotly reads it, which checks every part."""
    return go.Figure(figure.to_dict())


#: Streamlit's backgrounds, light and dark.
BACKGROUNDS = ("#ffffff", "#0e1117")
#: Linear RGB as it is seen without one kind of cone; Machado, Oliveira and Fernandes (2009), severity 1.
VISION = {
    "all cones": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no middle": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
#: CIE76 distance at which two marks beside each other are distinguished at a glance.
TOLD_APART = 15
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color: str) -> np.ndarray:
    values = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(linear(color) @ TO_XYZ[1] for color in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    scaled = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISION)
def test_colors_are_told_apart_with_any_color_vision(vision):
    seen = {color: lab(np.array(VISION[vision]) @ linear(color)) for color in PROFILE_COLORS}
    for one, other in combinations(PROFILE_COLORS, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= TOLD_APART, (one, other)


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_colors_stand_out_from_the_background(background):
    for color in PROFILE_COLORS:
        assert contrast(color, background) >= 3, color


@pytest.mark.parametrize("vision", VISION)
def test_colors_of_a_basis_are_distinct_with_any_color_vision_and_from_the_background(vision):
    seen = {color: lab(np.array(VISION[vision]) @ linear(color)) for color in COLORS.values()}
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 12, (one, other)
    assert all(contrast(color, background) >= 3 for color in seen for background in BACKGROUNDS)


def test_the_axis_stays_at_the_usual_values():
    def end(longest: float) -> float:
        return axis_end([Bar(text="", value=longest / 2, high=longest, usual=70, usual_end=100)])

    assert [end(longest) for longest in (13, 60, 105, 120, 170, 10)] == pytest.approx([100, 100, 100, 150, 225, 12.5])
    assert axis_end([Bar(text="", value=3.0), Bar(text="does not fit")]) == 3.0 and axis_end([]) > 0


def test_the_legend_names_what_is_there():
    def page() -> None:
        from profet_core.latency import BasisWord
        from ui.charts import COLORS, show_legend

        shown = {COLORS[BasisWord.MEASURED], COLORS[BasisWord.ESTIMATED]}
        show_legend(shown, {color: basis for basis, color in COLORS.items()}, "90% interval")

    (words,) = (text.value for text in AppTest.from_function(page, default_timeout=30).run().markdown)
    assert BasisWord.MEASURED in words and BasisWord.ESTIMATED in words and "90%" in words
    assert BasisWord.SCALED not in words


SIZES = (16, 64, 256)
BATCH = size_axis("batch", SIZES)
TIME = Shown("Training time", format_time, in_time=True)


def curve(gpu: str = "L4", factor: float = 1.0, **others: object) -> Curve:
    values = [factor * size for size in SIZES]
    return Curve(**({"label": gpu, "look": Look("#0f8fd1"), "sizes": SIZES, "values": values} | others))


def lines(figure) -> list:
    return [trace for trace in figure.data if trace.mode == "lines" and trace.hovertemplate]


def test_what_does_not_fit_is_pale_and_dotted_from_the_largest_that_does():
    figure = checked(curves([curve(largest_fit=128)], LATENCY, BATCH))
    inside, outside = lines(figure)
    assert (list(inside.x), list(inside.y)) == ([16, 64, 128], pytest.approx([16, 64, 128]))
    assert (list(outside.x), outside.line.dash) == ([128, 256], "dot") and outside.opacity < 1
    assert "may not fit" in outside.customdata[-1] and "may not fit" not in inside.customdata[-1]
    (mark,) = [trace for trace in figure.data if "largest that fits" in str(trace.text)]
    assert (list(mark.x), list(mark.y)) == ([128], pytest.approx([128]))


@pytest.mark.parametrize(("limit", "strokes"), [(None, 1), (256, 1), (8, 1), (16, 2)])
def test_a_curve_that_fits_or_does_not_fit_at_all_is_one_line(limit, strokes):
    drawn = lines(checked(curves([curve(largest_fit=limit)], LATENCY, BATCH)))
    assert len(drawn) == strokes
    assert (drawn[-1].line.dash == "dot") is (limit in (8, 16))


def test_a_curve_has_a_band_is_straight_in_the_logarithms_and_may_have_a_linear_axis():
    ends = [(value / 2, value * 8) for value in (16, 64, 256)]
    plain = checked(curves([curve()], LATENCY, BATCH))
    assert not [trace for trace in plain.data if trace.fill]
    figure = checked(curves([curve(ends=ends, chosen=True)], LATENCY, BATCH))
    (band,) = [trace for trace in figure.data if trace.fill]
    assert list(band.x) == [16, 64, 256, 256, 64, 16] and list(band.y) == [8, 32, 128, 2048, 512, 128]
    row = Curve(label="L4", look=Look("#0f8fd1"), sizes=(16, 64), values=(1, 4))
    assert [value_at(row, size) for size in (16, 32, 64)] == pytest.approx([1, 2, 4])
    figure = checked(curves([curve()], TIME, size_axis("pixels", SIZES, log=False), log=False, at=64))
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("linear", "linear")
    assert figure.layout.yaxis.rangemode == "tozero" and figure.layout.yaxis.title.text == "Training time (s)"
    assert figure.layout.shapes[0].x0 == 64 and figure.layout.xaxis.title.text == "Image size (px)"


def test_names_stand_at_the_ends_of_their_lines_and_of_equal_lines_below_each_other():
    rows = [curve("A"), curve("B"), curve("<b>C</b>", factor=4.0, chosen=True)]
    figure = checked(curves(rows, LATENCY, BATCH, labeled=True))
    notes = {note.text: note for note in figure.layout.annotations}
    assert [*notes] == ["<b>&lt;b>C&lt;/b></b>", "A", "B"] and notes["A"].y == notes["B"].y == math.log10(256)
    assert notes["B"].ay - notes["A"].ay == 15 and not figure.layout.showlegend
    low, high = figure.layout.yaxis.range
    assert low < math.log10(16) and high > math.log10(1_024)


#: By name: 2 h for $1, 1 h for $1.50, 0.5 h for $2.40, 1.5 h for $3.
PLANS = {plan.label: plan for plan in plans_of(*zip(ROWS, OFFERS, strict=True))}
BEST = ("slow", "middle", "fast")


def drawn(*plans, **limits: float):
    plans = plans or [*PLANS.values()]
    figure = checked(trade_off([plan.per(Period.TRAINING) for plan in plans], BEST, **limits))
    return figure, {trace.name: trace for trace in figure.data}


def test_the_frontier_joins_its_plans_by_time_and_points_lie_on_their_intervals():
    figure, traces = drawn()
    (line,) = [trace for name, trace in traces.items() if name.startswith("Pareto frontier")]
    assert list(line.x) == pytest.approx([30, 60, 120]) and list(line.y) == pytest.approx([2.4, 1.5, 1])
    points = traces[BasisWord.PREDICTED]
    sizes = dict(zip(points.customdata, points.marker.size, strict=True))
    assert sizes == {"slow": 13, "middle": 13, "fast": 13, "beaten": 9}
    assert [bool(text) for text in points.text] == [True, True, True, False]
    span, ends = traces["90% prediction interval"], PLANS["slow"].interval
    assert list(span.x[:3]) == pytest.approx([ends.low_s / 60, ends.high_s / 60, None])
    assert list(span.y[:3]) == pytest.approx([ends.low_usd, ends.high_usd, None])
    assert figure.layout.meta.startswith("Time against cost")


def test_points_have_the_color_of_their_basis_names_stay_text_and_limits_in_sight_are_drawn():
    hostile = dataclasses.replace(ROWS[0], basis=Basis.TRANSFERRED), replace(OFFERS[0], gpu="<b>x&y</b>")
    _, traces = drawn(*plans_of(hostile, (ROWS[2], OFFERS[2])))
    for word in (BasisWord.ESTIMATED, BasisWord.PREDICTED):
        assert traces[word].marker.color == COLORS[word]
    (label,) = traces[BasisWord.ESTIMATED].text
    assert "<" not in label and "&lt;b>x&amp;y" in label
    figure, _ = drawn(deadline_s=5_400, budget_usd=1000)
    assert [line.label.text for line in figure.layout.shapes] == ["deadline"]
    assert figure.layout.shapes[0].x0 == figure.layout.shapes[0].x1 == 90
    figure, _ = drawn(deadline_s=10_000, budget_usd=0.5)
    assert [line.label.text for line in figure.layout.shapes] == ["deadline", "budget"]
