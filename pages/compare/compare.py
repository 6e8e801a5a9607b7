"""Compare: several profiles side by side on every GPU, and what is inside one."""

from __future__ import annotations

import streamlit as st

from pages.compare.candidates import compare, listed, shown_outcome
from pages.compare.inside import show_inside
from pages.compare.listing import add_input, choose_listed, list_linked, show_chosen
from pages.compare.side_by_side import show_comparison
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.state.page_keys import compare_keys
from ui.state.resources import Resources
from ui.state.settings import VIEWS

_SIDE_BY_SIDE, _INSIDE = VIEWS
_VIEW_LABELS = {_SIDE_BY_SIDE: "Side by side", _INSIDE: "Inside one profile"}


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Compare profiles", anchor=False)
    list_linked()
    candidates = listed(resources)
    add_input(resources, empty=not candidates)
    if not candidates:
        return
    state = st.session_state
    compared = compare(
        resources, candidates, state["method"], precision=state["precision"], shown=shown_outcome(resources)
    )
    left, right = st.columns([2, 3], gap="medium")
    with left:
        chosen = choose_listed(resources, compared)
    with right:
        show_chosen(resources, chosen.candidate)
    choice("View", "view", _VIEW_LABELS)
    if state["view"] == _SIDE_BY_SIDE:
        show_comparison(resources, compared)
    else:
        show_inside(resources, chosen.candidate)


run_page(body, compare_keys)
