"""Predicted against measured, for a sample whose truth is known, by models that never saw its architecture."""

from __future__ import annotations

import streamlit as st

from pages.predict.figures import measured_and_predicted
from profet_core.units import format_ms
from ui.charts.style import show_chart
from ui.predicted.outcome import Outcome
from ui.state.settings import DEFAULT_METHOD
from ui.tables import show_table
from ui.texts import plain


def show_left_out(outcome: Outcome) -> None:
    """For a sample that still has its own anchor and latency, or none."""
    sample, prediction = outcome.held.sample, outcome.prediction
    if sample is None:
        return
    st.subheader("Predicted against measured", anchor="against-measured")
    if prediction.anchor != sample.anchor or prediction.anchor_latency_ms not in (None, sample.latency_ms):
        st.caption("Shown for a sample with its own anchor and latency; you changed one of them.")
        return
    if st.session_state["method"] != DEFAULT_METHOD:
        st.caption("Shown for the default method.")
        return
    given = prediction.anchor_latency_ms is not None
    predicted_ms = sample.left_out_ms if given else sample.left_out_without_latency_ms
    st.markdown(
        f"The truth is known for this sample. The predictions in **this** part come from models trained **without** "
        f"any {plain(sample.model)}: they never saw this architecture, as they never saw yours. "
        f"The numbers further up come from the shipped models, which were trained on all of them."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        show_chart(measured_and_predicted(sample.measured_ms, predicted_ms), "against-measured")
    with right:
        show_table(
            [_against_row(name, sample.measured_ms[name], predicted_ms[name]) for name in sample.measured_ms],
            "Measured and predicted",
        )


def _against_row(instance: str, measured_ms: float, predicted_ms: float) -> dict[str, str]:
    return {
        "Instance": instance,
        "Measured": format_ms(measured_ms),
        "Predicted, never seen": format_ms(predicted_ms),
        "Off by": f"{predicted_ms / measured_ms - 1:+.1%}",
    }
