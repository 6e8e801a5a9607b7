"""The part of Accuracy on GPUs that nobody profiled: errors with a GPU left out, and what no measurement checks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from pages.accuracy.words import GpuNames, lead, must_know, verdict
from profet_core.accuracy.transfer import Direction, LeftOutGpu, TransferAccuracy, unmeasured_gpus
from profet_core.transfer.speed import known_speed
from ui.charts.style import BLUE, GREY, GRID, RED, framed
from ui.state.resources import Resources
from ui.tables import MISSING, download_buttons, format_percent, show_table
from ui.texts import plain

_BARS = {"displayModeBar": False}


def show_unprofiled(resources: Resources, accuracy: TransferAccuracy, known: bool) -> None:
    """Words first, then one chart and the tables."""
    names = GpuNames(resources)
    st.subheader("GPUs that nobody profiled", anchor="unprofiled")
    st.markdown(lead(names, accuracy, known))
    st.markdown("\n".join(f"- {line}" for line in must_know(resources, names, accuracy, known)))
    st.plotly_chart(direction_dots(_dots(names, accuracy.directions, known)), config=_BARS, key="left-out-gpus")
    _directions(names, accuracy, known)
    _intervals(names, accuracy, known)
    _derived(names, accuracy, known)
    _unmeasured(resources)


def _dots(names: GpuNames, rows: Sequence[Direction], known: bool) -> dict[str, dict[str, float]]:
    return {
        names.way(row): {
            "one step known": row.point[known].mape,
            "data sheet only": row.sheet_only[known].mape,
            "one constant": row.one_constant,
        }
        for row in rows
    }


def direction_dots(errors: dict[str, dict[str, float]]) -> go.Figure:
    """One line per direction, the worst on top, and a mark on it for each way to get there; percent."""
    ways = list(next(iter(errors.values())))
    ordered = sorted(errors, key=lambda name: errors[name][ways[0]])
    figure = go.Figure()
    marks = ((BLUE, "circle"), (RED, "diamond-open"), (GREY, "x"))
    for place, (way, (colour, symbol)) in enumerate(zip(ways, marks, strict=True)):
        figure.add_scatter(
            x=[errors[name][way] for name in ordered],
            y=ordered,
            name=way,
            mode="markers",
            marker={"size": 10, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
            zorder=-place,
            hovertemplate="%{y}: %{x:.1f} % " + way + "<extra></extra>",
        )
    figure.update_xaxes(title="mean error, %", gridcolor=GRID, rangemode="tozero", fixedrange=True)
    figure.update_yaxes(fixedrange=True, ticksuffix="  ", automargin=True, gridcolor=GRID)
    return framed(figure, "", height=130 + 28 * len(ordered))


def _directions(names: GpuNames, accuracy: TransferAccuracy, known: bool) -> None:
    rows = [
        {"From": names(row.anchor), "Left out": names(row.target), **_figures(row, known)}
        for row in accuracy.directions
    ]
    rows.append({"From": "All", "Left out": "Mean", **_figures(accuracy.mean, known)})
    show_table(rows, "Errors with a GPU left out")
    st.caption(
        "Leaning: predictions too long (+) or too short (-) as a whole. Missed: outside the 90 % interval. Interval: "
        "how far up half of them reach at most; downwards by the same factor."
    )
    download_buttons([_data(row) for row in accuracy.directions], "profet-accuracy-gpus")


def _figures(row: LeftOutGpu, known: bool) -> dict[str, str]:
    point, sheet = row.point[known], row.sheet_only[known]
    return {
        "Off by": format_percent(point.mape),
        "Leaning": f"{point.bias:+.1f} %",
        "Missed": format_percent(point.missed_90),
        "Interval": _reach(point.median_interval_pct),
        "Sheet only": format_percent(sheet.mape),
        "One constant": format_percent(row.one_constant),
    }


def _reach(percent: float) -> str:
    """Upper end of an interval whose ends are factors: downwards it is less in percent."""
    return f"+{percent:.0f} %"


def _data(row: Direction) -> dict[str, object]:
    found: dict[str, object] = {"anchor": row.anchor, "target": row.target, "n": row.n}
    for case, known in (("with_latency", True), ("without_latency", False)):
        for prefix, figures in (("", row.point[known]), ("sheet_only_", row.sheet_only[known])):
            found |= {
                f"{prefix}mape_{case}": figures.mape,
                f"{prefix}bias_{case}": figures.bias,
                f"{prefix}missed_90_{case}": figures.missed_90,
                f"{prefix}median_interval_pct_{case}": figures.median_interval_pct,
            }
    return {**found, "one_constant": row.one_constant}


def _intervals(names: GpuNames, accuracy: TransferAccuracy, known: bool) -> None:
    st.markdown("**Where 90 % intervals are too wide and too narrow**, by the GPU left out:")
    rows = []
    for name, row in accuracy.by_gpu.items():
        point, sheet = row.point[known], row.sheet_only[known]
        rows.append(
            {
                "Left out": names(name),
                "Off by": format_percent(point.mape),
                "Missed": format_percent(point.missed_90),
                "So it is": verdict(point.missed_90),
                "Interval": _reach(point.median_interval_pct),
                "Sheet only missed": format_percent(sheet.missed_90),
                "So that is": verdict(sheet.missed_90),
                "Its interval": _reach(sheet.median_interval_pct),
            }
        )
    show_table(rows, "Interval misses per GPU left out")


def _derived(names: GpuNames, accuracy: TransferAccuracy, known: bool) -> None:
    st.markdown(
        f"**{' and '.join(plain(names(gpu)) for gpu in accuracy.derived)}**, judged by the other source's corrected "
        "steps, networks left out:"
    )
    as_if = {(row.anchor, row.target): row for row in accuracy.other_gpus}
    rows = []
    for gpu, found in accuracy.derived.items():
        for row in found.served:
            unmeasured = as_if.get((row.anchor, gpu))
            published = unmeasured.published if unmeasured else None
            rows.append(
                {
                    "From": names(row.anchor),
                    "To": names(gpu),
                    "Off by": format_percent(row.mape.of(known)),
                    "Missed": format_percent(row.missed_90.of(known)),
                    "Interval": _reach(row.median_interval_pct.of(known)),
                    "One step known": format_percent(unmeasured.point[True].mape) if unmeasured else MISSING,
                    "By published speed": format_percent(published.mape) if published else MISSING,
                    "Cheaper or dearer said": MISSING if row.claims is None else format_percent(row.claims),
                    "Rightly": MISSING if row.claims_right is None else format_percent(row.claims_right),
                }
            )
    show_table(rows, "Errors of the derived GPUs")
    st.caption(
        "One step known, by published speed: as if nobody had measured it, the anchor's latency given; the second is "
        "the way the GPUs below are reached. Cheaper or dearer said: how often g5.xlarge against g4dn.xlarge was not "
        "too close to call, the anchor's latency given, and how often that was right."
    )


def _unmeasured(resources: Resources) -> None:
    transfer = resources.models.transfer
    rows = []
    for gpu in unmeasured_gpus(transfer, resources.catalog):
        speed = known_speed(transfer, gpu, True)
        width = 100 * (math.exp(speed.log_half_width) - 1)
        rows.append({"GPU": plain(gpu.name), "Speed from": speed.note.partition(";")[0], "At least": _reach(width)})
    if rows:
        st.markdown(
            "**Reached by what is published**, checked by no measurement; and how wide its interval is at least:"
        )
        show_table(rows, "GPUs that no measurement checks")
