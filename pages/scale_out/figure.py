"""The chart of Scale out: speed-up, latency, time or cost over the number of GPUs, one line per strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profet_core.scaleout.law import Strategy
from profet_core.units import format_ms, format_significant, format_time, format_usd
from ui.charts.gpu_look import GREEN, MAGENTA, OCHRE, SKY
from ui.charts.scales import Shown, count_axis
from ui.charts.style import GREY, RED, Part, band, framed, line_at

_HEIGHT = 400
#: As drawn: told apart without colour too.
_LOOKS: Mapping[str, tuple[str, str]] = {
    Strategy.RING: (SKY, "solid"),
    Strategy.TREE: (GREEN, "dash"),
    Strategy.PS_CPU: (OCHRE, "dashdot"),
    Strategy.PS_GPU: (MAGENTA, "longdash"),
}
#: In the legend.
_SHORT: Mapping[str, str] = {
    Strategy.RING: "ring",
    Strategy.TREE: "tree (not measured)",
    Strategy.PS_CPU: "server on CPU (2017)",
    Strategy.PS_GPU: "server on GPUs (2017)",
}
_TICKS = (1, 2, 4, 8, 16, 32, 64)
#: Beside the first and the last number of GPUs, whose marks would be cut.
_ROOM = 1.1


SHOWN: Mapping[str, Shown] = {
    "speed_up": Shown("Speed-up", format_significant),
    "step": Shown("Latency (ms/step)", format_ms),
    "time": Shown("Time per epoch", format_time, in_time=True),
    "cost": Shown("Cost per epoch", format_usd, prefix="$"),
}


@dataclass(frozen=True, slots=True)
class OutCurve:
    """One strategy's values over the number of GPUs.

    Attributes
    ----------
    strategy : a `Strategy`.
    ends : of each value's interval, the smaller first; None without. Drawn where the curve is `chosen`.
    """

    strategy: str
    gpus: Sequence[int]
    values: Sequence[float]
    ends: Sequence[tuple[float, float]] | None
    chosen: bool


def out_curves(curves: Sequence[OutCurve], shows: str, *, pays_to: int | None, gpus: int | None) -> go.Figure:
    """Both axes logarithmic: perfect scaling is straight.

    Parameters
    ----------
    shows : a key of `SHOWN`.
    pays_to : number of GPUs beyond which cost rises faster than speed; None: not within the curves.
    gpus : the number that the table is for; None: each offer's own.
    """
    shown = SHOWN[shows]
    counts = sorted({count for curve in curves for count in curve.gpus})
    ideal = counts if shows == "speed_up" else []
    unit, y = shown.axis([value for curve in curves for value in curve.values])
    return framed(
        [
            *_bands(curves, unit),
            *_ideal(ideal),
            *(_line(curve, shown, unit) for curve in curves),
            *_end(curves, pays_to, unit),
        ],
        x=count_axis("GPUs", counts[0] / _ROOM, counts[-1] * _ROOM, _TICKS),
        y=y,
        height=_HEIGHT,
        name=f"{shown.title} over the number of GPUs, one line per strategy",
        hovermode="x unified",
        shapes=[line_at(x=gpus, line={"color": GREY, "width": 1, "dash": "dot"})] if gpus in counts else [],
    )


def _ideal(counts: Sequence[int]) -> Iterator[Part]:
    if counts:
        yield {
            "type": "scatter",
            "name": "perfect",
            "x": list(counts),
            "y": list(counts),
            "mode": "lines",
            "line": {"color": GREY, "width": 1.5, "dash": "dot"},
            "hoverinfo": "skip",
        }


def _bands(curves: Sequence[OutCurve], unit: float) -> Iterator[Part]:
    for curve in curves:
        if curve.chosen and curve.ends:
            colour, _ = _LOOKS[curve.strategy]
            yield band(curve.gpus, [(low / unit, high / unit) for low, high in curve.ends], colour)


def _line(curve: OutCurve, shown: Shown, unit: float) -> Part:
    colour, dash = _LOOKS[curve.strategy]
    return {
        "type": "scatter",
        "name": _SHORT[curve.strategy],
        "x": list(curve.gpus),
        "y": [value / unit for value in curve.values],
        "customdata": [f"{_SHORT[curve.strategy]}: {shown.words(value)}" for value in curve.values],
        "mode": "lines+markers" if curve.chosen else "lines",
        "line": {"color": colour, "width": 4 if curve.chosen else 2, "dash": dash},
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _end(curves: Sequence[OutCurve], pays_to: int | None, unit: float) -> Iterator[Part]:
    """A mark on the chosen curve where more GPUs stop paying."""
    for curve in curves:
        if curve.chosen and pays_to is not None and pays_to in curve.gpus:
            value = curve.values[list(curve.gpus).index(pays_to)] / unit
            yield {
                "type": "scatter",
                "name": "cost rises faster beyond",
                "x": [pays_to],
                "y": [value],
                "mode": "markers",
                "marker": {"symbol": "x", "size": 13, "color": RED},
                "hoverinfo": "skip",
            }
