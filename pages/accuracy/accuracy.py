"""Accuracy: the model card."""

from __future__ import annotations

import re

import streamlit as st

from profet_core.prediction.models import custom_models
from ui.frame import run_page
from ui.resources import Resources
from ui.words import plain, read_text

_FILE_LINK = re.compile(r"\[([^]]*)\]\((?![?#]|https?:)[^)]*\)")


def main(resources: Resources) -> None:
    """Draw the page."""
    _custom_models(resources)
    path = resources.models.folder / "MODEL_CARD.md"
    if path.is_file():
        # Its title is the page's, and how it was written is for whoever writes it again.
        _, _, text = read_text(path).partition("\n\n")[2].partition(". ")
        st.markdown(_FILE_LINK.sub(r"\1", text))
    else:
        st.info("The models of this server have no model card.")


def _custom_models(resources: Resources) -> None:
    """Say what the server's own models were trained on; nothing if the shipped ones are loaded."""
    custom = custom_models(resources.models)
    if custom is None:
        return
    base = "the shipped models" if custom.base_ships else f"models of {len(custom.networks)} networks"
    written = f", written on {custom.written}" if custom.written else ""
    st.markdown(f"This server uses custom models{written}: {base} for {', '.join(map(plain, custom.instances))}.")
    if custom.calibrated:
        gpus = (f"{one.gpu} ({one.cells} measurements on {one.instance})" for one in custom.calibrated)
        st.markdown(f"Calibrated: {', '.join(map(plain, gpus))}.")


run_page("Accuracy", main, lambda: ())
