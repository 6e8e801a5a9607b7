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

_WORDS = {"batch_size": "batch size", "pixels": "pixel size"}
#: Settings that say the profile's own size where it doesn't: key, field of its meta, label.
_RECORDED = (
    ("profiled_batch", "batch_size", "Batch size of the profile"),
    ("profiled_pixels", "pixels", "Pixel size of the profile"),
)


def network_input(resources: Resources) -> None:
    """The profile, its anchor and its latency."""
    held = profile_input(resources, PROFILE_SLOT, "Profile")
    anchor_input(resources, PROFILE_SLOT.anchor_key)
    latency_input(PROFILE_SLOT)
    for key, axis, label in _RECORDED:
        if st.session_state[key] is not None:
            _size_input(held, axis, key, label)


def size_questions(held: Held, *, pixels_too: bool) -> None:
    """Asked where the numbers will stand, until they are answered: without them there are none.

    Parameters
    ----------
    pixels_too : the pixel size is needed.
    """
    for key, axis, _ in _RECORDED:
        if st.session_state[key] is None and (axis == "batch_size" or pixels_too):
            _size_input(held, axis, key, f"At which {_WORDS[axis]} was the profile recorded?")


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
            _size_input(held, "batch_size", "second_batch", "Its batch size")
            _size_input(held, "pixels", "second_pixels", "Its pixel size")


def method_inputs(resources: Resources) -> None:
    """What was measured elsewhere, the method, and the newer GPUs' precision."""
    measured_input(resources)
    method_input(resources)
    tf32_input()


def _size_input(held: Held, axis: str, key: str, label: str) -> None:
    """Asked for only where the profile doesn't say it."""
    if getattr(held.profile.meta, axis) is None:
        whole_field(label, key, 1, MAX_IMAGES, empty="images per step" if axis == "batch_size" else "pixels per side")
