"""Asks for a profile: a sample, an upload or pasted text, and what the file doesn't tell of its step."""

from __future__ import annotations

import streamlit as st

from profet_core import ProfetError
from profet_core.profiles.guarded import read_guarded
from ui.errors import show_error
from ui.inputs.fields import choice, select
from ui.inputs.own_list import own_choice
from ui.inputs.steps import step_questions, steps_input, steps_words
from ui.inputs.uploads import notes_on, upload_input
from ui.links import inside_link, record_link
from ui.phrases import shown_name
from ui.state.carried_profile import carried_text
from ui.state.held import held_in
from ui.state.own_profiles import add_own
from ui.state.records import Held, OwnProfile
from ui.state.resources import Resources
from ui.state.session import Own, Slot, session
from ui.texts import plain
from ui.turns import others_first

_PASTED_NAME = "pasted text"
_PASTE_EXAMPLE = '{"Device_Conv2D": 51425.8, "Device_MatMul": 1203.4, "Host_IDLE": 613483.8}'


def profile_input(resources: Resources, slot: Slot, label: str) -> Held:
    """Where the profile comes from; returns the one that is shown."""
    choice(label, slot.key("source"), Slot.source.options)
    if slot.source == "sample":
        titles = {name: sample.title for name, sample in resources.samples.items()}
        select("Sample", slot.key("sample"), titles, help="A real measurement, to try the app with.")
    else:
        (_upload_input if slot.source == "upload" else _paste_input)(resources, slot)
        own_choice(slot)
    held = held_in(resources, slot)
    _name_shown(held, slot.source)
    if slot is session.profile:
        inside_link("What is in it?", held.sample.name if held.sample else None)
    if held.own and slot is session.profile:
        _carry_input(held.own)
    steps_input(held.own, slot.prefix, slot.usable_ms)
    step_questions(held.own, slot.prefix)
    return held


def _upload_input(resources: Resources, slot: Slot) -> None:
    def choose(own: OwnProfile) -> None:
        slot.chosen = own.key

    upload_input(resources, slot.prefix, choose)
    if slot is session.profile:
        record_link(hint=bool(notes_on(slot.prefix).errors))


def _paste_input(resources: Resources, slot: Slot) -> None:
    if slot.pasted_done:
        slot.pasted, slot.pasted_done = "", False
    text = st.text_area(
        "Profile as JSON", placeholder=_PASTE_EXAMPLE, height=150, key=slot.key("pasted"), persist_state="session"
    )
    st.button("Read it", key=f"{slot.prefix}:read-pasted")
    if not text.strip():
        return
    try:
        with others_first():
            profile = read_guarded(text.encode("utf-8", "replace"), _PASTED_NAME)
        own, _ = add_own(profile, _PASTED_NAME, "paste", resources.anchor_of(profile))
    except ProfetError as error:
        show_error(str(error))
        return
    slot.chosen, slot.pasted_done = own.key, True
    st.rerun()


def _carry_input(own: OwnProfile) -> None:
    """Whether the address holds the profile: totals only, but whoever has the link has them."""
    fits = carried_text(own) is not None
    st.toggle(
        "Keep this profile in the page's address",
        key=Own.carry_profile.key,
        persist_state="session",
        disabled=not fits,
        help="Then it survives a reload, and a link to this page carries it: the time of each operation type, and "
        "what is known of the step."
        if fits
        else "It is too long for an address.",
    )


def _name_shown(held: Held, source: str) -> None:
    """Name the profile in use where it isn't plain from the widgets."""
    if source == "sample":
        return
    if held.own is None:
        st.caption(f"No profile of yours yet: the page still shows {shown_name(held)}.")
        return
    meta = held.profile.meta
    known = [
        plain(held.profile.source_format),
        f"{len(held.profile.operations)} operation types",
        "" if held.own.asks_steps else steps_words(held.profile),
        f"batch size {meta.batch_size}" if meta.batch_size else "",
        f"{meta.pixels} pixels" if meta.pixels else "",
        plain(meta.gpu) if meta.gpu else "",
        plain(meta.framework) if meta.framework else "",
    ]
    st.caption(f"Shown: {shown_name(held)} ({', '.join(part for part in known if part)}).")
