"""Compare: several profiles side by side on every GPU, and what is inside one."""

from __future__ import annotations

import streamlit as st

from pages.compare.listing import add_input, choose_listed, compare, listed, show_chosen, shown_network
from pages.compare.shown import show_comparison, show_inside
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.state.resources import Resources
from ui.state.session import CompareView, Part, session


def main(resources: Resources) -> None:
    """Draw the page."""
    candidates = listed(resources)
    add_input(resources, empty=not candidates)
    if not candidates:
        return
    compared = compare(resources, candidates, shown_network(resources))
    left, right = st.columns([2, 3], gap="medium")
    with left:
        chosen = choose_listed(resources, compared)
    with right:
        show_chosen(resources, chosen)
    choice("View", CompareView.view)
    if session.compare.view == "compare":
        show_comparison(resources, compared)
    else:
        show_inside(resources, chosen)


def _linked() -> tuple[Part | str, ...]:
    """What is listed and how it is shown; a visitor's own profiles can't be in a link.

    What Predict shows is as it is there: where that is a sample of the list, all that its numbers depend on.
    """
    chosen, samples = session.compare.inspect, session.compare.compare_samples
    # A chosen sample is listed in any case: a link to it stays as it is.
    listing = ("inspect",) if chosen and samples == [chosen] else ("inspect", "compare_samples")
    on_predict = session.profile.source == "sample" and session.profile.sample in samples
    return (
        "view",
        *listing,
        "compare_by",
        "preset",
        "drawn",
        *(session.asked if on_predict else ("method", "precision")),
    )


run_page("Compare profiles", main, _linked)
