"""Values over batch size, image size, GPUs or threads, as curves with bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.latency import LEVEL
from profet_core.training.plans import Plan
from profet_profiles.units import MS_PER_S, format_ms, shared_time_unit
from ui.charts import (
    COLORS,
    GRAY,
    RED,
    Figure,
    Part,
    framed,
    line_at,
    no_markup,
    show_legend,
    text_color,
    value_axis,
)


class Look(NamedTuple):
    """By plotly's names: a color, which says what values are based on, and a dash, which tells curves apart."""

    color: str
    dash: str = "solid"


class Shown(Struct, frozen=True):
    """A kind of value.

    `title` is its axis's, `prefix` stands before each tick, and `words` writes a value; seconds (`in_time`) are drawn
    in one unit that suits them.
    """

    title: str
    words: Callable[[float], str]
    prefix: str = ""
    in_time: bool = False

    def axis(self, values: Sequence[float], *, log: bool = True) -> tuple[float, Part]:
        """Return the unit that values are drawn in, and their axis, logarithmic or from zero."""
        unit, title = 1.0, self.title
        if self.in_time and values:
            suits = shared_time_unit(values)
            unit, title = suits.seconds, f"{title} ({suits.name})"
        if not log:
            even: Part = {"type": "linear", "rangemode": "tozero", "tickformat": ",~r", "tickprefix": self.prefix}
            return unit, value_axis(title, even)
        drawn = [value / unit for value in values] or [1.0]
        powers = range(math.floor(math.log10(min(drawn))) - 1, math.ceil(math.log10(max(drawn))) + 2)
        ticks = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
        texts = [f"{self.prefix}{tick:,.12g}" for tick in ticks]
        return unit, value_axis(title, {"type": "log", "tickvals": ticks, "ticktext": texts})


def value_of(plan: Plan, shows: str) -> tuple[float, tuple[float, float] | None]:
    """Milliseconds per step, images per second, seconds or US dollars, with both ends of its interval if it has one."""
    step, total, per_s = plan.row.interval, plan.interval, plan.batch_size * MS_PER_S
    value, ends = {
        "latency": (plan.latency_ms, step and (step.low_ms, step.high_ms)),
        "images": (plan.images_per_s, step and (per_s / step.high_ms, per_s / step.low_ms)),
        "time": (plan.total_s, total and total.seconds),
        "cost": (plan.total_usd, total and total.usd),
    }[shows]
    return value, ends


def count_axis(title: str, low: float, high: float, ticks: Sequence[int], *, log: bool = True) -> Part:
    """Return an axis from `low` to `high` of what is counted, such as GPUs: ticks at these numbers alone."""
    # A little beyond: Plotly leaves out a tick that rounding puts outside.
    kind, ends = ("log", [math.log10(low), math.log10(high) + 1e-3]) if log else ("linear", [low, high])
    named: Part = {"tickvals": list(ticks), "ticktext": [f"{tick:,}" for tick in ticks], "hoverformat": ",d"}
    return value_axis(title, {"type": kind, "range": ends, "showgrid": False, **named})


def size_axis(axis: str, sizes: Sequence[int], *, log: bool = True) -> Part:
    """Return an axis of batch or image sizes."""
    title, ticks = _SIZES[axis]
    even = range(32, max(sizes) + 1, 32 if max(sizes) <= 256 else 160)
    return count_axis(title, min(sizes), max(sizes), ticks if log else even, log=log)


LATENCY = Shown("Latency (ms/step)", format_ms)
_SIZES = {
    "batch": ("Batch size", (16, 32, 64, 128, 256)),
    "pixels": ("Image size (px)", (32, 64, 128, 256, 512, 1024)),
}
#: Pixels, of them around the plot, and how much is seen of what lies beyond a GPU's memory.
_HEIGHT, _AROUND_PX, _PALE = 420, 72, 0.45
#: Pixels from the end of a line to its label, of a label's line and letter; letters of the longest label.
_LEADER_PX, _LINE_PX, _LETTER_PX, _MAX_LETTERS = 14, 15, 6.4, 18
#: With more curves than these, only the chosen one has a band: bands over each other say nothing.
_MAX_BANDS, _BAND = 4, 0.22

Point = tuple[float, float]


class Curve(Struct, frozen=True):
    """Values over sizes.

    `values` are one per size, as the chart's `Shown` has them, drawn as `marks` or a line; `ends` are of each one's
    interval, drawn as a band. `largest_fit` is the largest size that fits in memory; None if none is known not to.
    """

    label: str
    look: Look
    sizes: Sequence[int]
    values: Sequence[float]
    ends: Sequence[tuple[float, float]] | None = None
    largest_fit: int | None = None
    chosen: bool = False
    marks: bool = False


def curves(
    rows: Sequence[Curve],
    shown: Shown,
    x: Part,
    *,
    log: bool = True,
    at: float | None = None,
    crossed: tuple[Point, str] | None = None,
    labeled: bool = False,
) -> Figure:
    """Values over size; what does not fit in memory is pale and dotted.

    Both axes are logarithmic (`log`) or linear; a line marks the chosen size, `at`, and a cross the point `crossed`,
    which has a name in the legend. `labeled`: names stand at the ends of the lines, in place of a legend.
    """
    banded = [row for row in rows if row.ends and (row.chosen or len(rows) <= _MAX_BANDS)]
    values = [value for row in rows for value in row.values]
    unit, y = shown.axis(values, log=log)
    if shown.in_time:
        shown = replace(shown, words=shared_time_unit(values).words)
    bands = [part for row in banded for part in _band(row, unit)]
    traces = [*bands, *(part for row in rows for part in _line(row, shown, unit))]
    if crossed is not None:
        (size, value), name = crossed
        traces.append(_marks(size, value / unit, {"symbol": "x", "size": 13, "color": RED}) | {"name": name})
    names: Part = {}
    if labeled:
        drawn = [*values, *(end for row in banded for ends in row.ends or () for end in ends)]
        low, high = min(drawn) / unit, max(drawn) / unit
        y["range"] = [math.log10(low) - 0.05, math.log10(high) + 0.05] if log else [0, 1.05 * high]
        notes, room_px = _end_labels(rows, unit, x, y, log=log)
        names = {"annotations": notes, "margin": {"r": room_px, "t": 12}, "showlegend": False}
    return framed(
        traces,
        x=x,
        y=y,
        height=_HEIGHT,
        name=f"{shown.title} over {x['title']['text'].lower()}",
        layout={
            "hovermode": "x unified",
            "shapes": [] if at is None else [line_at(x=at, line={"color": GRAY, "width": 1, "dash": "dot"})],
            **names,
        },
    )


def _end_labels(rows: Sequence[Curve], unit: float, x: Part, y: Part, *, log: bool) -> tuple[list[Part], float]:
    """Each curve's name where its line ends, and the room they need; equal lines have their names below each other."""
    low, high = y["range"]
    px = (_HEIGHT - _AROUND_PX) / (high - low)
    ends = [(math.log10(row.values[-1] / unit) if log else row.values[-1] / unit, row) for row in rows]
    notes, above = list[Part](), math.inf
    # From the top down. Where there is no more room below, all above move up.
    tops = list[float]()
    ends = sorted(ends, key=lambda end: -end[0])
    for value, _ in ends:
        above = min(above - _LINE_PX, px * (value - low))
        tops.append(above)
    floor = 0.0
    for place in range(len(tops) - 1, -1, -1):
        tops[place] = max(tops[place], floor)
        floor = tops[place] + _LINE_PX
    for (value, row), top in zip(ends, tops, strict=True):
        name = row.label if len(row.label) <= _MAX_LETTERS else f"{row.label[: _MAX_LETTERS - 1]}…"
        notes.append(
            {
                **{"x": x["range"][1], "y": value, "ax": _LEADER_PX, "ay": px * (value - low) - top},
                **{"text": f"<b>{no_markup(name)}</b>" if row.chosen else no_markup(name), "xanchor": "left"},
                **{"showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": row.look.color, "standoff": 2},
                "font": {"color": text_color()},
            }
        )
    longest = max(min(len(row.label), _MAX_LETTERS) for row in rows)
    return notes, 2 * _LEADER_PX + _LETTER_PX * longest


def show_basis_legend(rows: Sequence[Curve], level: float | None) -> None:
    """Show what the colors of curves mean, and their bands and marks."""
    shown = {row.look.color for row in rows}
    of_one = " of the bold line" if len(rows) > _MAX_BANDS else ""
    more = [f"░ {level or LEVEL:.0%} prediction interval{of_one}"]
    if any(row.largest_fit is not None for row in rows):
        more += ["┃ largest that fits", "┄ may not fit in memory"]
    show_legend(shown, {color: f"{word}: {word.words}" for word, color in COLORS.items()}, *more)


def value_at(row: Curve, size: float) -> float:
    """Return the curve's value at a size between its own, on the straight line between their logarithms."""
    return math.exp(np.interp(math.log(size), np.log(row.sizes), np.log(row.values)))


def _band(row: Curve, unit: float) -> Iterator[Part]:
    """Yield the area between both ends of an interval at each place, the curve's '#rrggbb' seen through."""
    if row.ends:
        red, green, blue = (int(row.look.color[start : start + 2], 16) for start in (1, 3, 5))
        yield {
            "type": "scatter",
            "x": [*row.sizes, *reversed(row.sizes)],
            "y": [low / unit for low, _ in row.ends] + [high / unit for _, high in reversed(row.ends)],
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "fillcolor": f"rgba({red},{green},{blue},{_BAND})",
            "hoverinfo": "skip",
            "showlegend": False,
        }


def _line(row: Curve, shown: Shown, unit: float) -> Iterator[Part]:
    """Yield the curve as far as it fits, with a mark there, and beyond."""
    points, limit = list(zip(row.sizes, row.values, strict=True)), row.largest_fit
    inside = [point for point in points if limit is None or point[0] <= limit]
    outside = points[len(inside) :]
    edge = [(limit, value_at(row, limit))] if limit is not None and inside and outside else []
    if inside:
        yield _stroke(row, [*inside, *edge], shown, unit, dash=row.look.dash)
    if outside:
        beyond = _stroke(row, [*edge, *outside], shown, unit, dash="dot", note=" (may not fit)")
        yield beyond | {"opacity": _PALE, "showlegend": not inside}
    for size, value in edge:
        marker = {"symbol": "line-ns-open", "size": 14, "color": row.look.color, "line": {"width": 3}}
        text = f"{no_markup(row.label)}: largest that fits"
        yield _marks(size, value / unit, marker) | {"text": [text], "hovertemplate": "%{text}", "showlegend": False}


def _stroke(row: Curve, points: Sequence[Point], shown: Shown, unit: float, *, dash: str, note: str = "") -> Part:
    name, color = no_markup(row.label), row.look.color
    return {
        "type": "scatter",
        "name": name,
        "showlegend": True,
        "x": [size for size, _ in points],
        "y": [value / unit for _, value in points],
        "customdata": [f"{name}: {shown.words(value)}{note}" for _, value in points],
        "mode": "markers" if row.marks else "lines",
        "line": {"color": color, "width": 4 if row.chosen else 2, "dash": dash},
        "marker": {"symbol": "diamond-open", "size": 11, "color": color, "line": {"width": 2}},
        "cliponaxis": not row.marks,
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _marks(size: float, value: float, marker: Part) -> Part:
    return {"type": "scatter", "x": [size], "y": [value], "mode": "markers", "marker": marker, "hoverinfo": "skip"}
