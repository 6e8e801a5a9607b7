"""The frame every page runs in: settings from the link, the page's body, one line if it fails, settings to the link."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ui.errors import one_line_errors, show_error, show_warning
from ui.state.carried_profile import carried, take_carried
from ui.state.held import held_in, linked_profile_is_missing, profile_defaults, remember_recorded
from ui.state.link import (
    follow_link,
    forget_given,
    given_by_link,
    keep_fields,
    link_keys,
    turned_to_another_page,
    write_link,
)
from ui.state.own_catalog import visitors_resources
from ui.state.resources import Resources
from ui.state.session import Part, PerInstance, session
from ui.turns import in_turn


def run_page(body: Callable[[Resources], None], linked: Callable[[], Iterable[Part | PerInstance | str]]) -> None:
    """Run a page.

    Parameters
    ----------
    body : draws the page.
    linked : what the page's link carries, see `link_keys`; asked after the body, when it is final.
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
        forget_given(given_by_link())
        if linked_profile_is_missing():
            show_warning(
                "This link is to a profile that someone uploaded, and it isn't in the link: what you see is a sample. "
                "Upload the profile, or ask for a link that carries it."
            )
        _say_of_server(resources)
        with one_line_errors():
            body(resources)
        remember_recorded(session.profile)
        defaults = {key: value for slot in session.slots for key, value in profile_defaults(resources, slot).items()}
        write_link(link_keys(linked(), resources), resources, defaults, carried())


def _say_of_server(resources: Resources) -> None:
    """What whoever runs the server has to put right."""
    served = resources.served
    if served is not None and served.own_left_out:
        show_warning(
            "This server's own list of instances or GPUs is missing or damaged: it is left out; its log says why."
        )
    if served is not None and served.is_outdated:
        show_warning("This server has newer models or lists than it shows: start it again.")
