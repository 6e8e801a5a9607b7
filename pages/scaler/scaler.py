"""Scaler: latency at every batch or image size, from the latencies at the smallest and the largest one."""

from __future__ import annotations

from typing import Any

import streamlit as st
from msgspec.structs import replace
from streamlit.delta_generator import DeltaGenerator

from profet_core import ProfetError
from profet_core.answers.advise import advise_training
from profet_core.answers.sizes import answer_scale, answer_sizes
from profet_core.catalog.instance import gpu_words
from profet_core.prediction.scaler import AXIS_RANGE, axis_range
from profet_core.questions import ScaleQuestion, ask
from profet_profiles.units import format_ms
from ui.charts import show_chart
from ui.curves import LATENCY, Curve, curves, gpu_look, size_axis
from ui.fields import SIZE_LABELS, aside_note, choice, number_field, select, set_aside
from ui.frame import run_page
from ui.predicted import current_network
from ui.resources import Resources
from ui.session import ScalerView, session
from ui.tables import export_row
from ui.words import error_words, plain


def main(resources: Resources) -> None:
    """Draw the page."""
    state = session.scaler
    with st.container(horizontal=True, gap="small"):
        choice("Along", ScalerView.scaler_axis)
        choice("Method", ScalerView.scaler_method)
    axis, (smallest, largest) = state.scaler_axis, axis_range(state.scaler_axis)
    offers = {name: resources.catalog[name] for name in ScalerView.scaler_instance.options}
    labels = {name: f"{gpu_words(offer)} ({name})" for name, offer in offers.items()}
    instance, left, right = st.columns(3, gap="small")
    before, keys = state.scaler_instance, [f"scaler_{end}_{each}" for end in ("min", "max") for each in AXIS_RANGE]
    with instance:
        change = lambda: set_aside("scaler", before, state.scaler_instance, keys)  # noqa: E731
        select("Target instance", ScalerView.scaler_instance, labels, on_change=change)
    aside_note("scaler", state.scaler_instance, lambda name: gpu_words(resources.catalog[name]))
    offer = offers[state.scaler_instance]
    (min_ms, max_ms), profiled, basis = _predicted_ms(resources, offer.name, axis)
    min_ms = _latency_input("Min", axis, smallest, min_ms, left)
    max_ms = _latency_input("Max", axis, largest, max_ms, right)
    st.caption(plain(basis))
    at_key = f"scaler_at_{axis}"
    slider, metric = st.columns([3, 1], gap="medium")
    at: int = slider.slider(SIZE_LABELS[axis], smallest, largest, key=at_key, persist_state="session")
    if min_ms is None or max_ms is None:
        st.info("Enter both latencies.", icon=":material/info:")
        return
    ends = {"min_ms": min_ms, "max_ms": max_ms, "method": state.scaler_method}
    question = ask(ScaleQuestion, {"instance": offer.name, "axis": axis, "at": at, **ends, **profiled})
    sizes = range(smallest, largest + 1)
    scaled, curve_ms = answer_scale(resources, question, sizes)
    metric.metric(f"Latency at {SIZE_LABELS[axis].lower()} {at}", f"{format_ms(scaled.latency_ms)}/step")
    look, x = gpu_look(offer.gpu), size_axis(axis, sizes, log=False)
    line = Curve(label=labels[offer.name], look=look, sizes=sizes, values=curve_ms)
    known = {smallest: min_ms, **({profiled["known_at"]: profiled["known_ms"]} if profiled else {}), largest: max_ms}
    label = "Latency Min, profiled size, Max" if profiled else "Latency Min and Max"
    marks = Curve(label=label, look=look, sizes=[*known], values=[*known.values()], marks=True)
    show_chart(curves([line, marks], LATENCY, x, log=False, at=at), "scaler-curve")
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
    number_field(label, widget, empty="e.g. 14", on_change=take, at=at)
    return predicted_ms if typed_ms is None else typed_ms


def _predicted_ms(
    resources: Resources, instance: str, axis: str
) -> tuple[tuple[float | None, ...], dict[str, Any], str]:
    """Predict latencies at both ends, to six digits, and at the profile's own size; and say what they are."""
    typed = [getattr(session.scaler, f"scaler_{end}_{axis}") is not None for end in ("min", "max")]
    found: tuple[float | None, ...] = (None, None)
    profiled: dict[str, Any] = {}
    why = "The profile has no prediction here: enter both latencies, or on Predict the time per step of the anchor."
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
        for curve in answer.curves:
            # As the fields show them: whoever types these gets the same answer.
            low, *middle, high = (float(f"{point.latency_ms:.6g}") for point in curve.points)
            found = low, high
            fit = curve.row.fit
            why = f"Predicted from {network.held.name}."
            # Between measured endpoints, and by PROFET's own polynomial, these say it all.
            if middle and low < middle[0] < high and not any(typed) and session.scaler.scaler_method == "default":
                profiled = {"known_at": own, "known_ms": middle[0]}
            if axis == "batch" and fit is not None and fit.largest_batch and fit.largest_batch < axis_range(axis)[1]:
                why += f" Fits in memory up to batch {fit.largest_batch}."
    except ProfetError as error:
        why = error_words(error)
    why = "Your latencies." if all(typed) else why
    return found, profiled, f"{why} Empty a field to use the prediction." if any(typed) and found[0] else why


run_page("Scaler prediction", main, lambda: (*session.prediction_inputs, session.training, session.scaler), alone=True)
