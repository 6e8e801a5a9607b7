"""Asks what is to be trained: images, epochs, and the size where it is another one than the profile's."""

from __future__ import annotations

import streamlit as st

from profet_core.scaling.axes import axis_range
from ui.inputs.number_field import whole_field
from ui.state.held import held_in
from ui.state.resources import Resources
from ui.state.settings import MAX_EPOCHS, MAX_IMAGES
from ui.state.slots import PROFILE_SLOT


def workload_input() -> None:
    """Images and epochs."""
    images, epochs = st.columns(2, gap="small")
    with images:
        whole_field("Images", "images", 1, MAX_IMAGES, tip="Training images per epoch.")
    with epochs:
        whole_field("Epochs", "epochs", 1, MAX_EPOCHS)


def validation_input() -> None:
    """Images that only run forward."""
    whole_field(
        "Validation images per epoch",
        "validation_images",
        0,
        MAX_IMAGES,
        tip="A validation step runs forward only; it is counted as a third of a training step.",
    )


def size_input(resources: Resources) -> None:
    """The batch and the pixel size of the training; empty: as profiled."""
    meta = held_in(resources, PROFILE_SLOT).profile.meta
    batch, pixels = st.columns(2, gap="small")
    with batch:
        _size_field("Batch size", "batch", meta.batch_size)
    with pixels:
        _size_field("Pixel size", "pixels", meta.pixels)


def size_slider(axis: str, recorded: int | None) -> int:
    """The size along an axis, which is the training's from then on; the profile's until it is moved."""
    smallest, largest = axis_range(axis)
    chosen = min(max(st.session_state[axis] or recorded or smallest, smallest), largest)
    key = f"slider:{axis}"
    if st.session_state.get(key) != chosen:
        # Only then: what is written here, the browser takes over what was moved meanwhile.
        st.session_state[key] = chosen

    def choose() -> None:
        moved = st.session_state[key]
        st.session_state[axis] = None if moved == recorded else moved

    st.slider("Batch size" if axis == "batch" else "Pixel size", smallest, largest, key=key, on_change=choose)
    return st.session_state[key]


def _size_field(label: str, axis: str, recorded: int | None) -> None:
    smallest, largest = axis_range(axis)
    whole_field(
        label,
        axis,
        smallest,
        largest,
        empty=f"{recorded}, as profiled" if recorded else "as profiled",
        tip=f"Of your training, {smallest} to {largest}. Empty: as the profile was recorded.",
    )
