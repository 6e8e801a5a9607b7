"""The frame every page runs in: settings from the link, the page's body, one line if it fails, settings to the link."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from ui.notices import one_line_errors, show_error, show_warning
from ui.state.link import follow_link, keep_fields, link_keys, turned_to_another_page, write_link
from ui.state.own_catalog import visitors_resources
from ui.state.profiles import (
    carried,
    held_in,
    linked_profile_is_missing,
    profile_defaults,
    remember_recorded,
    take_carried,
)
from ui.state.resources import Resources
from ui.state.session import Part, PerInstance, session
from ui.turns import in_turn

#: What a page's link carries, see `link_keys`; asked after the page is drawn, when it is final.
Linked = Callable[[], Iterable[Part | PerInstance | str]]


def run_page(
    body: Callable[[Resources], None], linked: Linked, main: Callable[[Resources], None] | None = None
) -> None:
    """Run a page.

    Parameters
    ----------
    body : draws the page, or what stands beside and above `main`.
    main : draws the rest; what is chosen in it draws it alone, so that a slider is followed at once.
    """
    with in_turn(), one_line_errors():
        resources = visitors_resources()
        if turned := turned_to_another_page():
            keep_fields()
        if follow_link(linked(), resources, turned=turned):
            session.profile.shown = session.second.shown = None
            if problem := take_carried(resources):
                show_error(problem)
        for slot in session.slots:
            held_in(resources, slot)
        session.link.link_given = frozenset()
        if linked_profile_is_missing():
            show_warning(
                "This link is to a profile that someone uploaded, and it isn't in the link: what you see is a sample. "
                "Upload the profile, or ask for a link that carries it."
            )
        # What whoever runs the server has to put right.
        served = resources.served
        if served is not None and served.own_left_out:
            show_warning(
                "This server's own list of instances or GPUs is missing or damaged: it is left out; its log says why."
            )
        if served is not None and served.is_outdated:
            show_warning("This server has newer models or lists than it shows: start it again.")
        with one_line_errors():
            body(resources)
            remember_recorded(session.profile)
            if main is not None:
                _draw_alone(main, linked, _beside())
        _write(linked, resources)


@st.fragment
def _draw_alone(main: Callable[[Resources], None], linked: Linked, beside: tuple[object, ...]) -> None:
    """Draw a page's main part; all of the page where what was done in it changes what stands `beside` it."""
    with in_turn(), one_line_errors():
        if beside != _beside():
            st.rerun()
        resources = visitors_resources()
        with one_line_errors():
            main(resources)
        _write(linked, resources)


def _beside() -> tuple[object, ...]:
    """What is shown outside of a page's main part: the visitor's own, the profile with its fields, and which view."""
    own, slots = session.own, session.slots
    fields = (*(slot.latency for slot in slots), *(slot.unit for slot in slots), *(slot.steps for slot in slots))
    return (
        own.own_profiles,
        own.own_gpus,
        own.own_instances,
        session.network.anchor,
        session.sizes.sizes_view,
        *fields,
    )


def _write(linked: Linked, resources: Resources) -> None:
    defaults = {key: value for slot in session.slots for key, value in profile_defaults(resources, slot).items()}
    write_link(link_keys(linked(), resources), resources, defaults, carried())
