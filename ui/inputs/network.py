"""Asks in the sidebar for the network: its profile, where that was recorded, and what else is known of it."""

from __future__ import annotations

import streamlit as st

from ui.inputs.number_field import whole_field
from ui.inputs.profile import profile_input
from ui.inputs.recorded import anchor_input, latency_input
from ui.state.held import Held
from ui.state.resources import Resources
from ui.state.settings import MAX_IMAGES
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT

#: Settings that say the profile's own size where it doesn't: key, field of its meta, label.
_RECORDED = (
    ("profiled_batch", "batch_size", "Batch size of the profile"),
    ("profiled_pixels", "pixels", "Image size of the profile"),
)


def network_input(resources: Resources) -> None:
    """The profile, its anchor and its latency."""
    anchor_input(resources, PROFILE_SLOT.anchor_key)
    held = profile_input(resources, PROFILE_SLOT, "2 · Profile")
    for key, axis, label in _RECORDED:
        _size_input(held, axis, key, label)
    latency_input(PROFILE_SLOT)


def second_input(resources: Resources) -> None:
    """A profile of another size of the same network: the sizes between are surer with it."""
    st.toggle(
        "Second profile",
        key="second",
        persist_state="session",
        help="Of the same network on the same GPU at another batch or image size: sizes between are more accurate.",
    )
    if st.session_state["second"]:
        with st.container(border=True):
            held = profile_input(resources, SECOND_SLOT, "Second profile")
            latency_input(SECOND_SLOT, "Its anchor latency (optional)")
            _size_input(held, "batch_size", "second_batch", "Its batch size")
            _size_input(held, "pixels", "second_pixels", "Its image size")


def _size_input(held: Held, axis: str, key: str, label: str) -> None:
    """Asked for only where the profile doesn't say it."""
    if getattr(held.profile.meta, axis) is None:
        whole_field(label, key, 1, MAX_IMAGES, empty="images per step" if axis == "batch_size" else "pixels")
