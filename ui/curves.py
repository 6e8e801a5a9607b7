"""Values over batch size, image size, GPUs or threads, as curves with bands; how each GPU is drawn."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_profiles.units import format_ms, shared_time_unit
from ui.charts import GRAY, RED, Figure, Part, framed, line_at, no_markup, value_axis

#: Distinct for readers of any color vision, and at least 3:1 against the light and the dark background;
#: `tests/ui/test_charts.py` computes both.
SKY, OCHRE, GREEN, MAGENTA, INDIGO, BROWN, PURPLE, SLATE, CORAL = COLORS = (
    *("#119bdf", "#b98f03", "#589257", "#c13e80", "#5454ee"),
    *("#915f1f", "#a54aa9", "#9090b4", "#fc3f5a"),
)


class Look(NamedTuple):
    """By plotly's names; where two GPUs share a color, the dash differs."""

    color: str
    dash: str


_DASHES, _OTHER_DASHES = ("solid", "dash", "longdash", "dashdot", "dot"), ("longdashdot", "12px,4px", "4px,8px")
#: Full names of the specs. There are more GPUs than colors: forms of a model share one, and of those that charts show
#: together until others are chosen each has its own.
_GPUS = {
    SKY: ("Tesla T4", "GeForce RTX 2080 Ti", "RTX PRO 6000 Blackwell Workstation Edition", "GH200-96GB"),
    OCHRE: ("A40", "A10G", "A10", "RTX A5000", "RTX A4500"),
    GREEN: ("RTX A6000", "L40S"),
    MAGENTA: ("GeForce RTX 5090", "L4", "Tesla P100-PCIE-16GB", "Tesla P100-SXM2-16GB"),
    INDIGO: ("RTX A4000", "A100-SXM4-40GB", "A100-SXM4-80GB", "A100-PCIE-40GB", "A100-PCIE-80GB"),
    BROWN: ("GeForce RTX 3090", "H100-SXM5-80GB", "H100-PCIE-80GB", "H100-NVL-94GB", "GeForce RTX 4090"),
    PURPLE: (
        *("Tesla V100-SXM2-16GB", "Tesla V100-PCIE-16GB"),
        "RTX PRO 6000 Blackwell Server Edition",
    ),
    SLATE: ("Tesla K80", "H200-SXM-141GB"),
    CORAL: ("Tesla M60", "B200", "RTX 6000 Ada Generation", "B300"),
}
_LOOKS = {gpu: Look(color, dash) for color, gpus in _GPUS.items() for gpu, dash in zip(gpus, _DASHES, strict=False)}


def gpu_look(gpu: str) -> Look:
    """Return the look of a GPU by its full name in a catalog; a custom one has a look by its name.

    >>> gpu_look("Tesla T4").dash, gpu_look("A10G").color
    ('solid', '#b98f03')
    """
    number = zlib.crc32(gpu.encode())
    return _LOOKS.get(gpu) or Look(COLORS[number % 9], _OTHER_DASHES[number // 9 % 3])


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
    "pixels": ("Image size (pixels)", (32, 64, 128, 256, 512, 1024)),
}
#: Pixels, and how much is seen of what lies beyond a GPU's memory.
_HEIGHT, _PALE = 420, 0.45

Point = tuple[float, float]
#: What the legend says of the marks of memory.
_BEYOND: Part = {
    "type": "scatter",
    "name": "largest that fits; dotted: may not fit",
    "x": [None],
    "y": [None],
    "mode": "lines+markers",
    "line": {"color": GRAY, "width": 2, "dash": "dot"},
    "marker": {"symbol": "line-ns-open", "size": 14, "color": GRAY, "line": {"width": 3}},
    "hoverinfo": "skip",
}


class Curve(Struct, frozen=True, kw_only=True):
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
) -> Figure:
    """Values over size; what does not fit in memory is pale and dotted.

    Both axes are logarithmic (`log`) or linear; a line marks the chosen size, `at`, and a cross the point `crossed`,
    which has a name in the legend.
    """
    values = [value for row in rows for value in row.values]
    unit, y = shown.axis(values, log=log)
    if shown.in_time:
        shown = replace(shown, words=shared_time_unit(values).words)
    traces = [part for row in rows for part in (*_band(row, unit), *_line(row, shown, unit))]
    if any(trace.get("opacity") == _PALE for trace in traces):
        traces.append(_BEYOND)
    if crossed is not None:
        (size, value), name = crossed
        traces.append(_marks(size, value / unit, {"symbol": "x", "size": 13, "color": RED}) | {"name": name})
    return framed(
        traces,
        x=x,
        y=y,
        height=_HEIGHT,
        name=f"{shown.title} over {x['title']['text'].lower()}",
        layout={
            "hovermode": "x unified",
            "shapes": [] if at is None else [line_at(x=at, line={"color": GRAY, "width": 1, "dash": "dot"})],
        },
    )


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
            "fillcolor": f"rgba({red},{green},{blue},{0.2 if row.chosen else 0.1})",
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
