"""The sidebar of Scale out: the step on one GPU, how GPUs share it, and the images of an epoch."""

from __future__ import annotations

import streamlit as st

from profet_core.multi_gpu.law import Strategy
from profet_core.multi_gpu.step import CHECKED_ON, MOST_GPUS
from profet_core.profiles.record import ProfileMeta
from ui.inputs.fields import choice, number_field
from ui.inputs.network import network_input
from ui.inputs.parameters import gradients_input, parameters_input
from ui.inputs.training import validation_input
from ui.state.held import held_in
from ui.state.resources import Resources
from ui.state.settings import MAX_IMAGES, STRATEGIES
from ui.state.slots import PROFILE_SLOT

_ONE_GPU_LABELS = {"predicted": "Predicted", "typed": "Measured"}
_KEPT_LABELS = {"each": "Per-GPU batch", "all": "Global batch"}
_KEPT_TIP = "Per-GPU batch: a step has more images with more GPUs. Global batch: the GPUs share one batch."


def out_inputs(resources: Resources) -> None:
    """Everything but the offers."""
    choice("Step on one GPU", "one_gpu", _ONE_GPU_LABELS)
    if st.session_state["one_gpu"] == "typed":
        _typed_input(resources)
        parameters_input(None)
    else:
        network_input(resources)
        parameters_input(_meta(resources))
    gradients_input()
    choice("Keep fixed", "batch_kept", _KEPT_LABELS, tip=_KEPT_TIP)
    if st.session_state["batch_kept"] == "all":
        number_field("Global batch", "batch_of_all", (2, MAX_IMAGES), empty="batch of one GPU")
    st.selectbox(
        "Gradient exchange",
        STRATEGIES,
        format_func=_strategy_words,
        key="strategy",
        persist_state="session",
    )
    gpus, images = st.columns(2, gap="small")
    with gpus:
        number_field("GPUs", "gpus", (2, MOST_GPUS), empty="one machine", tip="GPUs of whole machines together.")
    with images:
        number_field("Images", "images", (1, MAX_IMAGES), tip="Training images per epoch.")
    with st.expander("More options"):
        validation_input()


def _strategy_words(strategy: str) -> str:
    """With what it was checked on, where that is little."""
    checked_on = CHECKED_ON.get(Strategy(strategy))
    return Strategy(strategy).words + (f" ({checked_on})" if checked_on else "")


def _typed_input(resources: Resources) -> None:
    step, batch = st.columns(2, gap="small")
    with step:
        number_field("Latency (ms)", "one_gpu_ms", empty="measured")
    with batch:
        number_field("Batch size", "one_gpu_batch", (1, MAX_IMAGES))
    st.selectbox(
        "Measured on",
        sorted({offer.gpu for offer in resources.catalog.values()}, key=str.casefold),
        index=None,
        key="one_gpu_on",
        placeholder="which GPU?",
        persist_state="session",
    )


def _meta(resources: Resources) -> ProfileMeta:
    return held_in(resources, PROFILE_SLOT).profile.meta
