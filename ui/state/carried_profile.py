"""The visitor's profile in the page's address, if they want it there: for a reload, and for whoever gets the link."""

from __future__ import annotations

import streamlit as st

from profet_core import ProfileError
from profet_core.profiles.profet_json.link_text import profile_of_link_text, profile_to_link_text
from ui.state.held import own_in
from ui.state.link import PARAMETER
from ui.state.own_profiles import OwnProfile, add_own
from ui.state.resources import Resources
from ui.state.session import session

_NAME = "from the link"


def take_carried(resources: Resources) -> str | None:
    """Put the profile that the address holds on the visitor's list and first; what is wrong with it, else None."""
    text = st.query_params.get(PARAMETER)
    if text is None:
        return None
    try:
        profile = profile_of_link_text(text)
        own, _ = add_own(profile, _NAME, "link", resources.anchor_of(profile))
    except ProfileError as error:
        return str(error)
    session.profile.source, session.profile.chosen, session.own.carry_profile = "upload", own.key, True
    return None


def carried() -> dict[str, str]:
    """What the address has to hold: nothing, or the shown profile where the visitor wants that."""
    own = own_in(session.profile)
    if not session.own.carry_profile or own is None or session.profile.source == "sample":
        return {}
    text = carried_text(own.own) if own.own else None
    return {} if text is None else {PARAMETER: text}


def carried_text(own: OwnProfile) -> str | None:
    """The profile as a link has it; None if it is too long for one. Made once a profile."""
    if own.key not in session.own.carried_texts:
        session.own.carried_texts = {**session.own.carried_texts, own.key: profile_to_link_text(own.read)}
    return session.own.carried_texts[own.key]
