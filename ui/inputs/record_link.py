"""The way to the recorder."""

from __future__ import annotations

import streamlit as st

from ui.paths import page_path


def record_link() -> None:
    """The way to the recorder, which is had from About."""
    st.page_link(
        page_path("about"),
        label="How to record one",
        icon=":material/fiber_manual_record:",
        query_params={"open": "record"},
    )
