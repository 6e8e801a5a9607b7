"""A comparison of profiles as a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from pages.profiles.compare.view import LATENCY, METRICS, Row, value_of
from profet_core import InstancePrediction
from profet_core.units import format_ms, format_usd
from ui.basis import marked
from ui.charts.gpu_look import gpu_look
from ui.charts.style import GRID, WIDE, Part, framed, no_markup, value_axis

#: What fits a phone's width.
_LABEL_LETTERS = 44


@dataclass(frozen=True, slots=True)
class _Dot:
    """One profile on one instance; `label` stands at its line."""

    label: str
    profile: str
    predicted: InstancePrediction
    value: float


def dots(rows: Sequence[Row], metric: str, gpus: Mapping[str, str]) -> go.Figure:
    """One line of dots a profile, one look a GPU, logarithmic; the first profile on top.

    Parameters
    ----------
    gpus : instance -> full name of its GPU, in the legend's order.
    """
    traces = []
    labels = _labels([row.name for row in rows])
    for instance, gpu in gpus.items():
        found = [
            _Dot(label, row.name, predicted, value)
            for label, row in zip(labels, rows, strict=True)
            if (predicted := row.on(instance)) and (value := value_of(predicted, metric)) is not None
        ]
        if found:
            traces.append(_trace(found, metric, gpu))
    title = "ms per step" if metric == LATENCY else "US dollars per 1,000 steps"
    values = [value for trace in traces for value in trace["x"]]
    # Over many decades a label at 2 and 5 as well would leave no room between them on a phone.
    step = 1 if max(values, default=1.0) > WIDE * min(values, default=1.0) else "D2"
    return framed(
        traces,
        x=value_axis(title, type="log", tickformat=",~r", dtick=step, tickangle=0),
        y=_lines(labels),
        height=200 + 46 * len(rows),
        name=f"{METRICS[metric]} of each profile, a point each instance",
        annotations=[_name(label) for label in labels],
    )


def _trace(found: Sequence[_Dot], metric: str, gpu: str) -> Part:
    """The dots of one instance."""
    first, look = found[0].predicted, gpu_look(gpu)
    retired = first.status == "retired"
    return {
        "type": "scatter",
        "x": [dot.value for dot in found],
        "y": [dot.label for dot in found],
        "text": [_hover(dot, metric) for dot in found],
        "name": marked(first.instance, first.basis),
        "mode": "markers",
        "marker": {
            "color": look.colour,
            "size": 12,
            "symbol": f"{look.symbol}-open" if retired else look.symbol,
            "line": {"width": 2.5 if retired else 0, "color": look.colour},
        },
        "hovertemplate": "%{text}<extra></extra>",
    }


def _lines(labels: Sequence[str]) -> Part:
    """The y axis: a line each profile."""
    return {
        "fixedrange": True,
        "showticklabels": False,
        "gridcolor": GRID,
        "categoryorder": "array",
        "categoryarray": labels[::-1],
        "type": "category",
        "range": [-0.5, len(labels) - 0.3],
    }


def _name(label: str) -> Part:
    """Names stand above their lines: beside them they would take half of a phone's width."""
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": label, "yanchor": "bottom", "yshift": 6}
    return {**place, "text": label, "showarrow": False}


def _hover(dot: _Dot, metric: str) -> str:
    retired = " (retired)" if dot.predicted.status == "retired" else ""
    words = format_ms(dot.value) if metric == LATENCY else format_usd(dot.value)
    return f"{no_markup(dot.profile)}<br>{dot.predicted.instance}{retired}: {words}"


def _labels(names: Sequence[str]) -> list[str]:
    """Short names, still told apart, as text and not as markup."""
    short: list[str] = []
    for name in names:
        # What tells files apart is as often at the end: "resnet50-run-b64.json".
        text = no_markup(name if len(name) <= _LABEL_LETTERS else f"{name[:21]}…{name[-22:]}")
        count = sum(other == text or other.startswith(f"{text} #") for other in short)
        short.append(f"{text} #{count + 1}" if count else text)
    return short
