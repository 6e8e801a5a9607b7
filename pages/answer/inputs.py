"""Asks in the sidebar for the network, the training and its limits."""

from __future__ import annotations

import streamlit as st

from ui.inputs.fields import optional_number
from ui.inputs.network import method_inputs, network_input, second_input
from ui.inputs.training import size_input, validation_input, workload_input
from ui.state.resources import Resources
from ui.state.settings import CERTAINTY_RANGE

_DEADLINE_TIP = "When the training must be done. Picked is the cheapest that is done in time."
_BUDGET_TIP = "What the training may cost. Picked is the fastest within it, or with a deadline the cheapest."


def answer_inputs(resources: Resources) -> None:
    """Everything that the answer depends on, but for what is rented out where."""
    network_input(resources)
    workload_input()
    deadline, budget = st.columns(2, gap="small")
    with deadline:
        optional_number("Deadline (h)", "deadline_h", empty="none", tip=_DEADLINE_TIP)
    with budget:
        optional_number("Budget ($)", "budget_usd", empty="none", tip=_BUDGET_TIP)
    size_input(resources)
    with st.expander("More"):
        second_input(resources)
        validation_input()
        st.number_input("Limits kept with (% sure)", *CERTAINTY_RANGE, step=5, key="certainty", persist_state="session")
        method_inputs(resources)
