"""Charts of what is inside a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from profet_core.answers.predict import Side
from profet_core.prediction.diagnosis import Placement
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.units import US_PER_MS, format_ms
from ui.charts.style import BLUE, GREY, GRID, ORANGE, Part, framed, name_axis, value_axis

#: Operations of their own in the chart; the others are one bar.
TOP = 12
_LABEL_LETTERS = 24


def class_bars(rows: Sequence[Placement]) -> go.Figure:
    """The classes that the default method counts the GPU's operations in, the longest on top."""
    by_class: dict[str, list[Placement]] = {}
    for row in rows:
        if row.on_device and not row.idle and row.time_us > 0:
            name = row.operation_class.removeprefix(DEVICE_PREFIX) if row.operation_class else "not counted"
            by_class.setdefault(name, []).append(row)
    bars = dict(sorted(by_class.items(), key=lambda item: -_time_ms(item[1])))
    largest_ms = max((_time_ms(part) for part in bars.values()), default=1.0)
    return framed(
        [_trace("GPU", BLUE, bars) | {"showlegend": False}],
        x=value_axis("ms", range=[0, largest_ms * 1.35]),
        y=name_axis(categoryorder="array", categoryarray=list(bars)[::-1]),
        height=90 + 24 * len(bars),
        name="GPU time by class",
        bargap=0.25,
    )


def time_bars(rows: Sequence[Placement]) -> go.Figure:
    """The longest operations that are not idle time, and the rest as one bar; the longest on top."""
    busy = [row for row in rows if not row.idle and row.time_us > 0]
    shown, rest = busy[:TOP], busy[TOP:]
    labels = _labels(shown)
    traces = []
    for on_device, name, colour in ((True, "GPU", BLUE), (False, "host", ORANGE)):
        part = [(label, row) for label, row in zip(labels, shown, strict=True) if row.on_device is on_device]
        if part:
            traces.append(_trace(name, colour, {label: [row] for label, row in part}))
    if rest:
        labels.append(f"{len(rest)} others" if len(rest) > 1 else "1 other")
        traces.append(_trace("all others", GREY, {labels[-1]: rest}))
    largest_ms = max([*(_time_ms([row]) for row in shown), _time_ms(rest)], default=1.0)
    return framed(
        traces,
        x=value_axis("ms", range=[0, largest_ms * 1.35]),
        y=name_axis(categoryorder="array", categoryarray=labels[::-1]),
        height=130 + 24 * len(labels),
        name="Operations by time",
        bargap=0.25,
    )


def busy_and_idle(*both: Side) -> go.Figure:
    """Two bars, GPU and host: the busy and the idle share of the recorded time."""
    sides = [side for side in both if side.total_us > 0]
    traces = [
        {
            "type": "bar",
            "name": word,
            "x": [time_us / side.total_us for side, time_us in zip(sides, times_us, strict=True)],
            "y": [side.name for side in sides],
            "customdata": [format_ms(time_us / US_PER_MS) for time_us in times_us],
            "orientation": "h",
            "marker": {"color": colour},
            "hovertemplate": "%{y} " + word + ": %{x:.1%}, %{customdata}<extra></extra>",
        }
        for word, colour, times_us in (
            ("busy", BLUE, [side.busy_us for side in sides]),
            ("idle", GREY, [side.idle_us for side in sides]),
        )
    ]
    return framed(
        traces,
        x={"tickformat": ".0%", "range": [0, 1], "gridcolor": GRID, "fixedrange": True},
        y=name_axis(),
        height=90 + 44 * len(sides),
        name="Busy and idle time",
        barmode="stack",
        bargap=0.3,
        legend={"traceorder": "normal"},
    )


def _trace(name: str, colour: str, bars: Mapping[str, Sequence[Placement]]) -> Part:
    """Label -> the operations that its bar adds up."""
    return {
        "type": "bar",
        "name": name,
        "x": [_time_ms(rows) for rows in bars.values()],
        "y": list(bars),
        "text": [f" {sum(row.share or 0.0 for row in rows):.1%}" for rows in bars.values()],
        "orientation": "h",
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": colour},
        "hovertemplate": "%{y}: %{x:,.4~r} ms<extra></extra>",
    }


def _time_ms(rows: Sequence[Placement]) -> float:
    return sum(row.time_us for row in rows) / US_PER_MS


def _labels(rows: Sequence[Placement]) -> list[str]:
    """Short names, so that a phone keeps room for the bars; "host" is said where the GPU's rows stand beside."""
    both = len({row.on_device for row in rows}) == 2
    labels: list[str] = []
    for row in rows:
        name = row.operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX)
        short = name if len(name) <= _LABEL_LETTERS else f"{name[:11]}…{name[-12:]}"
        label = f"{short} (host)" if both and not row.on_device else short
        labels.append(label if label not in labels else label.replace(short, name))
    return labels
