"""The visitor's own profiles, a row each: its name, where it was recorded and how long its step took."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profet_core.prediction.steps import counted
from profet_core.units import US_PER_MS, format_ms
from ui.inputs.number_field import number_field
from ui.inputs.own_list import remove_all_button, rename_input
from ui.inputs.questions import step_questions
from ui.inputs.steps import steps_input, steps_words
from ui.state.held import set_recorded
from ui.state.own_profiles import MAX_PROFILES, OwnProfile, own_profiles, remove_own
from ui.state.resources import Resources
from ui.texts import plain


def show_own_list(resources: Resources) -> None:
    """All of them, with what can be done with each."""
    held = own_profiles()
    if not held:
        return
    st.subheader(f"Your profiles ({len(held)} of at most {MAX_PROFILES})", anchor="yours")
    for own in held.values():
        with st.container(border=True, gap="small"):
            _own_row(resources, own)
    if len(held) > 1:
        remove_all_button("compare:remove-all")


def _own_row(resources: Resources, own: OwnProfile) -> None:
    name, anchor, latency = st.columns([4, 3, 2], gap="small", vertical_alignment="bottom")
    with name:
        rename_input(own, "compare")
    _recorded_inputs(resources, own, anchor, latency)
    st.caption(_facts(own))
    steps_input(own, "compare", own.latency_ms)
    with st.container(horizontal=True, gap="small"):
        if own.asks_precision or own.asks_compiled:
            with st.popover("Precision, compiled?", icon=":material/help:"):
                step_questions(own, "compare")
        st.button(
            "Remove",
            key=f"compare:remove:{own.key}",
            icon=":material/delete:",
            type="tertiary",
            on_click=remove_own,
            args=(own.key,),
        )


def _recorded_inputs(resources: Resources, own: OwnProfile, anchor: DeltaGenerator, latency: DeltaGenerator) -> None:
    """Where it was recorded and its step latency, in a column each."""
    anchor_key, latency_key = f"compare:anchor:{own.key}", f"compare:latency:{own.key}"
    # What was given on Predict since this field was last drawn comes first.
    st.session_state[anchor_key], st.session_state[latency_key] = own.anchor, own.latency_ms
    anchor.selectbox(
        "Recorded on (anchor)",
        resources.models.instances,
        index=None,
        format_func=resources.instance_label,
        placeholder="where?",
        key=anchor_key,
        on_change=_recorded,
        args=(own.key, anchor_key, latency_key),
    )
    with latency:
        number_field(
            "Step latency, ms",
            latency_key,
            unit="ms",
            empty="not known",
            on_change=lambda: _recorded(own.key, anchor_key, latency_key),
        )


def _facts(own: OwnProfile) -> str:
    profile, meta = counted(own.profile, own.latency_ms), own.profile.meta
    parts = (
        profile.source_format,
        None if own.asks_steps else steps_words(profile),
        meta.framework,
        meta.gpu,
        f"batch size {meta.batch_size}" if meta.batch_size else None,
        f"{meta.pixels} pixels" if meta.pixels else None,
        f"GPU rows {format_ms(profile.device_total_us / US_PER_MS)}" if profile.device_total_us else "no GPU rows",
        f"host rows {format_ms(profile.host_total_us / US_PER_MS)}",
    )
    return plain(", ".join(part for part in parts if part))


def _recorded(own_key: str, anchor_key: str, latency_key: str) -> None:
    set_recorded(own_key, st.session_state[anchor_key], st.session_state[latency_key])
