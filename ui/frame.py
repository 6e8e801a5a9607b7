"""The frame every page runs in: settings from the link, the page's body, one line if it fails, settings to the link."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from ui.errors import one_line_errors, show_error, show_warning
from ui.state.carried_profile import CARRY, carried, take_carried
from ui.state.held import held_in, linked_profile_is_missing, profile_defaults, remember_recorded, reread_slot
from ui.state.link import follow_link, forget_given, keep_fields, turned_to_another_page, write_link
from ui.state.own_catalog import visitors_resources
from ui.state.resources import Resources
from ui.state.settings import all_settings
from ui.state.slots import ALL_SLOTS, PROFILE_SLOT
from ui.turns import in_turn


def run_page(body: Callable[[Resources], None], keys: Callable[[Resources], Iterable[str]]) -> None:
    """Run a page.

    Parameters
    ----------
    body : draws the page.
    keys : names the settings that the page's link carries; asked after the body, when they are final.
    """
    with in_turn(), one_line_errors():
        resources = visitors_resources()
        settings = all_settings(resources)
        turned = turned_to_another_page()
        if turned:
            keep_fields((*settings, *(key for slot in ALL_SLOTS for key in slot.field_keys), CARRY))
        if follow_link(settings, keys(resources) if "axis" in st.session_state else (), turned=turned):
            for slot in ALL_SLOTS:
                reread_slot(slot)
            if problem := take_carried(resources):
                show_error(problem)
        for slot in ALL_SLOTS:
            held_in(resources, slot)
        forget_given(settings)
        if linked_profile_is_missing():
            show_warning(
                "This link is to a profile that someone uploaded, and it isn't in the link: what you see is a sample. "
                "Upload the profile, or ask for a link that carries it."
            )
        _say_of_server(resources)
        with one_line_errors():
            body(resources)
        remember_recorded(PROFILE_SLOT)
        defaults = {key: value for slot in ALL_SLOTS for key, value in profile_defaults(resources, slot).items()}
        write_link(all_settings(resources), keys(resources), defaults, carried())


def _say_of_server(resources: Resources) -> None:
    """What whoever runs the server has to put right."""
    served = resources.served
    if served is not None and served.own_left_out:
        show_warning(
            "This server's own list of instances or GPUs is missing or damaged: it is left out; its log says why."
        )
    if served is not None and served.is_outdated:
        show_warning("This server has newer models or lists than it shows: start it again.")
