"""Asks in the sidebar for the network: its profile, where that was recorded, and what else is known of it."""

from __future__ import annotations

import streamlit as st

from ui.inputs.measured import measured_input
from ui.inputs.method import method_input, tf32_input
from ui.inputs.number_field import whole_field
from ui.inputs.profile import profile_input
from ui.inputs.recorded import anchor_input, latency_input
from ui.state.held import Held
from ui.state.resources import Resources
from ui.state.settings import MAX_IMAGES
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT


def network_input(resources: Resources) -> None:
    """The profile, its anchor and its latency."""
    held = profile_input(resources, PROFILE_SLOT, "Profile")
    anchor_input(resources, PROFILE_SLOT.anchor_key)
    latency_input(PROFILE_SLOT)
    if st.session_state["profiled_batch"] is not None:
        _batch_input(held, "profiled_batch", "Batch size of the profile")


def batch_question(held: Held) -> None:
    """Asked where the numbers will stand, until it is answered: without it there are none."""
    if st.session_state["profiled_batch"] is None:
        _batch_input(held, "profiled_batch", "At which batch size was the profile recorded?")


def second_input(resources: Resources) -> None:
    """A profile of another size of the same network: the sizes between are surer with it."""
    st.toggle(
        "A second profile, of another size",
        key="second",
        persist_state="session",
        help="Of the same network, recorded on the same GPU at another batch or pixel size: between the two, numbers "
        "are surer.",
    )
    if st.session_state["second"]:
        with st.container(border=True):
            held = profile_input(resources, SECOND_SLOT, "Second profile")
            latency_input(SECOND_SLOT, "Its step latency there (optional)")
            _batch_input(held, "second_batch", "Its batch size")


def method_inputs(resources: Resources) -> None:
    """What was measured elsewhere, the method, and the newer GPUs' precision."""
    measured_input(resources)
    method_input(resources)
    tf32_input()


def _batch_input(held: Held, key: str, label: str) -> None:
    """Asked for only where the profile doesn't say it."""
    if held.profile.meta.batch_size is None:
        whole_field(label, key, 1, MAX_IMAGES, empty="images per step")
