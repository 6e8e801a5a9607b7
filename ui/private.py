"""Keeps the server to itself: it asks nobody outside who it is, and tells nobody what it was checked out from."""

from __future__ import annotations

from streamlit import net_util
from streamlit.runtime.app_session import AppSession


def keep_to_itself() -> None:
    """Turn off what Streamlit has no option for; called once, before anything is served.

    Where a browser's origin is none it knows, Streamlit asks an outside host for the machine's own address, and all
    sessions wait for the answer. Of a checkout it tells any visitor who asks repository, branch and changed files.

    Raises
    ------
    RuntimeError : this Streamlit has these in another place; serving would not be private.
    """
    _replace(net_util, "get_external_ip", _unknown)
    _replace(net_util, "get_internal_ip", _unknown)
    _replace(AppSession, "_handle_git_information_request", _tell_nothing)


def _replace(owner: object, name: str, by: object) -> None:
    if not hasattr(owner, name):
        raise RuntimeError(f"Streamlit has no {name} any more: see ui/private.py.")
    setattr(owner, name, by)


def _unknown() -> None:
    """An address that nobody was asked for."""


def _tell_nothing(_: AppSession) -> None:
    """What a visitor learns of the checkout."""
