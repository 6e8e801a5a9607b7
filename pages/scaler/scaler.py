"""Scaler: latency at every batch or image size, from the latencies at the smallest and the largest one."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st
from msgspec.structs import replace
from streamlit.delta_generator import DeltaGenerator

from profet_core import ProfetError
from profet_core.answers.advise import advise_training
from profet_core.answers.sizes import answer_scale, answer_sizes
from profet_core.catalog.instance import gpu_words
from profet_core.latency import BasisWord
from profet_core.prediction.scaler import AXIS_RANGE, axis_range
from profet_core.questions import ScaleQuestion, ask
from profet_core.training.advise import ORIGINAL
from profet_profiles.units import format_ms, format_significant, typed_positive
from ui.charts import COLORS, show_chart
from ui.curves import LATENCY, Curve, Look, curves, size_axis
from ui.fields import SIZE_LABELS, aside_note, choice, number_field, select, set_aside
from ui.frame import run_page
from ui.predicted import current_network
from ui.resources import Resources
from ui.session import session
from ui.tables import export_row
from ui.words import error_words, page_path, plain


def main(resources: Resources) -> None:
    """Draw the page."""
    state = session.scaler
    with st.container(horizontal=True, gap="small"):
        choice("scaler_axis")
        choice("scaler_method")
    axis, (smallest, largest) = state.scaler_axis, axis_range(state.scaler_axis)
    offers = {name: resources.catalog[name] for name in ORIGINAL}
    labels = {name: f"{gpu_words(offer)} ({name})" for name, offer in offers.items()}
    instance, left, right = st.columns(3, gap="small")
    before, keys = state.scaler_instance, [f"scaler_{end}_{name}" for end in ("min", "max") for name in AXIS_RANGE]
    with instance:
        change = lambda: set_aside("scaler", before, state.scaler_instance, keys)  # noqa: E731
        select("scaler_instance", labels, on_change=change)
    aside_note("scaler", state.scaler_instance, lambda name: gpu_words(resources.catalog[name]))
    offer = offers[state.scaler_instance]
    predicted = _predicted_ends(resources, offer.name, axis)
    min_ms = _latency_input("Min", axis, smallest, predicted.min_ms, left)
    max_ms = _latency_input("Max", axis, largest, predicted.max_ms, right)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f":small[{plain(predicted.words)}]", width="content")
        st.page_link(page_path("predict"), label="Change profile", icon=":material/edit:")
    at_key = f"scaler_at_{axis}"
    slider, metric = st.columns([3, 1], gap="medium")
    at: int = slider.slider(SIZE_LABELS[axis], smallest, largest, key=at_key, persist_state="session")
    if min_ms is None or max_ms is None:
        st.info("Enter both latencies.", icon=":material/info:")
        return
    between: dict[str, object] = {"method": state.scaler_method}
    # The documented polynomial passes through the ends alone.
    if predicted.profiled and state.scaler_method == "default":
        between |= zip(("known_at", "known_ms"), predicted.profiled, strict=True)
    ends = {"min_ms": min_ms, "max_ms": max_ms}
    question = ask(ScaleQuestion, {"instance": offer.name, "axis": axis, "at": at, **ends, **between})
    sizes = range(smallest, largest + 1)
    scaled, curve_ms = answer_scale(resources, question, sizes)
    metric.metric(f"Latency at {SIZE_LABELS[axis].lower()} {at}", f"{format_ms(scaled.latency_ms)}/step")
    look, x = Look(COLORS[predicted.basis]), size_axis(axis, sizes, log=False)
    line = Curve(label=labels[offer.name], look=look, sizes=sizes, values=curve_ms, largest_fit=predicted.largest_fit)
    places = [(smallest, min_ms), *filter(None, [predicted.profiled]), (largest, max_ms)]
    marked, values_ms = zip(*places, strict=True)
    label = "Latency Min, profiled size, Max" if predicted.profiled else "Latency Min and Max"
    marks = Curve(label=label, look=look, sizes=marked, values=values_ms, marks=True)
    show_chart(curves([line, marks], LATENCY, x, log=False, at=at), "scaler-curve")
    if predicted.largest_fit is not None:
        st.caption(f"Fits in memory up to batch {predicted.largest_fit}. Dotted: may not fit.")
    shown = zip(sizes, curve_ms, strict=True)
    rows = [{"instance": offer.name, "axis": axis, "at": size, "latency_ms": value_ms} for size, value_ms in shown]
    export_row(f"profet-scaler-{axis}", lambda: rows)


def _latency_input(end: str, axis: str, size: int, predicted_ms: float | None, at: DeltaGenerator) -> float | None:
    """Milliseconds at one end: as typed, else as predicted; emptying the field brings the prediction back."""
    key, widget = f"scaler_{end.lower()}_{axis}", f"scaler:{end}:{axis}"
    typed_ms: float | None = getattr(session.scaler, key)
    st.session_state[widget] = predicted_ms if typed_ms is None else typed_ms

    def take() -> None:
        setattr(session.scaler, key, st.session_state[widget])

    label = f"Latency {end} ({'batch' if axis == 'batch' else 'image size'} {size}), ms"
    number_field(widget, label=label, empty="e.g. 14", on_change=take, at=at)
    return predicted_ms if typed_ms is None else typed_ms


class _Ends(NamedTuple):
    """What Predict's profile gives at both ends, and at its own size; what it is based on, and what fits."""

    words: str
    min_ms: float | None = None
    max_ms: float | None = None
    profiled: tuple[int, float] | None = None
    basis: BasisWord = BasisWord.MEASURED
    largest_fit: int | None = None


def _predicted_ends(resources: Resources, instance: str, axis: str) -> _Ends:
    typed = [getattr(session.scaler, f"scaler_{end}_{axis}") is not None for end in ("min", "max")]
    predicted = _Ends(
        "The profile has no prediction here: enter both latencies, or on Predict the time per step of the anchor."
    )
    try:
        network = current_network(resources)
        question = replace(network.question, include_retired=True, images_per_s_per_vcpu=None)
        own = network.batch_size if axis == "batch" else network.training.prediction.pixels
        smallest, largest = axis_range(axis)
        sizes = sorted({smallest, largest, *([own] if own and smallest < own < largest else [])})
        answer = answer_sizes(
            resources,
            advise_training(resources, replace(question, gpu=(resources.catalog[instance].gpu,)), network.training),
            axis,
            sizes,
            choose=lambda rows: [row for row in rows if row.instance == instance],
        )
        what = "the network" if network.held.is_network else "the profile"
        for curve in answer.curves:
            # As the fields show them: whoever types these gets the same answer.
            low, *middle, high = (typed_positive(format_significant(point.latency_ms)) for point in curve.points)
            # Between measured endpoints, and by PROFET's own polynomial, these say it all.
            is_used = middle and low < middle[0] < high and not any(typed) and session.scaler.scaler_method == "default"
            predicted = _Ends(
                f"Min and Max are predicted from {what} {network.held.name.replace(' pixels', ' px')}.",
                low,
                high,
                (own, middle[0]) if own and is_used else None,
                curve.row.basis.word,
                curve.largest_fit if axis == "batch" else None,
            )
    except ProfetError as error:
        predicted = _Ends(error_words(error))
    if all(typed):
        predicted = predicted._replace(words="Your latencies.", basis=BasisWord.MEASURED)
    if any(typed) and predicted.min_ms is not None:
        predicted = predicted._replace(words=f"{predicted.words} Empty a field to use the prediction.")
    return predicted


run_page("Scaler prediction", main, lambda: (*session.prediction_inputs, session.training, session.scaler), alone=True)
