"""Asks what is to be trained: images, epochs,"""

from __future__ import annotations

import streamlit as st

from ui.inputs.fields import number_field
from ui.state.settings import MAX_EPOCHS, MAX_IMAGES


def workload_input() -> None:
    """Images and epochs."""
    images, epochs = st.columns(2, gap="small")
    with images:
        number_field("Images", "images", (1, MAX_IMAGES), tip="Training images per epoch.")
    with epochs:
        number_field("Epochs", "epochs", (1, MAX_EPOCHS))


def validation_input() -> None:
    """Images that only run forward."""
    number_field(
        "Validation images per epoch",
        "validation_images",
        (0, MAX_IMAGES),
        tip="A validation step runs forward only; it is counted as a third of a training step.",
    )
