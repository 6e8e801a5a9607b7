"""Labels meet neither each other nor a marker, and stand in the plot."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.charts.labels import Labelled, PlacedLabel, _around, _Box, place_labels, spread

WIDTH, HEIGHT = 290.0, 330.0
POINTS = st.lists(
    st.builds(
        Labelled,
        st.floats(0, WIDTH),
        st.floats(0, HEIGHT),
        st.just(("p4d.24xlarge", "A100")) | st.just(("g5.xlarge", "A10G")),
    ),
    max_size=16,
)


def box_of(point: Labelled, label: PlacedLabel) -> _Box:
    """Where plotly draws it, worked out from the name of its place."""
    wide, gap = len(label.text) * 6.6, (13 + 6) / 2
    down, right = label.place.split()
    x = point.x + {"left": -1, "center": 0, "right": 1}[right] * (wide / 2 + gap)
    up = 14 / 2 + (13 / 2 if right == "center" else 3)
    return _around(x, point.y + {"top": -up, "middle": 0, "bottom": up}[down], wide, 14)


@given(POINTS)
def test_no_label_meets_another_a_marker_or_the_edge(points):
    placed = [(point, label) for point, label in zip(points, place_labels(points, WIDTH, HEIGHT), strict=True)]
    boxes = [box_of(point, label) for point, label in placed if label.text]
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    assert all(box.lies_in(WIDTH, HEIGHT) for box in boxes)
    for point, label in placed:
        if label.text:
            others = [other for other in points if other is not point]
            assert not any(box_of(point, label).meets(_around(one.x, one.y, 13, 13)) for one in others)


def test_a_shorter_text_is_taken_where_the_other_has_no_room():
    lone = Labelled(30, 30, ("p4d.24xlarge", "A100"))
    assert place_labels([lone], 120, 60)[0].text == "p4d.24xlarge"
    assert place_labels([lone], 80, 60)[0].text == "A100"
    assert place_labels([lone], 40, 30)[0].text == ""
    # A line is met only where there is no other room.
    point = Labelled(100, 100, ("g5.xlarge",))
    assert place_labels([point], WIDTH, HEIGHT)[0].place == "middle right"
    assert place_labels([point], WIDTH, HEIGHT, across_x=[130])[0].place == "middle left"


@given(st.lists(st.floats(0, 300), max_size=15))
def test_spread_keeps_the_order_and_the_distance(positions):
    found = spread(positions, 15, 0, 300)
    order = sorted(range(len(positions)), key=positions.__getitem__)
    assert all(found[after] - found[before] >= 15 - 1e-6 for before, after in pairwise(order))


def test_spread_leaves_alone_what_is_far_enough():
    assert spread([10, 40, 90], 15, 0, 300) == [10, 40, 90]
    assert spread([100, 100, 100], 15, 0, 300) == pytest.approx([85, 100, 115])
    assert spread([2, 3], 15, 0, 300) == [0, 15]
