"""Scale: latencies at the smallest and the largest size in, the latency at every size between out."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.scale.figures import curves
from pages.scale.view import ReadOff, curve_rows, data_rows, text_rows
from profet_core.scaling.axes import axis_range
from profet_core.training.carried import carried_latencies
from profet_core.training.ends import contradictions
from ui.basis import show_basis
from ui.charts.style import show_chart
from ui.errors import show_errors, show_warning
from ui.frame import run_page
from ui.inputs.fields import choice, instance_or_all, optional_number
from ui.inputs.profile import profile_input
from ui.inputs.recorded import anchor_input, latency_input, latency_question
from ui.inputs.steps import besides_steps
from ui.live import live_part, live_view
from ui.predicted.scale_ends import Ends, current_ends, size_words
from ui.state.held import use_sample
from ui.state.page_keys import scale_keys
from ui.state.resources import Resources
from ui.state.settings import ALL_INSTANCES, AXES, ENDS, typed_end_key
from ui.state.slots import END_SLOTS
from ui.tables import download_buttons, show_table

_AXIS_LABELS = {"batch": "Batch size", "pixels": "Pixel size"}
_ENDS_LABELS = {"profiles": "Predict from two profiles", "typed": "Type the latencies"}


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("How does the step time grow?")
    st.markdown("From the latency at the smallest and at the largest size to every size between, on each instance.")
    with st.container(horizontal=True, gap="medium"):
        choice("Size", "axis", AXES, _AXIS_LABELS)
        choice("Latencies at both ends", "ends", ENDS, _ENDS_LABELS)
    axis = st.session_state["axis"]
    with st.container(border=True):
        if st.session_state["ends"] == "typed":
            _typed_ends(resources, axis)
        else:
            _profile_ends(resources, axis)
    ends = current_ends(resources, axis)
    _questions(resources, ends)
    _result(resources, ends)


def _typed_ends(resources: Resources, axis: str) -> None:
    smallest, largest = (size_words(axis, size) for size in axis_range(axis))
    st.caption(f"Step latency in milliseconds, at {smallest} and at {largest}. Leave out what you don't know.")
    for name in resources.models.instances:
        low, high = st.columns(2, gap="small")
        for column, end, words in ((low, "min", smallest), (high, "max", largest)):
            with column:
                optional_number(f"{name}, {words} (ms)", typed_end_key(axis, end, name), empty="not known")


def _profile_ends(resources: Resources, axis: str) -> None:
    pair = resources.sample_pair(axis)
    if pair:
        st.button(
            "Use the sample pair",
            key="use-sample-pair",
            icon=":material/science:",
            on_click=_use_pair,
            args=(axis, pair),
            help="; ".join(resources.samples[name].title for name in pair),
        )
    columns = st.columns(2, gap="medium")
    for column, slot, size in zip(columns, END_SLOTS[axis], axis_range(axis), strict=True):
        with column:
            words = size_words(axis, size)
            profile_input(resources, slot, f"Profile at {words}")
            latency_input(slot, f"Its step latency at {words} (optional)")
    anchor_input(resources, END_SLOTS[axis][0].anchor_key, "Both recorded on (anchor)")


def _use_pair(axis: str, pair: tuple[str, str]) -> None:
    for slot, name in zip(END_SLOTS[axis], pair, strict=True):
        use_sample(slot, name)


def _questions(resources: Resources, ends: Ends) -> None:
    """Doubts and warnings about either end, each told apart by its size."""
    for slot, outcome in zip(END_SLOTS[ends.axis], ends.outcomes, strict=False):
        latency_question(resources, slot, outcome)
    for line in contradictions(ends):
        show_warning(line)
    for outcome, size in zip(ends.outcomes, axis_range(ends.axis), strict=False):
        for line in besides_steps(outcome.prediction.warnings, outcome.held.profile, outcome.held.own):
            show_warning(f"At {size_words(ends.axis, size)}: {line}")


def _result(resources: Resources, ends: Ends) -> None:
    st.subheader("Latency at every size between", anchor="curves")
    instance_or_all(resources, "Show", "show", every="All instances")
    show = st.session_state["show"]
    chosen = ends if show == ALL_INSTANCES else ends.only(show)
    scaled = carried_latencies(resources.models, chosen)
    show_errors(scaled.problems)
    _show_missing(resources, ends, show)
    if scaled.latencies_ms:
        _between_the_ends(resources, chosen, scaled.latencies_ms)


def _between_the_ends(resources: Resources, ends: Ends, latencies_ms: Mapping[str, list[float]]) -> None:
    """The curves of the instances that have one, and their latencies at one size."""
    axis = ends.axis
    smallest, largest = axis_range(axis)
    rows = curve_rows(resources, ends, latencies_ms)
    size_title = "images per step (batch size)" if axis == "batch" else "pixels per side"
    predictions = [row for name, row in ends.predictions.items() if name in latencies_ms]
    with live_view("curves"):
        show_chart(curves(range(smallest, largest + 1), rows, size_title), "curves")
        live_part(lambda: _read_off(resources, ends, latencies_ms), resources, scale_keys)
    if predictions:
        st.caption(
            "Between the ends a latency is carried along a curve, whatever its ends rest on; it has no interval."
        )
    show_basis(predictions)
    if axis == "pixels":
        st.caption(
            "In the measurements a larger picture goes with more classes (32 pixels: 10; 64 and 128: 100; 224 and 256: "
            "1000), so these curves include a growing last layer."
        )


def _read_off(resources: Resources, ends: Ends, latencies_ms: Mapping[str, list[float]]) -> None:
    axis = ends.axis
    smallest, largest = axis_range(axis)
    at = st.slider(_AXIS_LABELS[axis], smallest, largest, key=axis, persist_state="session")
    read_off = ReadOff(ends, at, {name: values[at - smallest] for name, values in latencies_ms.items()})
    show_table(text_rows(resources.catalog, read_off), "Read-off")
    download_buttons(data_rows(read_off), f"profet-{axis}")


def _show_missing(resources: Resources, ends: Ends, show: str) -> None:
    missing = [name for name in resources.models.instances if name not in ends.both and show in (ALL_INSTANCES, name)]
    if not missing:
        return
    if ends.outcomes:
        st.info(f"{', '.join(missing)} is the anchor: give its latency at both ends to see its curve.")
    else:
        st.info(f"Type both latencies to see {', '.join(missing)}.")


run_page(body, scale_keys)
