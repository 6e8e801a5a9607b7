"""Accuracy: the model cards, one at a time."""

from __future__ import annotations

import re

import streamlit as st

from profet_core.artifacts.own_models import own_models
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.state.resources import Resources
from ui.state.session import Texts, session
from ui.words import plain, read_text

_CARD_LINK = re.compile(r"\]\((\w+)_CARD\.md\)")
_FILE_LINK = re.compile(r"\[([^]]*)\]\((?![?#]|https?:)[^)]*\)")


def main(resources: Resources) -> None:
    """Draw the page."""
    st.markdown(
        "All errors are measured on architectures or GPUs held out of training. They are mean absolute percentage "
        "errors (MAPE) unless a card says otherwise."
    )
    choice("Model card", Texts.part)
    _own_models(resources)
    path = resources.models.folder / f"{session.texts.part.upper()}_CARD.md"
    if path.is_file():
        # Links to other cards are links to this page; its title is the page's.
        text = _CARD_LINK.sub(lambda found: f"](?part={found[1].lower()})", read_text(path))
        st.markdown(_FILE_LINK.sub(r"\1", text).partition("\n")[2])
    else:
        st.info("The loaded models have no such card. `profet validate --card` writes it.")


def _own_models(resources: Resources) -> None:
    """What the server's own models were trained on; nothing if the shipped ones are loaded."""
    own = own_models(resources.models)
    if own is None:
        return
    base = "the shipped models" if own.base_ships else f"models of {len(own.networks)} networks"
    written = f", written on {own.written}" if own.written else ""
    st.markdown(f"This server uses custom models{written}: {base} for {', '.join(map(plain, own.instances))}.")
    if own.calibrated:
        gpus = (f"{one.gpu} ({one.cells} measurements on {one.instance})" for one in own.calibrated)
        st.markdown(f"Calibrated: {', '.join(map(plain, gpus))}.")


run_page("Accuracy", main, lambda: ("part",))
