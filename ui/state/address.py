"""Writes the page's address: what its link has to carry now."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ui.state.carried_profile import carried
from ui.state.held import profile_defaults
from ui.state.link import write_link
from ui.state.resources import Resources
from ui.state.settings import all_settings
from ui.state.slots import ALL_SLOTS


def write_address(resources: Resources, keys: Callable[[Resources], Iterable[str]]) -> None:
    """Once all settings are final.

    Parameters
    ----------
    keys : names the settings that the page's link carries.
    """
    defaults = {key: value for slot in ALL_SLOTS for key, value in profile_defaults(resources, slot).items()}
    write_link(all_settings(resources), keys(resources), defaults, carried())
