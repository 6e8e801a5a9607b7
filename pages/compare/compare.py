"""Compare: several profiles side by side on every GPU, and what is inside one."""

from __future__ import annotations

import streamlit as st

from pages.compare.profiles import chosen_of, compare, edit_profiles, listed, show_comparison, show_inside
from ui.fields import choice
from ui.frame import run_page
from ui.predicted import shown_network
from ui.resources import Resources
from ui.session import Part, session


def main(resources: Resources) -> None:
    """Draw the page."""
    compared = compare(resources, listed(resources), shown_network(resources))
    chosen = chosen_of(compared)
    toolbar = st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="toolbar")
    with toolbar:
        choice("view")
    edit_profiles(resources, compared, chosen, toolbar)
    if session.compare.view == "compare":
        show_comparison(resources, compared, toolbar)
    else:
        show_inside(resources, chosen)


def _linked() -> tuple[Part | str, ...]:
    """Return what is listed and how it is shown; a visitor's own profiles can't be in a link.

    A sample or a network by name that Predict shows is as it is there, with all that its numbers depend on.
    """
    inputs = session.prediction_inputs if session.profile.source in ("sample", "name") else (session.how,)
    return session.compare, "drawn", session.offers, session.compare_table, *inputs


run_page("Compare profiles", main, _linked)
