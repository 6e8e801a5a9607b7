"""Latency or cost over batch or image size: one curve per GPU, with its name at its end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profet_core.units import format_ms, format_significant, format_time, format_usd
from ui.charts.gpu_look import gpu_look
from ui.charts.labels import spread
from ui.charts.scales import LogAxis, Shown, count_axis, number_axis, time_axis, usd_axis
from ui.charts.style import GREY, Part, band, framed, line_at, no_markup

_HEIGHT, _MARGIN = 420, {"l": 8, "r": 8, "t": 12, "b": 8}
#: Pixels that the axis with its title takes of the height, and a label's line.
_BELOW_PLOT, _LINE_HEIGHT = 52, 15
_LETTER_WIDTH = 7
#: Plotly's markers as letters.
_GLYPHS = {"circle": "●", "square": "■", "triangle-up": "▲", "triangle-down": "▼"}
_TICKS = {"batch": (16, 32, 64, 128, 256), "pixels": (32, 64, 128, 256)}
_LINEAR_TICKS = {axis: tuple(range(32, 257, 32)) for axis in _TICKS}
SIZE_TITLES = {"batch": "Batch size", "pixels": "Image size (pixels)"}
#: Of what lies beyond a GPU's memory.
_PALE = 0.45


SHOWN: Mapping[str, Shown] = {
    "latency": Shown("Latency (ms/step)", number_axis, format_ms),
    "images": Shown("Images/s", number_axis, format_significant),
    "time": Shown("Training time", time_axis, format_time, (86_400.0, 3_600.0, 60.0, 1.0)),
    "cost": Shown("Training cost ($)", usd_axis, format_usd),
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
    label : at its end. gpu : full name, by which it is drawn.
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
    values = [value for row in rows for value in row.values] + [end for row in rows for end in _band_ends(row)]
    y = shown.axis(values) if log else shown.linear(values)
    sizes = [size for row in rows for size in row.sizes]
    labels = _end_labels(rows, y)
    room = max((len(row.label) for row in rows), default=0) * _LETTER_WIDTH + 24
    low, high = min(sizes, default=16), max(sizes, default=256)
    return framed(
        [*_bands(rows), *(part for row in rows for part in _line(row, shown))],
        x=count_axis(SIZE_TITLES[axis], low, high, (_TICKS if log else _LINEAR_TICKS)[axis], log=log),
        y=y.part(shown.title),
        height=_HEIGHT,
        name=f"{shown.title} over {SIZE_TITLES[axis].lower()}, one curve per GPU",
        margin=_MARGIN | {"r": room},
        showlegend=False,
        hovermode="x unified",
        annotations=labels,
        shapes=[] if at is None else [line_at(x=at, line={"color": GREY, "width": 1, "dash": "dot"})],
    )


def value_at(row: Curve, size: float) -> float:
    """The curve's value at a size between its own, on the straight line between their logarithms."""
    logs = [math.log(one) for one in row.sizes]
    place = min(max(sum(one <= size for one in row.sizes), 1), len(row.sizes) - 1)
    share = (math.log(size) - logs[place - 1]) / (logs[place] - logs[place - 1])
    low, high = row.values[place - 1], row.values[place]
    return low * (high / low) ** share


def _band_ends(row: Curve) -> list[float]:
    return [end for pair in row.ends or () for end in pair]


def _bands(rows: Sequence[Curve]) -> Iterator[Part]:
    for row in rows:
        if row.ends:
            yield band(row.sizes, row.ends, gpu_look(row.gpu).colour, 0.2 if row.chosen else 0.1)


def _line(row: Curve, shown: Shown) -> Iterator[Part]:
    """The curve as far as it fits, with a mark there, and beyond."""
    look, width = gpu_look(row.gpu), 4 if row.chosen else 2
    points = [_Point(size, value) for size, value in zip(row.sizes, row.values, strict=True)]
    edge = _edge(row)
    inside = [point for point in points if row.largest_fit is None or point.size <= row.largest_fit]
    outside = points[len(inside) :]
    if inside:
        stroke = {"color": look.colour, "width": width, "dash": look.dash}
        yield _stroke(row, [*inside, *edge], shown, stroke)
    if outside:
        stroke = {"color": look.colour, "width": width, "dash": "dot"}
        yield _stroke(row, [*edge, *outside], shown, stroke, opacity=_PALE)
    for point in edge:
        yield {
            "type": "scatter",
            "x": [point.size],
            "y": [point.value],
            "mode": "markers",
            "marker": {"symbol": "line-ns-open", "size": 14, "color": look.colour, "line": {"width": 3}},
            "text": [f"{no_markup(row.label)}: largest that fits in memory"],
            "hovertemplate": "%{text}<extra></extra>",
        }


def _edge(row: Curve) -> list[_Point]:
    """Where the curve leaves the GPU's memory; empty where it does not, or was never in it."""
    limit = row.largest_fit
    if limit is None or not row.sizes[0] <= limit < row.sizes[-1]:
        return []
    return [_Point(limit, value_at(row, limit))]


def _stroke(row: Curve, points: Sequence[_Point], shown: Shown, line: Part, opacity: float = 1.0) -> Part:
    beyond = " (doesn't fit)" if opacity < 1 else ""
    return {
        "type": "scatter",
        "x": [point.size for point in points],
        "y": [point.value for point in points],
        "customdata": [f"{no_markup(row.label)}: {shown.words(point.value)}{beyond}" for point in points],
        "mode": "lines",
        "line": line,
        "opacity": opacity,
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _end_labels(rows: Sequence[Curve], y: LogAxis) -> list[Part]:
    """Names at the lines' ends, moved apart where lines end close together; lines that end as one have one."""
    height = _HEIGHT - _MARGIN["t"] - _MARGIN["b"] - _BELOW_PLOT
    ends = list({(row.label, row.values[-1]): row for row in rows}.values())
    natural = [(1 - y.share(row.values[-1])) * height for row in ends]
    moved = spread(natural, _LINE_HEIGHT, 0, height)
    return [
        {
            "x": 1,
            "xref": "x domain",
            "xanchor": "left",
            "xshift": 4,
            "y": 1 - place / height,
            "yref": "y domain",
            "yanchor": "middle",
            "text": _marked(row),
            "showarrow": False,
        }
        for row, place in zip(ends, moved, strict=True)
    ]


def _marked(row: Curve) -> str:
    """The curve's marker in its colour before its name in the page's: the colours alone are too pale for small text."""
    look = gpu_look(row.gpu)
    name = f"<b>{no_markup(row.label)}</b>" if row.chosen else no_markup(row.label)
    return f'<span style="color:{look.colour}">{_GLYPHS.get(look.symbol, "◆")}</span> {name}'
