"""Time or speed-up over threads as a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from profet_core.manycore.answer import ThreadsRow
from profet_core.manycore.machine import FEWEST_THREADS, MOST_THREADS
from profet_core.units import format_duration, format_significant
from ui.charts.scales import LogAxis, count_axis, number_axis, time_axis
from ui.charts.style import BLUE, GREY, ORANGE, Part, framed, line_at

_HEIGHT = 400
_TICKS = (1, 4, 15, 60, 240, 960, 3_840)
#: Beside the first and the last number of threads, whose marks would be cut.
_ROOM = 1.15
_S_PER_MIN = 60


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the curves are of."""

    title: str
    axis: Callable[[Sequence[float]], LogAxis]
    words: Callable[[float], str]
    a: Callable[[ThreadsRow], float]
    b: Callable[[ThreadsRow], float]


_SHOWN: Mapping[str, _Shown] = {
    "time": _Shown("Time", time_axis, format_duration, lambda row: row.a.total_s, lambda row: row.b.total_s),
    "speedup": _Shown(
        "Speed-up over one thread",
        number_axis,
        format_significant,
        lambda row: row.speedup_a,
        lambda row: row.speedup_b,
    ),
}


def threads_figure(
    rows: Sequence[ThreadsRow], shows: str, *, published_min: Mapping[int, float], hardware_threads: int
) -> go.Figure:
    """Both models over threads, both axes logarithmic.

    Parameters
    ----------
    shows : "time" or "speedup".
    published_min : threads -> minutes that were published, drawn as marks beside times.
    hardware_threads : of the processor: a line stands there, beyond which a larger one is meant.
    """
    shown = _SHOWN[shows]
    a, b = ([value(row) for row in rows] for value in (shown.a, shown.b))
    traces = [
        _curve("(a) operations counted", rows, a, shown, {"color": BLUE, "width": 3}),
        _curve("(b) image times measured", rows, b, shown, {"color": ORANGE, "width": 3, "dash": "dash"}),
    ]
    if shows == "speedup":
        traces.append(_ideal())
    elif published_min:
        traces.append(_published(published_min))
    return framed(
        traces,
        x=count_axis("Threads", FEWEST_THREADS / _ROOM, MOST_THREADS * _ROOM, _TICKS),
        y=shown.axis([*a, *b]).part(shown.title),
        height=_HEIGHT,
        name=f"{shown.title} over threads, both models",
        hovermode="x unified",
        shapes=[line_at(x=hardware_threads, line={"color": GREY, "width": 1, "dash": "dot"})],
    )


def _curve(name: str, rows: Sequence[ThreadsRow], values: Sequence[float], shown: _Shown, line: Part) -> Part:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [row.threads for row in rows],
        "y": list(values),
        "customdata": [f"{name[:3]} {shown.words(value)}" for value in values],
        "hovertemplate": "%{customdata}<extra></extra>",
        "line": line,
    }


def _published(published_min: Mapping[int, float]) -> Part:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "published",
        "x": list(published_min),
        "y": [minutes * _S_PER_MIN for minutes in published_min.values()],
        "customdata": [f"published {minutes:.1f} min" for minutes in published_min.values()],
        "hovertemplate": "%{customdata}<extra></extra>",
        "marker": {"symbol": "diamond-open", "size": 11, "color": GREY, "line": {"width": 2}},
    }


def _ideal() -> Part:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "one a thread",
        "x": [FEWEST_THREADS, MOST_THREADS],
        "y": [FEWEST_THREADS, MOST_THREADS],
        "hoverinfo": "skip",
        "line": {"color": GREY, "width": 1, "dash": "dot"},
    }
