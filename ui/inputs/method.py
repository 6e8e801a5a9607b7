"""Asks which method predicts, and whether newer GPUs train in TF32."""

from __future__ import annotations

import streamlit as st

from profet_core import Models
from ui.phrases import sentence
from ui.state.resources import Resources
from ui.state.settings import DEFAULT_METHOD, method_options


def method_input(resources: Resources) -> None:
    """Which method predicts, where the models hold more than one."""
    options = method_options(resources)
    if len(options) < 2:
        return
    st.selectbox(
        "Method",
        options,
        format_func=lambda option: _method_label(resources.models, option),
        key="method",
        persist_state="session",
        help="The default method errs less and gives an interval. About describes both.",
    )


def tf32_input() -> None:
    """Whether the training will run in TF32 where the GPU has it; it moves estimates for newer GPUs only."""
    st.toggle(
        "TF32 on newer GPUs",
        key="tf32",
        persist_state="session",
        help="TensorFlow and PyTorch run convolutions in TF32 on Ampere and later (A10G, A100, L4, L40S, H100) unless "
        "told otherwise. Off: plain FP32. The measured GPUs have no TF32.",
    )


def _method_label(models: Models, option: str) -> str:
    """How an option of the method selector reads."""
    method = models.method(option)
    name = {"classes": "operation classes", "profet": "documented PROFET ensemble"}.get(method.name, method.name)
    return f"Default: {name}" if option == DEFAULT_METHOD else sentence(name)
