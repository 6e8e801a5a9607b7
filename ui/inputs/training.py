"""Asks what is to be trained: images and epochs."""

from __future__ import annotations

import streamlit as st

from ui.inputs.fields import number_field
from ui.state.session import Training


def workload_input() -> None:
    """Images and epochs."""
    images, epochs = st.columns(2, gap="small")
    with images:
        number_field("Images", Training.images, tip="Training images per epoch.")
    with epochs:
        number_field("Epochs", Training.epochs)


def validation_input() -> None:
    """Images that only run forward."""
    number_field(
        "Validation images per epoch",
        Training.validation_images,
        tip="A validation step runs forward only; it is counted as a third of a training step.",
    )
