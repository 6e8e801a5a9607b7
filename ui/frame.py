"""The frame every page runs in: settings from the link, the page's body, one line if it fails, settings to the link."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from ui.errors import one_line_errors, show_warning
from ui.state.held import held_in, profile_defaults, remember_recorded, reread_slot
from ui.state.link import follow_link, forget_given, write_link
from ui.state.resources import Resources, load_resources
from ui.state.settings import all_settings
from ui.state.slots import ALL_SLOTS, PREDICT_SLOT
from ui.state.warm_up import keep_from_collector


def run_page(body: Callable[[Resources], None], keys: Callable[[Resources], Iterable[str]]) -> None:
    """Run a page.

    Parameters
    ----------
    body : draws the page.
    keys : names the settings that the page's link carries; asked after the body, when they are final.
    """
    with one_line_errors():
        resources = load_resources()
        settings = all_settings(resources)
        if follow_link(settings, keys(resources) if "axis" in st.session_state else ()):
            for slot in ALL_SLOTS:
                reread_slot(slot)
        for slot in ALL_SLOTS:
            held_in(resources, slot)
        forget_given(settings)
        if resources.own_instances_damaged:
            show_warning("The list of own instances is damaged and left out: profet instances says what to repair.")
        with one_line_errors():
            body(resources)
        remember_recorded(PREDICT_SLOT)
        defaults = {key: value for slot in ALL_SLOTS for key, value in profile_defaults(resources, slot).items()}
        write_link(settings, keys(resources), defaults)
    keep_from_collector(body.__code__.co_filename)
