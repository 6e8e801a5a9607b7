"""Asks in the sidebar for the network: its profile, where that was recorded, and how long its step took there."""

from __future__ import annotations

import streamlit as st

from profet_core import LatencyDoubtError
from profet_core.units import MS_PER_UNIT, format_ms
from ui.errors import show_error
from ui.inputs.fields import number_field
from ui.inputs.profile import profile_input
from ui.inputs.steps import read_as_steps
from ui.predicted.outcome import ANCHOR_LABEL, Outcome, trust_latency
from ui.state.held import Held
from ui.state.own_profiles import OwnProfile
from ui.state.resources import Resources
from ui.state.settings import MAX_IMAGES
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT, Slot, use_latency_ms
from ui.texts import plain

_UNIT_LABELS = {"ms": "ms", "us": "µs", "s": "s"}


def anchor_input(resources: Resources, key: str, label: str = ANCHOR_LABEL) -> None:
    """The instance or GPU that the profile was recorded on; nothing is assumed."""
    st.selectbox(
        label,
        resources.anchors,
        index=None,
        format_func=resources.anchor_labels().__getitem__,
        placeholder="GPU you profiled on",
        key=key,
        persist_state="session",
        help="The instance or GPU that the profile was recorded on. Type part of its name to find it. Not listed? Add "
        "it under *Prices*, or measure it: see *Custom GPU* on About.",
    )


def latency_input(slot: Slot, label: str = "3 · Anchor latency (optional)") -> None:
    """One training step's time on the anchor, with its unit."""
    row = st.container(horizontal=True, gap="small")
    # Narrow enough that Streamlit leaves out the buttons beside the number.
    with row.container(width=119):
        number_field(
            label,
            slot.key("latency"),
            empty="not known",
        )
    row.selectbox(
        "Unit",
        tuple(MS_PER_UNIT),
        format_func=_UNIT_LABELS.__getitem__,
        key=slot.key("unit"),
        persist_state="session",
        width=90,
        help="Of one training step on the anchor, without the profiler running. Empty: predicted without it.",
    )


def latency_question(resources: Resources, slot: Slot, outcome: Outcome) -> None:
    """Ask about a latency that makes no sense; until the answer it is not used."""
    if outcome.invalid:
        show_error(f"{outcome.invalid} The numbers below are predicted without it.")
    doubt = outcome.doubt
    if doubt is None:
        return
    st.warning(
        f"{plain(doubt.args[0])} Until you answer, the numbers below are predicted **without** a latency.",
        icon=":material/help:",
    )
    with st.container(horizontal=True):
        _answer_buttons(resources, slot, doubt, outcome.held.own)


def _answer_buttons(resources: Resources, slot: Slot, doubt: LatencyDoubtError, own: OwnProfile | None) -> None:
    """What the visitor may have meant, and that it is right as typed."""
    if doubt.suggested_steps is not None and own is not None:
        st.button(
            f"Read it as {doubt.suggested_steps} step{'s' if doubt.suggested_steps > 1 else ''}",
            key=f"{slot.prefix}:use-steps",
            on_click=read_as_steps,
            args=(own.key, doubt.suggested_steps),
        )
    if doubt.suggested_ms is not None:
        st.button(
            f"Use {format_ms(doubt.suggested_ms)}",
            key=f"{slot.prefix}:use-suggested",
            on_click=use_latency_ms,
            args=(slot, doubt.suggested_ms),
        )
    st.button(
        "Use it as typed",
        key=f"{slot.prefix}:use-typed",
        on_click=trust_latency,
        args=(resources, slot, doubt.latency_ms),
    )


#: Settings that say the profile's own size where it doesn't: key, field of its meta, label.
_RECORDED = (
    ("profiled_batch", "batch_size", "Batch size of the profile"),
    ("profiled_pixels", "pixels", "Image size of the profile"),
)


def network_input(resources: Resources) -> None:
    """The profile, its anchor and its latency."""
    anchor_input(resources, PROFILE_SLOT.anchor_key)
    held = profile_input(resources, PROFILE_SLOT, "2 · Profile")
    for key, axis, label in _RECORDED:
        _size_input(held, axis, key, label)
    latency_input(PROFILE_SLOT)


def second_input(resources: Resources) -> None:
    """A profile of another size of the same network: the sizes between are surer with it."""
    st.toggle(
        "Second profile",
        key="second",
        persist_state="session",
        help="Of the same network on the same GPU at another batch or image size: sizes between are more accurate.",
    )
    if st.session_state["second"]:
        with st.container(border=True):
            held = profile_input(resources, SECOND_SLOT, "Second profile")
            latency_input(SECOND_SLOT, "Its anchor latency (optional)")
            _size_input(held, "batch_size", "second_batch", "Its batch size")
            _size_input(held, "pixels", "second_pixels", "Its image size")


def _size_input(held: Held, axis: str, key: str, label: str) -> None:
    """Asked for only where the profile doesn't say it."""
    if getattr(held.profile.meta, axis) is None:
        number_field(label, key, (1, MAX_IMAGES), empty="images per step" if axis == "batch_size" else "pixels")
