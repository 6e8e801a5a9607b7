"""About: how good the predictions are in one screen; below, folded, the details, the guide and the recorder."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.about.accuracy.show import show_accuracy
from pages.about.guide.credits import show_credits
from pages.about.guide.files import show_files
from pages.about.guide.method import show_method
from pages.about.guide.own_gpu import show_own_gpu
from pages.about.guide.prices import show_prices
from pages.about.guide.record import show_recorder
from pages.about.summary import show_summary
from ui.errors import one_line_errors
from ui.frame import run_page
from ui.state.page_keys import about_keys
from ui.state.resources import Resources
from ui.state.settings import SECTIONS

#: Opens the keys of the sections.
OPENED = "about:"
_LEFT = "about:left"
_ACCURACY, _RECORD, _METHOD, _FILES, _PRICES, _CREDITS, _OWN_GPU = SECTIONS
#: Section -> its label, icon and what draws it.
_SECTIONS: dict[str, tuple[str, str, Callable[[Resources], None]]] = {
    _RECORD: ("Record a profile", ":material/fiber_manual_record:", show_recorder),
    _OWN_GPU: ("Bring your own GPU", ":material/memory:", show_own_gpu),
    _ACCURACY: ("Accuracy in detail", ":material/rule:", show_accuracy),
    _METHOD: ("How the numbers are made, and what they can't tell", ":material/menu_book:", show_method),
    _FILES: ("Which files are read", ":material/description:", show_files),
    _PRICES: ("Instances and prices", ":material/payments:", show_prices),
    _CREDITS: ("Who measured, licences, versions", ":material/copyright:", show_credits),
}


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("How good is it?")
    show_summary(resources)
    st.header("More", anchor="more")
    asked = st.session_state["open"]
    for name in _SECTIONS:
        # A link opens sections, and Back; else they are as the visitor left them.
        if asked != st.session_state.get(_LEFT) or _key(name) not in st.session_state:
            st.session_state[_key(name)] = name in asked
    left = [name for name in _SECTIONS if _section(resources, name)]
    st.session_state["open"] = st.session_state[_LEFT] = left


def _section(resources: Resources, name: str) -> bool:
    """Draw a section, its content if it is open; returns whether it is."""
    label, icon, show = _SECTIONS[name]
    section = st.expander(label, icon=icon, key=_key(name), on_change="rerun")
    if section.open:
        with section, one_line_errors():
            show(resources)
    return bool(section.open)


def _key(name: str) -> str:
    return f"{OPENED}{name}"


run_page(body, about_keys)
