"""Asks for a step latency that the visitor has measured on a target."""

from __future__ import annotations

import streamlit as st

from ui.inputs.fields import choice
from ui.inputs.number_field import number_field
from ui.state.resources import Resources
from ui.state.settings import MEASURED_AT, measured_key

_AT_LABELS = {"same": "At the profile's size", "other": "At the second's size"}


def measured_input(resources: Resources) -> None:
    """A field for each target; and at which of the two profiled sizes it was measured."""
    with st.expander("Measured on a target already?"):
        st.caption("One step latency of this network on another instance corrects the prediction there.")
        for name in resources.models.instances:
            if name != st.session_state["anchor"]:
                number_field(f"{name} (ms a step)", measured_key(name), unit="ms", empty="not measured")
        if st.session_state["second"]:
            choice("Measured", "measured_at", MEASURED_AT, _AT_LABELS)
