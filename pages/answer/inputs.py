"""Asks in the sidebar for the training and its limits."""

from __future__ import annotations

import streamlit as st

from profet_core.scaling.axes import axis_range
from ui.inputs.fields import optional_number
from ui.inputs.network import method_inputs, network_input, second_input
from ui.predicted.network import Network
from ui.state.resources import Resources
from ui.state.settings import CERTAINTY_RANGE, MAX_EPOCHS, MAX_IMAGES
from ui.state.slots import PROFILE_SLOT
from ui.state.held import held_in

_DEADLINE_TIP = "When the training must be done. Picked is the cheapest that is done in time."
_BUDGET_TIP = "What the training may cost. Picked is the fastest within it, or with a deadline the cheapest."


def answer_inputs(resources: Resources) -> None:
    """Everything that the answer depends on, but for what is rented out where."""
    network_input(resources)
    images, epochs = st.columns(2, gap="small")
    images.number_input("Images", 1, MAX_IMAGES, step=1000, key="images", persist_state="session", help="Per epoch.")
    epochs.number_input("Epochs", 1, MAX_EPOCHS, step=1, key="epochs", persist_state="session")
    deadline, budget = st.columns(2, gap="small")
    with deadline:
        optional_number("Deadline (h)", "deadline_h", empty="none", tip=_DEADLINE_TIP)
    with budget:
        optional_number("Budget ($)", "budget_usd", empty="none", tip=_BUDGET_TIP)
    size_inputs(resources)
    with st.expander("More"):
        second_input(resources)
        st.number_input(
            "Validation images per epoch",
            0,
            MAX_IMAGES,
            step=1000,
            key="validation_images",
            persist_state="session",
            help="A validation step runs forward only; it is counted as a third of a training step.",
        )
        st.number_input(
            "How sure the limits must be kept (%)", *CERTAINTY_RANGE, step=5, key="certainty", persist_state="session"
        )
        method_inputs(resources)


def size_inputs(resources: Resources) -> None:
    """The batch and the pixel size of the training; empty: as profiled."""
    meta = held_in(resources, PROFILE_SLOT).profile.meta
    batch, pixels = st.columns(2, gap="small")
    with batch:
        _size_input("Batch size", "batch", "batch", meta.batch_size)
    with pixels:
        _size_input("Pixel size", "pixels", "pixels", meta.pixels)


def _size_input(label: str, key: str, axis: str, recorded: int | None) -> None:
    smallest, largest = axis_range(axis)
    st.number_input(
        label,
        smallest,
        largest,
        value=None,
        placeholder=f"{recorded}, as profiled" if recorded else "as profiled",
        key=key,
        persist_state="session",
        help=f"Of your training, {smallest} to {largest}. Empty: as the profile was recorded.",
    )
