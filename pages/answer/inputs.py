"""Asks in the sidebar for the network, the training and its limits."""

from __future__ import annotations

import streamlit as st

from ui.inputs.network import method_inputs, network_input, second_input
from ui.inputs.number_field import number_field, whole_field
from ui.inputs.parameters import whole_nodes_input
from ui.inputs.training import size_input, validation_input, workload_input
from ui.state.held import held_in
from ui.state.resources import Resources
from ui.state.settings import CERTAINTY_RANGE
from ui.state.slots import PROFILE_SLOT

_DEADLINE_TIP = "When the training must be done. Picked is the cheapest that is done in time."
_BUDGET_TIP = "What the training may cost. Picked is the fastest within it, or with a deadline the cheapest."


def answer_inputs(resources: Resources) -> None:
    """Everything that the answer depends on, but for what is rented out where."""
    network_input(resources)
    workload_input()
    deadline, budget = st.columns(2, gap="small")
    with deadline:
        number_field("Deadline (h)", "deadline_h", unit="h", empty="none", tip=_DEADLINE_TIP)
    with budget:
        number_field("Budget ($)", "budget_usd", unit="$", empty="none", tip=_BUDGET_TIP)
    size_input(resources)
    with st.expander("More"):
        second_input(resources)
        validation_input()
        whole_nodes_input(held_in(resources, PROFILE_SLOT).profile.meta)
        whole_field("Limits kept with (% sure)", "certainty", *CERTAINTY_RANGE)
        method_inputs(resources)
