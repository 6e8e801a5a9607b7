"""Profiles: the visitor's own and samples, all of them on every GPU, and what is inside one."""

from __future__ import annotations

import streamlit as st

from pages.profiles.candidates import answered, compare, listed
from pages.profiles.chosen import show_chosen
from pages.profiles.compare.show import show_comparison
from pages.profiles.inside.show import show_inside
from pages.profiles.listing import add_input, choose_listed, list_linked
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.state.page_keys import profiles_keys
from ui.state.resources import Resources
from ui.state.settings import VIEWS

_COMPARE, _INSIDE = VIEWS
_VIEW_LABELS = {_COMPARE: "Compare all", _INSIDE: "Inside this one"}


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Profiles")
    list_linked()
    candidates = listed(resources)
    add_input(resources, empty=not candidates)
    if not candidates:
        return
    state = st.session_state
    compared = compare(resources, candidates, state["method"], tf32=state["tf32"], answer=answered(resources))
    left, right = st.columns([2, 3], gap="medium")
    with left:
        chosen = choose_listed(resources, compared)
    with right:
        show_chosen(resources, chosen.candidate)
    choice("Show", "view", VIEWS, _VIEW_LABELS)
    if state["view"] == _COMPARE:
        show_comparison(resources, compared)
    else:
        show_inside(resources, chosen.candidate)


run_page(body, profiles_keys)
