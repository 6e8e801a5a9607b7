"""The sidebar of Scale out: the step on one GPU, how GPUs share it, and the images of an epoch."""

from __future__ import annotations

import streamlit as st

from ui.inputs.fields import choice, number_field, select
from ui.inputs.network import network_input
from ui.inputs.training import gradients_input, parameters_input, validation_input
from ui.state.profiles import held_in
from ui.state.resources import Resources
from ui.state.session import ScaleOut, Training, TypedStep, session

_KEPT_TIP = "Per-GPU batch: a step has more images with more GPUs. Global batch: the GPUs share one batch."


def out_inputs(resources: Resources) -> None:
    """Everything but the offers."""
    choice("Step on one GPU", ScaleOut.one_gpu)
    if session.scale_out.one_gpu == "typed":
        _typed_input(resources)
        parameters_input(None)
    else:
        network_input(resources)
        parameters_input(held_in(resources, session.profile).profile.meta)
    gradients_input()
    choice("Keep fixed", ScaleOut.batch_kept, tip=_KEPT_TIP)
    if session.scale_out.batch_kept == "all":
        number_field("Global batch", ScaleOut.batch_of_all, empty="batch of one GPU")
    select("Gradient exchange", ScaleOut.strategy)
    gpus, images = st.columns(2, gap="small")
    with gpus:
        number_field("GPUs", ScaleOut.gpus, empty="one machine", tip="GPUs of whole machines together.")
    with images:
        number_field("Images", Training.images, tip="Training images per epoch.")
    with st.expander("More options"):
        validation_input()


def _typed_input(resources: Resources) -> None:
    step, batch = st.columns(2, gap="small")
    with step:
        number_field("Latency (ms)", TypedStep.one_gpu_ms, empty="measured")
    with batch:
        number_field("Batch size", TypedStep.one_gpu_batch)
    gpus = sorted({offer.gpu for offer in resources.catalog.values()}, key=str.casefold)
    select("Measured on", TypedStep.one_gpu_on, {gpu: gpu for gpu in gpus}, index=None, placeholder="which GPU?")
