"""The figures that several pages show, as pure functions of records."""

from __future__ import annotations

from ui.charts.style import instance_colours


def test_every_instance_has_its_own_colour():
    assert len(set(instance_colours(["a", "b", "c", "d"]).values())) == 4
