"""The measured accuracy of the loaded models, and its figures as plotly charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
import streamlit as st

from profet_core import ArtifactError
from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_report import load_real_report
from profet_core.accuracy.transfer import TransferAccuracy
from profet_core.accuracy.transfer_report import load_transfer_accuracy
from profet_core.accuracy.validation import MeasuredPoint, Validation
from profet_core.accuracy.validation_report import load_validation
from profet_core.memory.model import MEMORY_NAME
from profet_core.transfer.model import TRANSFER_NAME
from profet_core.units import format_ms
from ui.charts.style import BLUE, GREY, GRID, RED, framed
from ui.state.resources import Resources
from ui.state.settings import ALL_INSTANCES
from ui.tables import format_range_ms


def accuracy_of(resources: Resources) -> Validation:
    """The accuracy of the loaded models.

    Raises
    ------
    ArtifactError : there is none, or it is damaged or of other models.
    """
    models = resources.models
    return _loaded(models, str(models.folder), models.manifest["checksum"])


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded(_models, folder: str, checksum: str) -> Validation:
    return load_validation(_models)


def transfer_accuracy_of(resources: Resources) -> TransferAccuracy:
    """How well GPUs nobody profiled are reached and memory is told, by the loaded models.

    Raises
    ------
    ArtifactError : the models do neither, or the report is missing, damaged or of another `transfer.json` or
        `memory.json`.
    """
    models = resources.models
    if models.transfer is None or models.memory is None:
        missing = TRANSFER_NAME if models.transfer is None else MEMORY_NAME
        raise ArtifactError(
            f"{models.folder / missing} is missing, so nothing is known of its accuracy: get the models again "
            "(git checkout models) or run `profet train`."
        )
    return _loaded_transfer(models, str(models.folder), models.transfer.checksum, models.memory.checksum)


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded_transfer(_models, folder: str, transfer: str, memory: str) -> TransferAccuracy:
    return load_transfer_accuracy(_models.transfer, _models.memory, folder)


def real_report_of(resources: Resources) -> RealReport | None:
    """What profiles of strangers showed with the loaded models; None if nobody looked.

    Raises
    ------
    ArtifactError : the report is damaged or of other models.
    """
    models = resources.models
    return _loaded_real(models, str(models.folder), models.manifest["checksum"])


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded_real(_models, folder: str, checksum: str) -> RealReport | None:
    return load_real_report(_models)


def chosen_points(points: Sequence[MeasuredPoint], anchor: str, target: str) -> list[MeasuredPoint]:
    """Points of one anchor and one target, or of all."""
    return [
        point for point in points if anchor in (ALL_INSTANCES, point.anchor) and target in (ALL_INSTANCES, point.target)
    ]


def error_bars(default: Mapping[str, float], original: Mapping[str, float]) -> go.Figure:
    """Two bars per architecture, the worst on top: our error and the original's, percent."""
    ordered = sorted(default, key=default.get)
    figure = go.Figure()
    for name, values, colour in (("original", original, GREY), ("here", default, BLUE)):
        figure.add_bar(
            name=name,
            x=[values[model] for model in ordered],
            y=ordered,
            orientation="h",
            marker_color=colour,
            hovertemplate="%{y}: %{x:.1f} % " + name + "<extra></extra>",
        )
    figure.update_layout(barmode="group", bargap=0.3, legend={"traceorder": "reversed"})
    figure.update_xaxes(title="mean error, %", gridcolor=GRID, rangemode="tozero", fixedrange=True)
    figure.update_yaxes(fixedrange=True, ticksuffix="  ", automargin=True)
    return framed(figure, "", height=120 + 32 * len(ordered))


def coverage_dots(covered: Mapping[str, float], half_width: Mapping[str, float], level: float) -> go.Figure:
    """One dot per architecture, the least covered on top; a line where the interval promises to be."""
    ordered = sorted(covered, key=covered.get, reverse=True)
    figure = go.Figure(
        go.Scatter(
            x=[covered[name] for name in ordered],
            y=ordered,
            mode="markers",
            marker={
                "size": 11,
                "color": [BLUE if covered[name] >= 100 * level else RED for name in ordered],
            },
            customdata=[half_width[name] for name in ordered],
            hovertemplate="%{y}: %{x:.1f} % inside, interval ±%{customdata:.0f} %<extra></extra>",
            showlegend=False,
        )
    )
    figure.add_vline(x=100 * level, line={"color": "rgba(128,128,128,0.9)", "width": 1.5, "dash": "dot"})
    least = min(covered.values(), default=0.0)
    figure.update_xaxes(
        title="measurements inside the interval, %", range=[min(60.0, least - 3), 101], gridcolor=GRID, fixedrange=True
    )
    figure.update_yaxes(fixedrange=True, ticksuffix="  ", automargin=True, gridcolor=GRID)
    return framed(figure, "", height=90 + 26 * len(ordered))


def predicted_against_measured(points: Sequence[MeasuredPoint]) -> go.Figure:
    """Every workload, log against log; those outside their interval stand out."""
    figure = go.Figure()
    every = [value for point in points for value in (point.measured_ms, point.predicted_ms)]
    ends = [min(every, default=1.0) / 1.2, max(every, default=10.0) * 1.2]
    figure.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        line={"color": GREY, "width": 1, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    for inside, name, colour in (
        (True, "measured inside the interval", BLUE),
        (False, "outside", RED),
    ):
        group = [point for point in points if (point.low_ms <= point.measured_ms <= point.high_ms) is inside]
        figure.add_scatter(
            x=[point.measured_ms for point in group],
            y=[point.predicted_ms for point in group],
            text=[_hover(point) for point in group],
            name=name,
            mode="markers",
            marker={"color": colour, "size": 5, "opacity": 0.55},
            hovertemplate="%{text}<extra></extra>",
        )
    ticks = {"type": "log", "gridcolor": GRID, "fixedrange": True, "dtick": 1, "tickformat": ",~r"}
    figure.update_xaxes(title="measured, ms per step", **ticks)
    figure.update_yaxes(title="predicted, ms per step", **ticks)
    return framed(figure, "", height=520)


def _hover(point: MeasuredPoint) -> str:
    return (
        f"{point.model}, {point.pixels} pixels, batch {point.batch_size}<br>{point.anchor} to {point.target}<br>"
        f"measured {format_ms(point.measured_ms)}, predicted {format_ms(point.predicted_ms)}<br>"
        f"interval {format_range_ms(point.low_ms, point.high_ms)}"
    )
