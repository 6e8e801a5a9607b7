"""Asks for a step latency that the visitor has measured on a target."""

from __future__ import annotations

import streamlit as st

from profet_core.prediction.refusals import refusal
from ui.inputs.fields import choice
from ui.inputs.number_field import number_field
from ui.inputs.profile import profile_input
from ui.inputs.recorded import latency_input, latency_question
from ui.predicted.measured import measured_ms
from ui.predicted.outcome import predict_slot
from ui.state.resources import Resources
from ui.state.settings import MEASURED_AT, measured_key
from ui.state.slots import MEASURED_SLOT

_AT_LABELS = {"same": "Same batch and pixel size", "other": "Another size"}


def measured_input(resources: Resources) -> None:
    """A field for each target; and the anchor's profile of what was measured, if that was another size."""
    targets = [name for name in resources.models.instances if name != st.session_state["anchor"]]
    given = bool(measured_ms(resources))
    with st.expander("Measured it on a target already?", expanded=given, icon=":material/timer:"):
        st.markdown(
            "One step latency of **this network** on another instance corrects the prediction there. Left-out networks "
            "were then predicted better: see Accuracy."
        )
        for column, name in zip(st.columns(len(targets), gap="medium"), targets, strict=True):
            with column:
                number_field(f"{name} (ms a step)", measured_key(name), unit="ms", empty="not measured")
        choice("Measured at", "measured_at", MEASURED_AT, _AT_LABELS)
        if st.session_state["measured_at"] == "other":
            st.markdown("Give the anchor's profile of the size that you measured; it stands beside the one above.")
            held = profile_input(resources, MEASURED_SLOT, "Profile of the measured size")
            latency_input(MEASURED_SLOT, "Its step latency on the anchor (optional)")
            if measured_ms(resources) and not refusal(held.profile):
                latency_question(resources, MEASURED_SLOT, predict_slot(resources, MEASURED_SLOT))
