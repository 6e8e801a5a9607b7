"""Links between pages, and where each page's script is."""

from __future__ import annotations

import streamlit as st

from ui.state.session import ON_PREDICT
from ui.texts import show_code

RECORD_COMMAND = "profet profile train.py"


def page_path(name: str) -> str:
    """The script of a page, relative to `ui/navigation.py`, Streamlit's main script."""
    return f"../pages/{name}/{name}.py"


def inside_link(label: str, sample: str | None = None) -> None:
    """A link to what is inside the profile that Predict shows; `sample` is its name, if it is one."""
    query = {"view": "inside", "inspect": sample or ON_PREDICT}
    st.page_link(page_path("compare"), label=label, icon=":material/troubleshoot:", query_params=query)


def about_link(label: str, icon: str, section: str) -> None:
    """A link to a section of About."""
    st.page_link(page_path("about"), label=label, icon=f":material/{icon}:", query_params={"open": section})


def custom_gpu_link() -> None:
    """A link to how a GPU is measured."""
    about_link("Custom GPU", "memory", "own_gpu")


def record_link(*, hint: bool = False) -> None:
    """A link to the recorder; `hint` shows its command too, for who has no profile that can be read."""
    if hint:
        st.caption("Record one with your training script:")
        show_code(RECORD_COMMAND)
    about_link("How to record one", "fiber_manual_record", "record")
