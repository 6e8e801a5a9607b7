"""Asks for a profile: a sample, an upload or pasted text, its steps, where it was recorded, and its step latency."""

from __future__ import annotations

import streamlit as st

from profet_core import ProfetError, read_profile
from profet_core.units import MS_PER_UNIT, format_ms
from ui.errors import plain, show_error
from ui.inputs.own_list import own_choice
from ui.inputs.questions import step_questions
from ui.inputs.steps import read_as_steps, steps_input, steps_words
from ui.inputs.uploads import upload_input
from ui.method import method_label
from ui.state.own_profiles import add_own
from ui.state.resources import Resources
from ui.state.session import (
    Held,
    Outcome,
    choose_own,
    held_in,
    trust_latency,
    usable_latency_ms,
    use_latency_ms,
)
from ui.state.settings import SOURCES, method_options
from ui.state.slots import Slot

_SOURCE_LABELS = {"sample": "Sample", "upload": "Upload", "paste": "Paste"}
_UNIT_LABELS = {"ms": "ms", "us": "µs", "s": "s"}
_PASTED_NAME = "pasted text"
PASTE_EXAMPLE = '{"Device_Conv2D": 51425.8, "Device_MatMul": 1203.4, "Host_IDLE": 613483.8}'


def profile_input(resources: Resources, slot: Slot, label: str) -> Held:
    """Where the profile comes from; returns the one that is shown."""
    st.segmented_control(
        label,
        SOURCES,
        format_func=_SOURCE_LABELS.get,
        key=slot.key("source"),
        required=True,
        persist_state="session",
    )
    source = st.session_state[slot.key("source")]
    if source == "sample":
        _sample_input(resources, slot)
    else:
        (_upload_input if source == "upload" else _paste_input)(resources, slot)
        own_choice(slot)
    held = held_in(resources, slot)
    _say_what_is_shown(held, source)
    steps_input(held.own, slot.prefix, usable_latency_ms(slot))
    step_questions(held.own, slot.prefix)
    return held


def anchor_input(resources: Resources, key: str, label: str = "Recorded on (anchor)") -> str:
    """The instance that the profile was recorded on."""
    st.selectbox(
        label,
        resources.models.instances,
        format_func=resources.instance_label,
        key=key,
        persist_state="session",
        help="The GPU instance on which the profile was recorded. Predictions go from it to the others.",
    )
    return st.session_state[key]


def latency_input(slot: Slot, label: str = "Step latency there (optional)") -> None:
    """One training step's time on the anchor, with its unit."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    row.number_input(
        label,
        value=None,
        format="%g",
        step=1.0,
        placeholder="not known",
        key=slot.key("latency"),
        persist_state="session",
        help="Time of one training step on the anchor, without the profiler running. Empty: predicted without it.",
    )
    row.selectbox(
        "Unit",
        tuple(MS_PER_UNIT),
        format_func=_UNIT_LABELS.get,
        key=slot.key("unit"),
        persist_state="session",
        width=90,
    )


def method_input(resources: Resources) -> None:
    """Which method predicts, where the models hold more than one."""
    options = method_options(resources)
    if len(options) < 2:
        return
    st.selectbox(
        "Method",
        options,
        format_func=lambda option: method_label(resources.models, option),
        key="method",
        persist_state="session",
        help="The default method errs less and gives an interval. The Guide describes both.",
    )


def tf32_input() -> None:
    """Whether the training will run in TF32 where the GPU has it; it moves estimates for newer GPUs only."""
    st.toggle(
        "TF32 on newer GPUs",
        key="tf32",
        persist_state="session",
        help="TensorFlow and PyTorch run convolutions in TF32 on Ampere and later (A10G, A100, L4, L40S, H100) unless "
        "told otherwise. Off: plain FP32. The measured GPUs have no TF32.",
    )


def latency_question(resources: Resources, slot: Slot, outcome: Outcome) -> None:
    """Ask about a latency that makes no sense; until the answer it is not used."""
    if outcome.invalid:
        show_error(f"{outcome.invalid} The numbers below are predicted without it.")
    doubt = outcome.doubt
    if doubt is None:
        return
    st.warning(
        f"{plain(str(doubt))} Until you answer, the numbers below are predicted **without** a latency.",
        icon=":material/help:",
    )
    own = outcome.held.own
    with st.container(horizontal=True):
        if doubt.suggested_steps is not None and own is not None:
            st.button(
                f"Read it as {doubt.suggested_steps} step{'s' if doubt.suggested_steps > 1 else ''}",
                key=f"{slot.prefix}:use-steps",
                type="primary",
                on_click=read_as_steps,
                args=(own.key, doubt.suggested_steps),
            )
        if doubt.suggested_ms is not None:
            st.button(
                f"Use {format_ms(doubt.suggested_ms)}",
                key=f"{slot.prefix}:use-suggested",
                type="primary",
                on_click=use_latency_ms,
                args=(slot, doubt.suggested_ms),
            )
        st.button(
            "Use it as typed",
            key=f"{slot.prefix}:use-typed",
            on_click=trust_latency,
            args=(resources, slot, doubt.latency_ms),
        )


def profile_phrase(outcome: Outcome) -> str:
    """What the numbers are for: 'your upload net.json, recorded on g4dn.xlarge, step latency not given'."""
    held, prediction = outcome.held, outcome.prediction
    latency_ms = prediction.anchor_latency_ms
    own_anchor = held.sample is not None and held.sample.anchor == prediction.anchor
    parts = (
        shown_name(held),
        "" if own_anchor else f"recorded on {prediction.anchor}",
        "step latency not given" if latency_ms is None else f"step latency {format_ms(latency_ms)}",
    )
    return ", ".join(part for part in parts if part)


def _sample_input(resources: Resources, slot: Slot) -> None:
    st.selectbox(
        "Sample",
        tuple(resources.samples),
        format_func=lambda name: resources.samples[name].title,
        key=slot.key("sample"),
        persist_state="session",
    )
    sample = resources.samples[st.session_state[slot.key("sample")]]
    st.caption(f"A real measurement: {plain(sample.description)}.")
    st.download_button(
        "Download this profile",
        sample.data,
        file_name=sample.path.name,
        mime="application/json",
        icon=":material/download:",
        key=f"{slot.prefix}:sample-file",
        type="tertiary",
        on_click="ignore",
    )


def _upload_input(resources: Resources, slot: Slot) -> None:
    upload_input(resources, slot.prefix, lambda own: choose_own(slot, own.key))


def _paste_input(resources: Resources, slot: Slot) -> None:
    done_key = f"pasted-done:{slot.prefix}"
    if st.session_state.pop(done_key, False):
        st.session_state[slot.key("pasted")] = ""
    text = st.text_area(
        "Profile as JSON", placeholder=PASTE_EXAMPLE, height=150, key=slot.key("pasted"), persist_state="session"
    )
    st.button("Read it", key=f"{slot.prefix}:read-pasted")
    if not text.strip():
        return
    try:
        profile = read_profile(text.encode("utf-8", "replace"), _PASTED_NAME)
        own, _ = add_own(profile, _PASTED_NAME, "paste", resources.instance_of(profile))
    except ProfetError as error:
        show_error(str(error))
        return
    choose_own(slot, own.key)
    st.session_state[done_key] = True
    st.rerun()


def _say_what_is_shown(held: Held, source: str) -> None:
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


def shown_name(held: Held) -> str:
    """The profile's name, escaped, for a sentence."""
    kind = {"sample": "the sample", "upload": "your upload", "paste": "your"}[held.origin]
    return f"{kind} {plain(held.name)}"
