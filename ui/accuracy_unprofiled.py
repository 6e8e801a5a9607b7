"""The part of Accuracy on GPUs that nobody profiled: errors with a GPU left out, and what no measurement checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import plotly.graph_objects as go
import streamlit as st

from profet_core.catalog.gpus import gpu_model
from profet_core.transfer_accuracy import (
    CORRECTED,
    PROMISED_MISSES,
    RAW,
    Direction,
    GpuErrors,
    TransferAccuracy,
    unmeasured_gpus,
)
from profet_core.transfer_speed import known_speed
from ui.charts import GRID, INTERVAL_COLOUR, MEASURED_COLOUR, PREDICTED_COLOUR, framed
from ui.errors import plain
from ui.resources import Resources
from ui.tables import MISSING, download_buttons, format_percent, show_table

#: Intervals that miss within this many points of what they promise are as wide as they should be.
_AS_PROMISED = 1.0
_BARS = {"displayModeBar": False}


def show_unprofiled(resources: Resources, accuracy: TransferAccuracy, known: bool) -> None:
    """Words first, then one chart and the tables."""
    names = _Names(resources)
    st.subheader("GPUs that nobody profiled", anchor="unprofiled")
    st.markdown(_lead(names, accuracy, known))
    st.markdown("\n".join(f"- {line}" for line in _must_know(resources, names, accuracy, known)))
    st.plotly_chart(direction_dots(_dots(names, accuracy.directions, known)), config=_BARS, key="left-out-gpus")
    _directions(names, accuracy, known)
    _intervals(names, accuracy, known)
    _derived(names, accuracy, known)
    _unmeasured(resources)


class _Names:
    """Short names of GPUs, by instance or by full name."""

    def __init__(self, resources: Resources) -> None:
        self._catalog = resources.catalog

    def __call__(self, name: str) -> str:
        """'V100' of 'p3.2xlarge' or of 'Tesla V100-SXM2-16GB'."""
        return gpu_model(self._catalog[name].gpu if name in self._catalog else name)

    def way(self, row: Direction) -> str:
        """'K80 → V100'."""
        return f"{self(row.anchor)} → {self(row.target)}"


def _lead(names: _Names, accuracy: TransferAccuracy, known: bool) -> str:
    worst, sheet, constant = (
        accuracy.worst(known),
        accuracy.worst_sheet_only(known),
        accuracy.worst_constant(),
    )
    mean = accuracy.mean
    return (
        f"Each of {len(accuracy.by_gpu)} profiled GPUs was left out in turn, as if nobody had profiled it: of it only "
        "the data sheet and ResNet-50's step latency were known. Networks were left out too. The mean error was "
        f"**{format_percent(mean.point[known].mape)}**, in the worst direction, {names.way(worst)}, "
        f"**{format_percent(worst.point[known].mape)}**. "
        f"By the data sheet alone it was {format_percent(mean.sheet_only[known].mape)} "
        f"({names.way(sheet)}: {format_percent(sheet.sheet_only[known].mape)}); by one constant between two GPUs "
        f"{format_percent(mean.one_constant)} ({names.way(constant)}: {format_percent(constant.one_constant)})."
    )


def _must_know(resources: Resources, names: _Names, accuracy: TransferAccuracy, known: bool) -> Iterable[str]:
    unchecked = [gpu.name for gpu in unmeasured_gpus(resources.models.transfer, resources.catalog)]
    if unchecked:
        listed = ", ".join(dict.fromkeys(plain(names(name)) for name in unchecked))
        yield (
            f"**No measurement checks {listed}** themselves. They rest on published speeds or data sheets, and GPUs "
            "left out here are all that speaks for them: expect errors at least as large."
        )
    yield from _on_derived(names, accuracy, known)
    missed = {names(name): row.point[known].missed_90 for name, row in accuracy.by_gpu.items()}
    listed = ", ".join(f"{plain(name)} {format_percent(value)} ({_verdict(value)})" for name, value in missed.items())
    yield (
        f"**Intervals** should miss {PROMISED_MISSES:.0f} %. With the GPU left out they missed: {listed}. "
        f"{len(missed)} GPUs can't show that they hold for the next one."
    )
    beaten = accuracy.beaten_by_constant(known)
    if beaten:
        yield (
            f"In {len(beaten)} of {len(accuracy.directions)} directions one plain constant did better: "
            f"{', '.join(plain(names.way(row)) for row in beaten)}."
        )


def _on_derived(names: _Names, accuracy: TransferAccuracy, known: bool) -> Iterable[str]:
    raw, corrected = accuracy.routes[RAW], accuracy.routes[CORRECTED]
    for gpu, found in accuracy.derived.items():
        yield (
            f"**{plain(names(gpu))}** comes from another source's epoch times, which are biased. On T4 and V100, which "
            f"both sources measured, their ratio is off by {format_percent(raw.t4_to_v100)} and "
            f"{format_percent(raw.v100_to_t4)} (there and back), corrected by {format_percent(corrected.t4_to_v100)} "
            f"and {format_percent(corrected.v100_to_t4)}. Judged by corrected times of the same source it was off by "
            f"{format_percent(found.mean.of(known))}; PROFET never measured it."
        )


def _verdict(missed: float) -> str:
    if missed > PROMISED_MISSES + _AS_PROMISED:
        return "too narrow"
    return "too wide" if missed < PROMISED_MISSES - _AS_PROMISED else "as promised"


def _dots(names: _Names, rows: Sequence[Direction], known: bool) -> dict[str, dict[str, float]]:
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
    marks = ((PREDICTED_COLOUR, "circle"), (INTERVAL_COLOUR, "diamond-open"), (MEASURED_COLOUR, "x"))
    for way, (colour, symbol) in zip(ways, marks, strict=True):
        figure.add_scatter(
            x=[errors[name][way] for name in ordered],
            y=ordered,
            name=way,
            mode="markers",
            marker={"size": 10, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
            hovertemplate="%{y}: %{x:.1f} % " + way + "<extra></extra>",
        )
    figure.update_xaxes(title="mean error, %", gridcolor=GRID, rangemode="tozero", fixedrange=True)
    figure.update_yaxes(fixedrange=True, ticksuffix="  ", automargin=True, gridcolor=GRID)
    return framed(figure, "", height=130 + 28 * len(ordered))


def _directions(names: _Names, accuracy: TransferAccuracy, known: bool) -> None:
    rows = [
        {"From": names(row.anchor), "Left out": names(row.target), **_figures(row, known)}
        for row in accuracy.directions
    ]
    rows += [{"From": "All", "Left out": names(name), **_figures(row, known)} for name, row in accuracy.by_gpu.items()]
    rows.append({"From": "All", "Left out": "Mean", **_figures(accuracy.mean, known)})
    show_table(rows, "Errors with a GPU left out")
    st.caption("Leaning: predictions too long (+) or too short (-) as a whole. Missed: outside the 90 % interval.")
    download_buttons([_data(row) for row in accuracy.directions], "profet-accuracy-gpus")


def _figures(row: GpuErrors, known: bool) -> dict[str, str]:
    point, sheet = row.point[known], row.sheet_only[known]
    return {
        "Off by": format_percent(point.mape),
        "Leaning": f"{point.bias:+.1f} %",
        "Missed": format_percent(point.missed_90),
        "Interval": f"±{point.median_interval_pct:.0f} %",
        "Sheet only": format_percent(sheet.mape),
        "One constant": format_percent(row.one_constant),
    }


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


def _intervals(names: _Names, accuracy: TransferAccuracy, known: bool) -> None:
    st.markdown("**Where 90 % intervals are too wide and too narrow**, by the GPU left out:")
    rows = []
    for name, row in (*accuracy.by_gpu.items(), ("", accuracy.mean)):
        point, sheet = row.point[known], row.sheet_only[known]
        rows.append(
            {
                "Left out": names(name) if name else "Mean",
                "Missed": format_percent(point.missed_90),
                "So it is": _verdict(point.missed_90),
                "Interval": f"±{point.median_interval_pct:.0f} %",
                "Sheet only missed": format_percent(sheet.missed_90),
                "So that is": _verdict(sheet.missed_90),
                "Its interval": f"±{sheet.median_interval_pct:.0f} %",
            }
        )
    show_table(rows, "Interval misses per GPU left out")


def _derived(names: _Names, accuracy: TransferAccuracy, known: bool) -> None:
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
                    "Interval": f"±{row.median_interval_pct.of(known):.0f} %",
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
        rows.append({"GPU": plain(gpu.name), "Speed from": speed.note.partition(";")[0], "At least": f"±{width:.0f} %"})
    if rows:
        st.markdown(
            "**Reached by what is published**, checked by no measurement; and how wide its interval is at least:"
        )
        show_table(rows, "GPUs that no measurement checks")
