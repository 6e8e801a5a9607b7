"""The inputs of the Predict page: anchor, profile, anchor latency, training."""

from __future__ import annotations

import streamlit as st

from ui.inputs.method import method_input, precision_input
from ui.inputs.network import network_input, second_input
from ui.inputs.number_field import number_field, whole_field
from ui.inputs.parameters import whole_nodes_input
from ui.inputs.training import validation_input, workload_input
from ui.state.held import held_in
from ui.state.resources import Resources
from ui.state.settings import CERTAINTY_RANGE
from ui.state.slots import PROFILE_SLOT


def sidebar_inputs(resources: Resources) -> None:
    """Everything that the numbers depend on, but for sizes and offers."""
    network_input(resources)
    workload_input()
    deadline, budget = st.columns(2, gap="small")
    below = st.container()
    with deadline:
        number_field("Deadline (h)", "deadline_h", unit="h", empty="none", below=below)
    with budget:
        number_field("Budget ($)", "budget_usd", unit="$", empty="none", below=below)
    with st.expander("More options"):
        validation_input()
        second_input(resources)
        whole_nodes_input(held_in(resources, PROFILE_SLOT).profile.meta)
        whole_field(
            "Confidence for deadline and budget (%)",
            "certainty",
            *CERTAINTY_RANGE,
            tip="Cards recommend an instance only if it meets both with this probability.",
        )
        st.toggle(
            "Add data loading",
            key="loading",
            persist_state="session",
            help="Adds the 6% to 9% that measured epochs took beyond their steps.",
        )
        method_input(resources)
        precision_input()
