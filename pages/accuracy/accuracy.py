"""Accuracy: how far off the predictions were on networks the models had never seen, and when not to trust them."""

from __future__ import annotations

import streamlit as st

from pages.accuracy.figures import (
    accuracy_of,
    chosen_points,
    coverage_dots,
    error_bars,
    predicted_against_measured,
    real_report_of,
    transfer_accuracy_of,
)
from pages.accuracy.memory import show_memory
from pages.accuracy.real import show_real
from pages.accuracy.unprofiled import show_unprofiled
from profet_core import ArtifactError
from profet_core.accuracy.errors import Errors
from profet_core.accuracy.validation import WITH_TWIN, FastestNamed, LeftOutAccuracy, PairAccuracy, Validation
from ui.errors import show_error
from ui.frame import run_page
from ui.inputs.fields import choice, instance_or_all
from ui.paths import page_path
from ui.state.page_keys import accuracy_keys
from ui.state.resources import Resources
from ui.state.settings import LATENCY_GIVEN
from ui.tables import MISSING, download_buttons, format_percent, format_range, show_table
from ui.texts import plain

#: Why the models err most where they do; what else has no relative in the data says that.
_REASONS = {
    "MobileNetV2": "the only network with depthwise convolutions",
    "LeNet5": "so small that launching operations takes longer than running them",
    "ResNetSmall": "so small that launching operations takes longer than running them",
    "InceptionResNetV2": "TensorFlow cut its profiles to the 500 costliest operations",
}
_NO_RELATIVE, _RELATIVE = "no near relative in the data", "has near relatives in the data"
_WORST = 5
_AXES = {"batch": "batch size", "pixels": "pixel size"}
_LATENCY_LABELS = {"given": "Given", "not": "Not given"}

_BEYOND = """
- **Not a CNN**: transformers, recurrent networks and custom kernels were never measured.
- **Not FP32**: mixed precision, TF32 and XLA change what a step does.
- **More than one GPU**. GPUs that nobody profiled have [figures of their own](#unprofiled), and so has
  [memory](#memory).
"""


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("How far off is it?")
    try:
        accuracy = accuracy_of(resources)
    except ArtifactError as error:
        show_error(str(error))
        return
    count = len(accuracy.architectures)
    st.markdown(
        f"Each of {count} networks was left out in turn and predicted by models that had never seen it. The figures "
        "are mean errors: how far the predicted step latency lay from the measured one. All were measured on PROFET's "
        "own recordings (TensorFlow 2.5, FP32); what strangers' profiles showed stands last."
    )
    choice("The anchor's step latency", "latency_is", LATENCY_GIVEN, _LATENCY_LABELS)
    known = st.session_state["latency_is"] == "given"
    _lead(accuracy, known)
    _worst(accuracy, known)
    _overall(accuracy)
    _architectures(accuracy, known)
    _pairs(accuracy, known)
    _scatter(resources, accuracy)
    _coverage(resources, accuracy, known)
    _fastest(accuracy)
    _scalers(accuracy)
    _beyond_the_profiled(resources, known)
    _real(resources, known)
    st.caption(
        f"Measured on {plain(accuracy.made)} for the loaded models (checksum {accuracy.models_checksum[:12]}). "
        "The original: PROFET's own method on the same networks, left out in the same way."
    )
    st.page_link(page_path("guide"), label="How the numbers are made", icon=":material/menu_book:")


def _lead(accuracy: Validation, known: bool) -> None:
    unlike = sum(name not in WITH_TWIN for name in accuracy.architectures)
    noise = sorted(accuracy.noise.values())
    columns = st.columns(4, gap="medium", border=True)
    for column, title, value, line in (
        (
            columns[0],
            "A network unlike any in the data",
            format_percent(accuracy.unlike.of(known)),
            f"original {format_percent(accuracy.unlike_original.of(known))}; {unlike} networks without a near relative",
        ),
        (
            columns[1],
            "Any network, its family left out",
            format_percent(accuracy.family.error.of(known)),
            "all ResNets, all VGGs, both Inceptions at a time",
        ),
        (
            columns[2],
            "Any network, mean of all pairs",
            format_percent(accuracy.mean.error.of(known)),
            f"original {format_percent(accuracy.original.of(known))}; worst pair "
            f"{format_percent(accuracy.worst_pair.of(known))}",
        ),
        (
            columns[3],
            "One run to the next",
            format_range(f"{noise[0]:.1f}", f"{noise[-1]:.1f} %").replace(" – ", "–"),
            "the same step measured again, by instance: no model gets below",
        ),
    ):
        column.metric(title, value)
        column.caption(line)


def _worst(accuracy: Validation, known: bool) -> None:
    st.subheader("When not to trust it", anchor="limits")
    ordered = sorted(accuracy.architectures.items(), key=lambda item: -item[1].left_out.error.of(known))
    st.markdown(f"The {_WORST} networks it erred on most. One like them may fare no better:")
    st.markdown(
        "\n".join(
            f"- **{plain(name)}**: **{format_percent(row.left_out.error.of(known))}** off "
            f"(original {format_percent(row.original.of(known))}); "
            f"{_REASONS.get(name, _RELATIVE if name in WITH_TWIN else _NO_RELATIVE)}."
            for name, row in ordered[:_WORST]
        )
    )
    st.markdown(f"No figure here covers:\n{_BEYOND}")
    st.markdown("Where Predict says **unlike** or warns of a cut profile, expect errors as large as these, or larger.")


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


def _architectures(accuracy: Validation, known: bool) -> None:
    st.subheader("Per network", anchor="networks")
    rows = accuracy.architectures
    st.plotly_chart(
        error_bars(
            {name: row.left_out.error.of(known) for name, row in rows.items()},
            {name: row.original.of(known) for name, row in rows.items()},
        ),
        config={"displayModeBar": False},
        key="network-errors",
    )


def _pairs(accuracy: Validation, known: bool) -> None:
    st.subheader("Per pair", anchor="pairs")
    show_table(
        [
            {
                "Anchor": row.anchor,
                "Target": row.target,
                "Off by": format_percent(row.left_out.error.of(known)),
                "Original": format_percent(row.original.of(known)),
                "Documented": format_percent(row.documented.of(known)),
                "Inside interval": format_percent(row.left_out.covered.of(known)),
                "Interval": f"±{row.left_out.half_width.of(known):.0f} %",
            }
            for row in accuracy.pairs
        ],
        "Errors per pair",
    )
    download_buttons([_pair_data(row) for row in accuracy.pairs], "profet-accuracy")


def _pair_data(row: PairAccuracy) -> dict[str, object]:
    found: dict[str, object] = {"anchor": row.anchor, "target": row.target, "n": row.n}
    for case, known in (("with_latency", True), ("without_latency", False)):
        found |= {
            f"mape_{case}": row.left_out.error.of(known),
            f"original_mape_{case}": row.original.of(known),
            f"documented_mape_{case}": row.documented.of(known),
            f"covered_percent_{case}": row.left_out.covered.of(known),
            f"half_width_percent_{case}": row.left_out.half_width.of(known),
        }
    return {**found, "r2": row.r2, "rmse_ms": row.rmse_ms}


def _scatter(resources: Resources, accuracy: Validation) -> None:
    st.subheader("Predicted against measured", anchor="points")
    left, right = st.columns([1, 3], gap="medium")
    with left:
        instance_or_all(resources, "Anchor", "points_anchor", every="All")
        instance_or_all(resources, "Target", "points_target", every="All")
    points = chosen_points(accuracy.points, st.session_state["points_anchor"], st.session_state["points_target"])
    if not points:
        right.info("An instance isn't predicted from itself: choose another anchor or target.")
        return
    right.plotly_chart(predicted_against_measured(points), config={"displayModeBar": False}, key="points")
    left.caption(
        f"{len(points):,} predictions, each network left out in turn, the anchor's latency given, medians of repeated "
        "runs. On the dotted line the prediction is right."
    )


def _coverage(resources: Resources, accuracy: Validation, known: bool) -> None:
    scale = resources.models.interval_scale(known)
    level = 0.9 if scale is None else scale.level
    st.subheader(f"Does the {level:.0%} interval hold?", anchor="intervals")
    st.markdown(
        f"Over all pairs **{format_percent(accuracy.mean.covered.of(known))}** of measurements fell inside; half of "
        f"the intervals reach at most ±{accuracy.mean.half_width.of(known):.0f} %. The promise is for predictions as "
        "a whole, **not for each new network**: single ones are covered less."
    )
    rows = {name: row.left_out for name, row in accuracy.architectures.items()}
    st.plotly_chart(
        coverage_dots(
            {name: row.covered.of(known) for name, row in rows.items()},
            {name: row.half_width.of(known) for name, row in rows.items()},
            level,
        ),
        config={"displayModeBar": False},
        key="coverage",
    )
    st.markdown("With the whole family left out:")
    show_table(
        [_family_row(name, row, known) for name, row in accuracy.families.items()]
        + [_family_row("All", accuracy.family, known)],
        "Coverage per family",
    )


def _family_row(name: str, row: LeftOutAccuracy, known: bool) -> dict[str, str]:
    return {
        "Family": name,
        "Off by": format_percent(row.error.of(known)),
        "Inside interval": format_percent(row.covered.of(known)),
        "Interval": f"±{row.half_width.of(known):.0f} %",
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
                "Original": MISSING if row.original is None else format_percent(row.original),
                **{name: format_percent(value) for name, value in row.by_instance.items()},
            }
            for row in accuracy.scalers
        ],
        "Errors of the scalers",
    )


def _beyond_the_profiled(resources: Resources, known: bool) -> None:
    try:
        accuracy = transfer_accuracy_of(resources)
    except ArtifactError as error:
        st.subheader("GPUs that nobody profiled, and memory", anchor="unprofiled")
        show_error(str(error))
        return
    show_unprofiled(resources, accuracy, known)
    show_memory(resources, accuracy.memory)
    st.caption(
        f"Both measured on {plain(accuracy.made)} for the loaded transfer.json (checksum "
        f"{accuracy.transfer_checksum[:12]}) and memory.json ({accuracy.memory_checksum[:12]}). Their card: "
        "models/TRANSFER_CARD.md."
    )


def _real(resources: Resources, known: bool) -> None:
    try:
        report = real_report_of(resources)
    except ArtifactError as error:
        st.subheader("Profiles of strangers", anchor="strangers")
        show_error(str(error))
        return
    if report is not None:
        show_real(report, known)


def _both(errors: Errors) -> dict[str, str]:
    return {
        "Latency given": format_percent(errors.with_latency),
        "Not given": format_percent(errors.without_latency),
    }


run_page(body, accuracy_keys)
