"""Latency or cost over batch or image size: one curve per GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profet_core.units import format_ms, format_significant, format_time, format_usd
from ui.charts.gpu_look import gpu_look
from ui.charts.scales import Shown, count_axis
from ui.charts.style import GREY, Part, band, framed, line_at, no_markup

_HEIGHT = 420
_TICKS = {"batch": (16, 32, 64, 128, 256), "pixels": (32, 64, 128, 256)}
_LINEAR_TICKS = {axis: tuple(range(32, 257, 32)) for axis in _TICKS}
SIZE_TITLES = {"batch": "Batch size", "pixels": "Image size (pixels)"}
#: Of what lies beyond a GPU's memory.
_PALE = 0.45


SHOWN: Mapping[str, Shown] = {
    "latency": Shown("Latency (ms/step)", format_ms),
    "images": Shown("Images/s", format_significant),
    "time": Shown("Training time", format_time, in_time=True),
    "cost": Shown("Training cost", format_usd, prefix="$"),
}


@dataclass(frozen=True, slots=True)
class _Point:
    size: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One GPU's values over the sizes.

    Attributes
    ----------
    label : in the legend. gpu : full name, by which it is drawn.
    values : one per size: milliseconds per step, images per second, seconds or US dollars, as `SHOWN` has them.
    ends : of each value's interval, drawn as a band; None without.
    largest_fit : the largest size that fits in its memory; None where nothing is known against any.
    """

    label: str
    gpu: str
    sizes: Sequence[int]
    values: Sequence[float]
    ends: Sequence[tuple[float, float]] | None = None
    largest_fit: int | None = None
    chosen: bool = False


def curves(rows: Sequence[Curve], axis: str, shows: str, *, log: bool = True, at: float | None = None) -> go.Figure:
    """Values over size; what does not fit in memory is pale and dotted.

    Parameters
    ----------
    axis : "batch" or "pixels". shows : a key of `SHOWN`.
    log : both axes are logarithmic, else linear. at : where a line marks the size that is chosen.
    """
    shown = SHOWN[shows]
    unit, y = shown.axis([value for row in rows for value in row.values], log=log)
    sizes = [size for row in rows for size in row.sizes]
    low, high = min(sizes, default=16), max(sizes, default=256)
    return framed(
        [*_bands(rows, unit), *(part for row in rows for part in _line(row, shown, unit))],
        x=count_axis(SIZE_TITLES[axis], low, high, (_TICKS if log else _LINEAR_TICKS)[axis], log=log),
        y=y,
        height=_HEIGHT,
        name=f"{shown.title} over {SIZE_TITLES[axis].lower()}, one curve per GPU",
        hovermode="x unified",
        shapes=[] if at is None else [line_at(x=at, line={"color": GREY, "width": 1, "dash": "dot"})],
    )


def value_at(row: Curve, size: float) -> float:
    """The curve's value at a size between its own, on the straight line between their logarithms."""
    logs = [math.log(one) for one in row.sizes]
    place = min(max(sum(one <= size for one in row.sizes), 1), len(row.sizes) - 1)
    share = (math.log(size) - logs[place - 1]) / (logs[place] - logs[place - 1])
    low, high = row.values[place - 1], row.values[place]
    return low * (high / low) ** share


def _bands(rows: Sequence[Curve], unit: float) -> Iterator[Part]:
    for row in rows:
        if row.ends:
            yield band(
                row.sizes,
                [(low / unit, high / unit) for low, high in row.ends],
                gpu_look(row.gpu).colour,
                0.2 if row.chosen else 0.1,
            )


def _line(row: Curve, shown: Shown, unit: float) -> Iterator[Part]:
    """The curve as far as it fits, with a mark there, and beyond."""
    look, width = gpu_look(row.gpu), 4 if row.chosen else 2
    points = [_Point(size, value) for size, value in zip(row.sizes, row.values, strict=True)]
    edge = _edge(row)
    inside = [point for point in points if row.largest_fit is None or point.size <= row.largest_fit]
    outside = points[len(inside) :]
    stroke = {"color": look.colour, "width": width}
    if inside:
        yield _stroke(row, [*inside, *edge], shown, unit, stroke | {"dash": look.dash}, showlegend=True)
    if outside:
        yield _stroke(
            row, [*edge, *outside], shown, unit, stroke | {"dash": "dot"}, opacity=_PALE, showlegend=not inside
        )
    for point in edge:
        yield {
            "type": "scatter",
            "x": [point.size],
            "y": [point.value / unit],
            "mode": "markers",
            "marker": {"symbol": "line-ns-open", "size": 14, "color": look.colour, "line": {"width": 3}},
            "text": [f"{no_markup(row.label)}: largest that fits in memory"],
            "hovertemplate": "%{text}<extra></extra>",
            "showlegend": False,
        }


def _edge(row: Curve) -> list[_Point]:
    """Where the curve leaves the GPU's memory; empty where it does not, or was never in it."""
    limit = row.largest_fit
    if limit is None or not row.sizes[0] <= limit < row.sizes[-1]:
        return []
    return [_Point(limit, value_at(row, limit))]


def _stroke(
    row: Curve,
    points: Sequence[_Point],
    shown: Shown,
    unit: float,
    line: Part,
    opacity: float = 1.0,
    *,
    showlegend: bool,
) -> Part:
    beyond = " (doesn't fit)" if opacity < 1 else ""
    return {
        "type": "scatter",
        "name": f"<b>{no_markup(row.label)}</b>" if row.chosen else no_markup(row.label),
        "showlegend": showlegend,
        "x": [point.size for point in points],
        "y": [point.value / unit for point in points],
        "customdata": [f"{no_markup(row.label)}: {shown.words(point.value)}{beyond}" for point in points],
        "mode": "lines",
        "line": line,
        "opacity": opacity,
        "hovertemplate": "%{customdata}<extra></extra>",
    }
