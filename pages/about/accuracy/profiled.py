"""The part of Accuracy on the profiled GPUs: each network left out in turn, by method, network, pair and size."""

from __future__ import annotations

import streamlit as st

from pages.about.accuracy.figures import chosen_points, coverage_dots, error_bars, predicted_against_measured
from pages.about.accuracy.percents import CASES, format_percent
from profet_core.accuracy.errors import Errors
from profet_core.accuracy.validation import FastestNamed, LeftOutAccuracy, PairAccuracy, Validation
from ui.charts.style import show_chart
from ui.inputs.fields import instance_or_all
from ui.state.resources import Resources
from ui.tables import download_buttons, or_missing, show_table

_AXES = {"batch": "batch size", "pixels": "pixel size"}


def show_profiled(resources: Resources, accuracy: Validation, latency_known: bool) -> None:
    """All sections, from the whole to the single figures."""
    _overall(accuracy)
    _architectures(accuracy, latency_known)
    _pairs(accuracy, latency_known)
    _points(resources, accuracy)
    _coverage(resources, accuracy, latency_known)
    _fastest(accuracy)
    _scalers(accuracy)


def _overall(accuracy: Validation) -> None:
    st.subheader("All pairs", anchor="overall")
    rows = [
        ("Default method", accuracy.mean.error),
        ("Its worst pair", accuracy.worst_pair),
        ("With batch and pixel size in the profile", accuracy.with_sizes),
        ("With one other latency measured on the target", accuracy.measured),
        ("Unlike any in the data", accuracy.unlike),
        ("Unlike, and its family left out", accuracy.family_unlike),
        ("Documented ensemble", accuracy.documented),
        ("Original", accuracy.original),
        ("Original's worst pair", accuracy.original_worst_pair),
        ("Original, unlike any in the data", accuracy.unlike_original),
    ]
    show_table([{"Mean error": name, **_both(errors)} for name, errors in rows if errors], "Errors of each method")
    noise = ", ".join(f"{name} {format_percent(value)}" for name, value in accuracy.noise.items())
    st.caption(f"Run-to-run noise: {noise}.")


def _architectures(accuracy: Validation, latency_known: bool) -> None:
    st.subheader("Per network", anchor="networks")
    rows = accuracy.architectures
    show_chart(
        error_bars(
            {name: row.left_out.error.of(latency_known) for name, row in rows.items()},
            {name: row.original.of(latency_known) for name, row in rows.items()},
        ),
        "network-errors",
    )


def _pairs(accuracy: Validation, latency_known: bool) -> None:
    st.subheader("Per pair", anchor="pairs")
    show_table(
        [
            {
                "Anchor": row.anchor,
                "Target": row.target,
                "Off by": format_percent(row.left_out.error.of(latency_known)),
                "Original": format_percent(row.original.of(latency_known)),
                "Documented": format_percent(row.documented.of(latency_known)),
                "Inside interval": format_percent(row.left_out.covered.of(latency_known)),
                "Interval": f"±{row.left_out.half_width.of(latency_known):.0f} %",
            }
            for row in accuracy.pairs
        ],
        "Errors per pair",
    )
    download_buttons([_pair_data(row) for row in accuracy.pairs], "profet-accuracy")


def _pair_data(row: PairAccuracy) -> dict[str, object]:
    found: dict[str, object] = {"anchor": row.anchor, "target": row.target, "n": row.n}
    for case, known in CASES.items():
        found |= {
            f"mape_{case}": row.left_out.error.of(known),
            f"original_mape_{case}": row.original.of(known),
            f"documented_mape_{case}": row.documented.of(known),
            f"covered_percent_{case}": row.left_out.covered.of(known),
            f"half_width_percent_{case}": row.left_out.half_width.of(known),
        }
    return {**found, "r2": row.r2, "rmse_ms": row.rmse_ms}


def _points(resources: Resources, accuracy: Validation) -> None:
    st.subheader("Predicted against measured", anchor="points")
    left, right = st.columns([1, 3], gap="medium")
    with left:
        instance_or_all(resources, "Anchor", "points_anchor", every="All")
        instance_or_all(resources, "Target", "points_target", every="All")
    points = chosen_points(accuracy.points, st.session_state["points_anchor"], st.session_state["points_target"])
    if not points:
        right.info("An instance isn't predicted from itself: choose another anchor or target.")
        return
    with right:
        show_chart(predicted_against_measured(points), "points")
    left.caption(
        f"{len(points):,} predictions, each network left out in turn, the anchor's latency given, medians of repeated "
        "runs. On the dotted line the prediction is right."
    )


def _coverage(resources: Resources, accuracy: Validation, latency_known: bool) -> None:
    scale = resources.models.interval_scale(latency_known)
    level = 0.9 if scale is None else scale.level
    st.subheader(f"Does the {level:.0%} interval hold?", anchor="intervals")
    covered, half_width = accuracy.mean.covered.of(latency_known), accuracy.mean.half_width.of(latency_known)
    st.markdown(
        f"Over all pairs **{format_percent(covered)}** of measurements fell inside; half of the intervals reach at "
        f"most ±{half_width:.0f} %. The promise is for predictions as a whole, **not for each new network**: single "
        "ones are covered less."
    )
    rows = {name: row.left_out for name, row in accuracy.architectures.items()}
    show_chart(
        coverage_dots(
            {name: row.covered.of(latency_known) for name, row in rows.items()},
            {name: row.half_width.of(latency_known) for name, row in rows.items()},
            level,
        ),
        "coverage",
    )
    st.markdown("With the whole family left out:")
    show_table(
        [_family_row(name, row, latency_known) for name, row in accuracy.families.items()]
        + [_family_row("All", accuracy.family, latency_known)],
        "Coverage per family",
    )


def _family_row(name: str, row: LeftOutAccuracy, latency_known: bool) -> dict[str, str]:
    return {
        "Family": name,
        "Off by": format_percent(row.error.of(latency_known)),
        "Inside interval": format_percent(row.covered.of(latency_known)),
        "Interval": f"±{row.half_width.of(latency_known):.0f} %",
    }


def _fastest(accuracy: Validation) -> None:
    st.subheader("Is the fastest one named rightly?", anchor="fastest")
    show_table(
        [_fastest_row(name, row) for name, row in accuracy.fastest_by_anchor.items()]
        + [_fastest_row("All", accuracy.fastest)],
        "Fastest instance named rightly",
    )
    st.caption("Time lost: by following the advice, against the instance that was truly fastest; mean of workloads.")


def _fastest_row(name: str, row: FastestNamed) -> dict[str, str]:
    return {"Anchor": name, "Named rightly": format_percent(row.right), "Time lost": format_percent(row.regret)}


def _scalers(accuracy: Validation) -> None:
    if not accuracy.scalers:
        return
    st.subheader("Sizes between two known ones", anchor="scale")
    show_table(
        [
            {
                "Axis": _AXES.get(row.axis, row.axis),
                "Ends": {"true": "measured"}.get(row.ends, row.ends),
                "Method": row.method,
                "Off by": format_percent(row.error),
                "Original": or_missing(row.original, format_percent),
                **{name: format_percent(value) for name, value in row.by_instance.items()},
            }
            for row in accuracy.scalers
        ],
        "Errors of the scalers",
    )


def _both(errors: Errors) -> dict[str, str]:
    return {
        "Latency given": format_percent(errors.with_latency),
        "Not given": format_percent(errors.without_latency),
    }
