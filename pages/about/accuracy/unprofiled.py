"""The part of Accuracy on GPUs that nobody profiled: errors with a GPU left out, and what no measurement checks."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.about.accuracy.figures import direction_dots
from pages.about.accuracy.percents import CASES, format_percent
from pages.about.accuracy.unprofiled_checks import show_anchors, show_tables
from pages.about.accuracy.unprofiled_gpus import show_gpus
from pages.about.accuracy.unprofiled_words import Unprofiled, lead, must_know, reach, verdict
from profet_core.accuracy.transfer import Direction, LeftOutGpu, OtherGpu, Served
from ui.charts.style import show_chart
from ui.tables import MISSING, download_buttons, or_missing, show_table
from ui.texts import paragraph, plain

_TEXTS = Path(__file__).parent


def show_unprofiled(shown: Unprofiled) -> None:
    """Words first, then one chart and the tables."""
    st.subheader("GPUs that nobody profiled", anchor="unprofiled")
    st.markdown(lead(shown))
    st.markdown("\n".join(f"- {line}" for line in must_know(shown)))
    show_gpus(shown)
    st.caption(paragraph(_TEXTS / "unprofiled_gpus.md"))
    show_chart(direction_dots(_errors_by_way(shown)), "left-out-gpus")
    _directions(shown)
    st.markdown("**As anchor**: of the GPU that recorded the profile only data sheet and ResNet-50's step were known:")
    show_anchors(shown)
    _intervals(shown)
    _derived(shown)
    st.markdown("**Published tables** of training speeds beside V100's:")
    show_tables(shown)


def _errors_by_way(shown: Unprofiled) -> dict[str, dict[str, float]]:
    """Direction -> mean error by what is known of the GPU."""
    known = shown.latency_known
    return {
        shown.way(row): {
            "one step known": row.point[known].mape,
            "data sheet only": row.sheet_only[known].mape,
            "one constant": row.one_constant,
        }
        for row in shown.accuracy.directions
    }


def _directions(shown: Unprofiled) -> None:
    accuracy = shown.accuracy
    rows = [
        {"From": shown.gpu(row.anchor), "Left out": shown.gpu(row.target), **_cells(row, shown.latency_known)}
        for row in accuracy.directions
    ]
    rows.append({"From": "All", "Left out": "Mean", **_cells(accuracy.mean, shown.latency_known)})
    show_table(rows, "Errors with a GPU left out")
    st.caption(
        "Leaning: predictions too long (+) or too short (-) as a whole. Missed: outside the 90 % interval. Interval: "
        "how far up half of them reach at most; downwards by the same factor."
    )
    download_buttons([_data(row) for row in accuracy.directions], "profet-accuracy-gpus")


def _cells(row: LeftOutGpu, latency_known: bool) -> dict[str, str]:
    point, sheet = row.point[latency_known], row.sheet_only[latency_known]
    return {
        "Off by": format_percent(point.mape),
        "Leaning": f"{point.bias:+.1f} %",
        "Missed": format_percent(point.missed_90),
        "Interval": reach(point.median_interval_pct),
        "Sheet only": format_percent(sheet.mape),
        "One constant": format_percent(row.one_constant),
    }


def _data(row: Direction) -> dict[str, object]:
    found: dict[str, object] = {"anchor": row.anchor, "target": row.target, "n": row.n}
    for case, known in CASES.items():
        for prefix, figures in (("", row.point[known]), ("sheet_only_", row.sheet_only[known])):
            found |= {
                f"{prefix}mape_{case}": figures.mape,
                f"{prefix}bias_{case}": figures.bias,
                f"{prefix}missed_90_{case}": figures.missed_90,
                f"{prefix}median_interval_pct_{case}": figures.median_interval_pct,
            }
    return {**found, "one_constant": row.one_constant}


def _intervals(shown: Unprofiled) -> None:
    known = shown.latency_known
    st.markdown("**Where 90 % intervals are too wide and too narrow**, by the GPU left out:")
    rows = []
    for name, row in shown.accuracy.by_gpu.items():
        point, sheet = row.point[known], row.sheet_only[known]
        rows.append(
            {
                "Left out": shown.gpu(name),
                "Off by": format_percent(point.mape),
                "Missed": format_percent(point.missed_90),
                "So it is": verdict(point.missed_90),
                "Interval": reach(point.median_interval_pct),
                "Sheet only missed": format_percent(sheet.missed_90),
                "So that is": verdict(sheet.missed_90),
                "Its interval": reach(sheet.median_interval_pct),
            }
        )
    show_table(rows, "Interval misses per GPU left out")


def _derived(shown: Unprofiled) -> None:
    derived = shown.accuracy.derived
    st.markdown(
        f"**{' and '.join(plain(shown.gpu(gpu)) for gpu in derived)}**, judged by the other source's corrected "
        "steps, networks left out:"
    )
    as_if_unmeasured = {(row.anchor, row.target): row for row in shown.accuracy.other_gpus}
    show_table(
        [
            _derived_row(shown, gpu, row, as_if_unmeasured.get((row.anchor, gpu)))
            for gpu, found in derived.items()
            for row in found.served
        ],
        "Errors of the derived GPUs",
    )
    st.caption(paragraph(_TEXTS / "unprofiled_derived_table.md"))


def _derived_row(shown: Unprofiled, gpu: str, row: Served, unmeasured: OtherGpu | None) -> dict[str, str]:
    known, published = shown.latency_known, unmeasured.published if unmeasured else None
    return {
        "From": shown.gpu(row.anchor),
        "To": shown.gpu(gpu),
        "Off by": format_percent(row.mape.of(known)),
        "Missed": format_percent(row.missed_90.of(known)),
        "Interval": reach(row.median_interval_pct.of(known)),
        "One step known": format_percent(unmeasured.point[True].mape) if unmeasured else MISSING,
        "By published speed": format_percent(published.mape) if published else MISSING,
        "Cheaper or dearer said": or_missing(row.claims, format_percent),
        "Rightly": or_missing(row.claims_right, format_percent),
    }
