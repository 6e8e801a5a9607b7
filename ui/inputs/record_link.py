"""The way to the recorder."""

from __future__ import annotations

import streamlit as st

from ui.paths import page_path
from ui.texts import show_code

RECORD_COMMAND = "profet profile train.py"


def record_hint() -> None:
    """The command that records a profile, for who has none that can be read."""
    st.caption("Record one with your training script:")
    show_code(RECORD_COMMAND)


def record_link() -> None:
    """The way to the recorder, which is had from About."""
    st.page_link(
        page_path("about"),
        label="How to record one",
        icon=":material/fiber_manual_record:",
        query_params={"open": "record"},
    )
