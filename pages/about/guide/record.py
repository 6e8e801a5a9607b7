"""How a profile is recorded: the recorder to install from here, and the command for the user's framework."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.recorder.route import recorder_address
from ui.recorder.wheel import recorder_wheel
from ui.state.resources import Resources
from ui.state.settings import FRAMEWORKS
from ui.texts import show_code, show_text

_TEXTS = Path(__file__).parent
_KERAS, _OLDER_KERAS, _PYTORCH = FRAMEWORKS
_LABELS = {
    _KERAS: "TensorFlow 2.16 or newer (Keras 3)",
    _OLDER_KERAS: "TensorFlow with tf_keras, or before 2.16",
    _PYTORCH: "PyTorch 2",
}


def show_recorder(_: Resources) -> None:
    """How it is installed and run, in a program of one's own too."""
    st.selectbox(
        "You train with",
        FRAMEWORKS,
        format_func=_LABELS.__getitem__,
        key="framework",
        persist_state="session",
        width=360,
    )
    framework = st.session_state["framework"]
    _install()
    show_text(_TEXTS / "record.md")
    show_text(_TEXTS / f"record_{framework}.md")
    if framework != _PYTORCH:
        with st.expander("By hand, with TensorFlow's profiler"):
            show_text(_TEXTS / "by_hand.md")


def page_address() -> str | None:
    """Where the visitor's browser shows this page, None where that isn't known."""
    return st.context.url


def _install() -> None:
    wheel = recorder_wheel()
    st.markdown(
        "Install the recorder where the training runs; it needs Python 3.11 to 3.13 and your framework, no more:"
    )
    address = recorder_address(page_address())
    if address:
        show_code(f"pip install {address}", wrap_lines=True)
        st.caption("If that machine doesn't reach this server, take the file there:")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            wheel.name,
            wheel.data,
            file_name=wheel.name,
            mime="application/octet-stream",
            icon=":material/download:",
            key="record:wheel",
            on_click="ignore",
        )
        show_code(f"pip install ./{wheel.name}", wrap_lines=True)
