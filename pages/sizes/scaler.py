"""The scaler: latency at a size between two measured ones, as `profet scale` gives it."""

from __future__ import annotations

import streamlit as st

from profet_core.advice.advise import ORIGINAL
from profet_core.answers.scale import ScaleQuestion, answer_scale
from profet_core.sizes.axes import axis_range
from profet_core.units import format_ms
from ui.charts.curves import Curve, curves
from ui.charts.gpu_look import gpu_look
from ui.charts.scales import LATENCY, size_axis
from ui.charts.style import show_chart
from ui.inputs.fields import choice, number_field
from ui.inputs.sizes import SIZE_LABELS, size_stops
from ui.predicted.outcome import context_of
from ui.state.resources import Resources
from ui.state.settings import scaler_key

_METHODS = {"default": "Default", "profet": "Polynomial (PROFET)"}


def show_scaler(resources: Resources, axis: str, *, log: bool) -> None:
    """Two latencies in, the latency at the slider's size out."""
    state, (smallest, largest) = st.session_state, axis_range(axis)
    at_key = scaler_key("at", axis)
    instance, low, high, method = st.columns([3, 2, 2, 3], gap="small", vertical_alignment="bottom")
    instance.selectbox(
        "Target instance",
        ORIGINAL,
        format_func=resources.instance_label,
        key="scaler_instance",
        persist_state="session",
    )
    with low:
        number_field("Latency Min (ms)", scaler_key("min", axis), empty=f"at {smallest}")
    with high:
        number_field("Latency Max (ms)", scaler_key("max", axis), empty=f"at {largest}")
    with method:
        choice("Method", "scaler_method", _METHODS)
    st.select_slider(SIZE_LABELS[axis], size_stops(axis, state[at_key], log=log), key=at_key, persist_state="session")
    min_ms, max_ms = state[scaler_key("min", axis)], state[scaler_key("max", axis)]
    if min_ms is None or max_ms is None:
        words = SIZE_LABELS[axis].lower().removesuffix(" (pixels)")
        st.info(f"Enter the measured latency at {words} {smallest} and at {words} {largest}.", icon=":material/info:")
        return
    question = ScaleQuestion(
        instance=state["scaler_instance"],
        axis=axis,
        min_ms=min_ms,
        max_ms=max_ms,
        at=state[at_key],
        method=state["scaler_method"],
    )
    answer = answer_scale(context_of(resources), question, range(smallest, largest + 1))
    st.metric(f"Latency at {SIZE_LABELS[axis].lower()} {question.at}", f"{format_ms(answer.scaled.latency_ms)}/step")
    offer = resources.catalog[question.instance]
    look = gpu_look(offer.gpu)
    line = Curve(label=question.instance, look=look, sizes=answer.sizes, values=answer.curve_ms)
    show_chart(curves([line], LATENCY, size_axis(axis, answer.sizes, log=log), log=log, at=question.at), "scaler")
    st.caption("The curve is fitted on the measured networks. `profet scale` prints the same number.")
