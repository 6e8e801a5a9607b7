"""The scatter chart of time against cost: points by basis, the frontier, intervals, limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.latency import Basis
from tests.made.step_times import OFFERS, ROWS, planned
from ui.charts.bars import COLORS
from ui.charts.trade_off import trade_off
from ui.words import ESTIMATED, MEASURED

#: By name: 2 h for $1, 1 h for $1.50, 0.5 h for $2.40, 1.5 h for $3.
PLANS = {offer.name: planned(row, offer) for row, offer in zip(ROWS, OFFERS, strict=True)}
BEST = ("slow", "middle", "fast")


def drawn(*plans, **limits: float):
    figure = trade_off(plans or [*PLANS.values()], BEST, **limits)
    return figure, {trace.name: trace for trace in figure.data}


def test_the_frontier_joins_its_plans_by_time_and_points_lie_on_their_intervals():
    figure, traces = drawn()
    (line,) = [trace for name, trace in traces.items() if name.startswith("Pareto frontier")]
    assert list(line.x) == pytest.approx([30, 60, 120]) and list(line.y) == pytest.approx([2.4, 1.5, 1])
    points = traces[MEASURED]
    sizes = dict(zip(points.customdata, points.marker.size, strict=True))
    assert sizes == {"slow": 13, "middle": 13, "fast": 13, "beaten": 9}
    assert [bool(text) for text in points.text] == [True, True, True, False]
    span, ends = traces["90% prediction interval"], PLANS["slow"].interval
    assert list(span.x[:3]) == pytest.approx([ends.low_s / 60, ends.high_s / 60, None])
    assert list(span.y[:3]) == pytest.approx([ends.low_usd, ends.high_usd, None])
    assert figure.layout.meta.startswith("Time against cost")


def test_points_have_the_color_of_their_basis_and_names_stay_text():
    hostile = replace(PLANS["slow"], offer=replace(PLANS["slow"].offer, gpu="<b>x&y</b>"), basis=Basis.TRANSFERRED)
    _, traces = drawn(hostile, PLANS["fast"])
    assert traces[ESTIMATED].marker.color == COLORS[ESTIMATED] and traces[MEASURED].marker.color == COLORS[MEASURED]
    (label,) = traces[ESTIMATED].text
    assert "<" not in label and "&lt;b>x&amp;y" in label


def test_limits_are_drawn_with_their_names_where_they_are_in_sight():
    figure, _ = drawn(deadline_s=5_400, budget_usd=1000)
    assert [note.text.strip() for note in figure.layout.annotations] == ["deadline"]
    assert figure.layout.shapes[0].x0 == figure.layout.shapes[0].x1 == 90
    figure, _ = drawn(deadline_s=10_000, budget_usd=0.5)
    assert sorted(note.text.strip() for note in figure.layout.annotations) == ["budget", "deadline"]
