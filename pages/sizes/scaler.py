"""The scaler: latency at a size between two measured ones, as `profet scale` gives it."""

from __future__ import annotations

import streamlit as st

from profet_core.answers.scale import ScaleQuestion, answer_scale
from profet_core.sizes.axes import axis_range
from profet_core.units import format_ms
from ui.charts.curves import LATENCY, Curve, curves, size_axis
from ui.charts.gpu_look import gpu_look
from ui.charts.style import show_chart
from ui.inputs.fields import choice, number_field, select
from ui.inputs.training import SIZE_LABELS, size_stops
from ui.predicted import context_of
from ui.state.resources import Resources
from ui.state.session import Scaler, ScalerSizes, session


def show_scaler(resources: Resources, axis: str, asked: ScalerSizes, *, log: bool) -> None:
    """Two latencies in, the latency at the slider's size out."""
    smallest, largest = axis_range(axis)
    instance, low, high, method = st.columns([3, 2, 2, 3], gap="small", vertical_alignment="bottom")
    with instance:
        names = {name: resources.instance_label(name) for name in Scaler.scaler_instance.options}
        select("Target instance", Scaler.scaler_instance, names)
    with low:
        number_field("Latency Min (ms)", asked.key("min"), empty=f"at {smallest}")
    with high:
        number_field("Latency Max (ms)", asked.key("max"), empty=f"at {largest}")
    with method:
        choice("Method", Scaler.scaler_method)
    stops = size_stops(axis, asked.at, log=log)
    st.select_slider(SIZE_LABELS[axis], stops, key=asked.key("at"), persist_state="session")
    if asked.min is None or asked.max is None:
        words = SIZE_LABELS[axis].lower().removesuffix(" (pixels)")
        st.info(f"Enter the measured latency at {words} {smallest} and at {words} {largest}.", icon=":material/info:")
        return
    question = ScaleQuestion(
        instance=session.scaler.scaler_instance,
        axis=axis,
        min_ms=asked.min,
        max_ms=asked.max,
        at=asked.at,
        method=session.scaler.scaler_method,
    )
    answer = answer_scale(context_of(resources), question, range(smallest, largest + 1))
    st.metric(f"Latency at {SIZE_LABELS[axis].lower()} {question.at}", f"{format_ms(answer.scaled.latency_ms)}/step")
    offer = resources.catalog[question.instance]
    look = gpu_look(offer.gpu)
    line = Curve(label=question.instance, look=look, sizes=answer.sizes, values=answer.curve_ms)
    show_chart(curves([line], LATENCY, size_axis(axis, answer.sizes, log=log), log=log, at=question.at), "scaler")
    st.caption("The curve is fitted on the measured networks. `profet scale` prints the same number.")
