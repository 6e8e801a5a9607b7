"""Asks which method predicts, and in which precision the training runs."""

from __future__ import annotations

import streamlit as st

from profet_core import Models
from profet_core.precision.names import AMP, AS_PROFILED, BF16, FP32, PRECISIONS, TF32
from ui.phrases import sentence
from ui.state.resources import Resources
from ui.state.settings import DEFAULT_METHOD, method_options

_PRECISION_LABELS = {
    AS_PROFILED: "As profiled",
    FP32: "FP32",
    TF32: "TF32",
    AMP: "AMP (mixed FP16)",
    BF16: "AMP (mixed BF16)",
}


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


def precision_input() -> None:
    """In which precision the training runs."""
    st.selectbox(
        "Precision",
        PRECISIONS,
        format_func=_PRECISION_LABELS.__getitem__,
        key="precision",
        persist_state="session",
        help="As profiled: the profile's precision; an FP32 profile means TF32 on Ampere and later, as TensorFlow and "
        "PyTorch run it. FP32: without TF32.",
    )


def _method_label(models: Models, option: str) -> str:
    """How an option of the method selector reads."""
    method = models.method(option)
    name = {"classes": "operation classes", "profet": "documented PROFET ensemble"}.get(method.name, method.name)
    return f"Default: {name}" if option == DEFAULT_METHOD else sentence(name)
