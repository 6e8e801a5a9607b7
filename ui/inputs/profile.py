"""Asks for a profile: a sample, an upload or pasted text, and what the file doesn't tell of its step."""

from __future__ import annotations

import streamlit as st

from profet_core import ProfetError
from profet_core.profiles.guarded import read_guarded
from ui.errors import show_error
from ui.inputs.fields import choice
from ui.inputs.own_list import own_choice
from ui.inputs.steps import step_questions, steps_input, steps_words
from ui.inputs.uploads import has_errors, upload_input
from ui.links import inside_link, record_link
from ui.phrases import shown_name
from ui.state.carried_profile import CARRY, carried_text
from ui.state.held import Held, choose_own, held_in
from ui.state.own_profiles import OwnProfile, add_own
from ui.state.resources import Resources
from ui.state.slots import PROFILE_SLOT, Slot, usable_latency_ms
from ui.texts import plain
from ui.turns import others_first

_SOURCE_LABELS = {"sample": "Sample", "upload": "Upload", "paste": "Paste"}
_PASTED_NAME = "pasted text"
_PASTE_EXAMPLE = '{"Device_Conv2D": 51425.8, "Device_MatMul": 1203.4, "Host_IDLE": 613483.8}'


def profile_input(resources: Resources, slot: Slot, label: str) -> Held:
    """Where the profile comes from; returns the one that is shown."""
    choice(label, slot.key("source"), _SOURCE_LABELS)
    source = st.session_state[slot.key("source")]
    if source == "sample":
        _sample_input(resources, slot)
    else:
        (_upload_input if source == "upload" else _paste_input)(resources, slot)
        own_choice(slot)
    held = held_in(resources, slot)
    _name_shown(held, source)
    if slot == PROFILE_SLOT:
        inside_link("What is in it?", held.sample.name if held.sample else None)
    if held.own and slot == PROFILE_SLOT:
        _carry_input(held.own)
    steps_input(held.own, slot.prefix, usable_latency_ms(slot))
    step_questions(held.own, slot.prefix)
    return held


def _sample_input(resources: Resources, slot: Slot) -> None:
    st.selectbox(
        "Sample",
        tuple(resources.samples),
        format_func=lambda name: resources.samples[name].title,
        key=slot.key("sample"),
        persist_state="session",
        help="A real measurement, to try the app with.",
    )


def _upload_input(resources: Resources, slot: Slot) -> None:
    upload_input(resources, slot.prefix, lambda own: choose_own(slot, own.key))
    if slot == PROFILE_SLOT:
        record_link(hint=has_errors(slot.prefix))


def _paste_input(resources: Resources, slot: Slot) -> None:
    done_key = f"pasted-done:{slot.prefix}"
    if st.session_state.pop(done_key, False):
        st.session_state[slot.key("pasted")] = ""
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
    choose_own(slot, own.key)
    st.session_state[done_key] = True
    st.rerun()


def _carry_input(own: OwnProfile) -> None:
    """Whether the address holds the profile: totals only, but whoever has the link has them."""
    fits = carried_text(own) is not None
    st.toggle(
        "Keep this profile in the page's address",
        key=CARRY,
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
