"""The selected profile: its fields, and the buttons to use, download or remove it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.compare.candidates import Candidate
from pages.compare.listing import drop_sample
from profet_core import Profile, ProfileError
from profet_core.prediction.steps import counted
from profet_core.profiles.profet_json.writer import write_profile
from ui.errors import show_error
from ui.inputs.number_field import number_field
from ui.inputs.own_list import remove_all_button, rename_input
from ui.inputs.questions import step_questions
from ui.inputs.steps import steps_input, steps_number
from ui.paths import page_path
from ui.state.held import choose_own, set_recorded, use_sample
from ui.state.own_profiles import OwnProfile, own_profiles, remove_own
from ui.state.resources import Resources
from ui.state.slots import PROFILE_SLOT
from ui.texts import plain

_PREFIX = "compare"


def show_chosen(resources: Resources, chosen: Candidate) -> None:
    """Fields of an own profile, or a sample's description; buttons below."""
    with st.container(border=True, gap="small"):
        if chosen.own:
            _own_fields(resources, chosen.own)
        else:
            sample = resources.samples[chosen.key]
            st.markdown(f"**{plain(sample.title)}**")
            st.caption(f"Sample: {plain(sample.description)}.")
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            _use_button(resources, chosen)
            _download_button(resources, chosen)
            _remove_button(chosen)


def _own_fields(resources: Resources, own: OwnProfile) -> None:
    name, anchor, latency = st.columns([4, 4, 3], gap="small", vertical_alignment="bottom")
    with name:
        rename_input(own, _PREFIX)
    anchor_key, latency_key = f"{_PREFIX}:anchor:{own.key}", f"{_PREFIX}:latency:{own.key}"
    # What was entered on Predict since then comes first.
    st.session_state[anchor_key], st.session_state[latency_key] = own.anchor, own.latency_ms
    anchor.selectbox(
        "Anchor",
        resources.anchors,
        index=None,
        format_func=resources.anchor_labels().__getitem__,
        placeholder="Choose a GPU",
        key=anchor_key,
        on_change=_recorded,
        args=(own.key, anchor_key, latency_key),
    )
    with latency:
        number_field(
            "Latency (ms)",
            latency_key,
            unit="ms",
            empty="optional",
            on_change=lambda: _recorded(own.key, anchor_key, latency_key),
        )
    steps_input(own, _PREFIX, own.latency_ms)
    step_questions(own, _PREFIX)


def _use_button(resources: Resources, chosen: Candidate) -> None:
    if chosen.on_predict:
        st.page_link(page_path("predict"), label="Open in Predict", icon=":material/arrow_forward:")
    elif st.button("Use in Predict", key=f"{_PREFIX}:use", icon=":material/arrow_forward:"):
        if chosen.own:
            st.session_state[PROFILE_SLOT.key("source")] = "upload"
            choose_own(PROFILE_SLOT, chosen.own.key)
        else:
            use_sample(PROFILE_SLOT, chosen.key)
        st.switch_page(page_path("predict"))


def _download_button(resources: Resources, chosen: Candidate) -> None:
    """The profile as PROFET JSON, with the fields above."""
    try:
        data = write_profile(as_said(chosen.own)) if chosen.own else resources.samples[chosen.key].data
    except ProfileError as error:
        show_error(str(error))
        return
    st.download_button(
        "PROFET JSON",
        data,
        file_name="profile.json" if chosen.own else resources.samples[chosen.key].path.name,
        mime="application/json",
        icon=":material/download:",
        key=f"{_PREFIX}:json",
        type="tertiary",
        on_click="ignore",
    )


def as_said(own: OwnProfile) -> Profile:
    """One step of it, with the step latency and whatever else the visitor said."""
    profile = counted(own.profile, own.latency_ms)
    return replace(profile, meta=replace(profile.meta, step_latency_ms=own.latency_ms))


def _remove_button(chosen: Candidate) -> None:
    own = chosen.own
    st.button(
        "Remove",
        key=f"{_PREFIX}:remove",
        icon=":material/delete:",
        type="tertiary",
        on_click=remove_own if own else drop_sample,
        args=(own.key if own else chosen.key,),
    )
    more = len(own_profiles()) > 1
    if own and (more or not own.asks_steps):
        with st.popover("More", type="tertiary"):
            if not own.asks_steps:
                steps_number(own, _PREFIX, "Steps in the file", own.profile.steps)
            if more:
                remove_all_button(f"{_PREFIX}:remove-all")


def _recorded(own_key: str, anchor_key: str, latency_key: str) -> None:
    set_recorded(own_key, st.session_state[anchor_key], st.session_state[latency_key])
