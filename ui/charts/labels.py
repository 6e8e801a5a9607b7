"""Places labels beside points and at the ends of lines, so that none hides another, on the narrowest screen too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Pixels of the narrowest plot: a phone of 390, without its margins and the axis. On a wider one labels only part.
NARROW_PLOT_WIDTH = 290.0
_LETTER_WIDTH, _LINE_HEIGHT, _MARKER, _GAP = 6.6, 14.0, 13.0, 6.0

#: Plotly's names of the places around a point, and where the label's middle is from it, in halves of its size. A range
#: runs from bottom left to top right: these come last.
_PLACES: dict[str, tuple[int, int]] = {
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "bottom right": (1, 1),
    "top left": (-1, -1),
    "top center": (0, -1),
    "bottom center": (0, 1),
    "top right": (1, -1),
    "bottom left": (-1, 1),
}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A point in pixels from the top left, and its label: the first of the texts for which there is room."""

    x: float
    y: float
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A text and plotly's name of its place; empty where there is no room for it."""

    text: str = ""
    place: str = "middle right"

    @property
    def spaced(self) -> str:
        """The text with a little room to the marker beside it, which plotly leaves none."""
        space = "\N{NO-BREAK SPACE}"
        return f"{space * self.place.endswith('right')}{self.text}{space * self.place.endswith('left')}"


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def lies_in(self, width: float, height: float) -> bool:
        return self.left >= 0 and self.top >= 0 and self.right <= width and self.bottom <= height


def place_labels(
    points: Sequence[Labelled],
    width: float,
    height: float,
    *,
    across_x: Sequence[float] = (),
    across_y: Sequence[float] = (),
) -> list[PlacedLabel]:
    """A label a point: none meets another, a marker or the edge; the first points choose first.

    Parameters
    ----------
    across_x, across_y : where lines cross the whole plot, down and from side to side; met only where there is no other
        room.
    """
    lines = [_Box(x - 1, 0, x + 1, height) for x in across_x] + [_Box(0, y - 1, width, y + 1) for y in across_y]
    markers = [_around(point.x, point.y, _MARKER, _MARKER) for point in points]
    taken: list[_Box] = []
    found = []
    for number, point in enumerate(points):
        others = [*taken, *markers[:number], *markers[number + 1 :]]
        placed = _place(point, [*others, *lines], width, height) or _place(point, others, width, height)
        found.append(placed[0] if placed else PlacedLabel())
        taken += [placed[1]] if placed else []
    return found


def spread(positions: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Positions moved as little as needed to be `least` apart, in their order, from `low` to `high` where they fit.

    >>> spread([10, 12, 50], 14, 0, 100)
    [4.0, 18.0, 50]
    """
    order = sorted(range(len(positions)), key=positions.__getitem__)
    found = _apart([positions[index] for index in order], least)
    for place in range(len(found)):
        found[place] = max(found[place], low if place == 0 else found[place - 1] + least)
    for place in reversed(range(len(found))):
        found[place] = min(found[place], high if place == len(found) - 1 else found[place + 1] - least)
    back = dict(zip(order, found, strict=True))
    return [back[index] for index in range(len(positions))]


def _apart(ascending: Sequence[float], least: float) -> list[float]:
    """Those that are too close stand evenly around their middle."""
    groups: list[list[float]] = []
    for position in ascending:
        groups.append([position])
        while len(groups) > 1 and _even(groups[-1], least)[0] - _even(groups[-2], least)[-1] < least:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [position for group in groups for position in _even(group, least)]


def _even(group: Sequence[float], least: float) -> list[float]:
    if len(group) == 1:
        return list(group)
    start = sum(group) / len(group) - least * (len(group) - 1) / 2
    return [start + place * least for place in range(len(group))]


def _place(point: Labelled, others: Sequence[_Box], width: float, height: float) -> tuple[PlacedLabel, _Box] | None:
    for text in point.texts:
        wide = len(text) * _LETTER_WIDTH
        for name, (right, down) in _PLACES.items():
            x = point.x + right * (wide + _MARKER + _GAP) / 2
            # Beside a corner of the marker as plotly sets it: close above or below.
            y = point.y + down * (_LINE_HEIGHT + (_MARKER if right == 0 else 6)) / 2
            box = _around(x, y, wide, _LINE_HEIGHT)
            if box.lies_in(width, height) and not any(box.meets(other) for other in others):
                return PlacedLabel(text, name), box
    return None


def _around(x: float, y: float, width: float, height: float) -> _Box:
    return _Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
