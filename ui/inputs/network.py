"""Asks in the sidebar for the network: its profile, where that was recorded, and how long its step took there."""

from __future__ import annotations

import streamlit as st

from profet_core import LatencyDoubtError
from profet_core.units import format_ms
from ui.errors import show_error
from ui.inputs.fields import number_field, select, toggle
from ui.inputs.profile import profile_input
from ui.inputs.steps import read_as_steps
from ui.predicted.outcome import ANCHOR_LABEL, Outcome, trust_latency
from ui.state.records import Held, OwnProfile
from ui.state.resources import Resources
from ui.state.session import Field, Network, Slot, session
from ui.texts import plain

_UNIT_LABELS = {"ms": "ms", "us": "µs", "s": "s"}


def anchor_input(resources: Resources) -> None:
    """The instance or GPU that the profile was recorded on; nothing is assumed."""
    select(
        ANCHOR_LABEL,
        Network.anchor,
        resources.anchor_labels(),
        index=None,
        placeholder="GPU you profiled on",
        help="The instance or GPU that the profile was recorded on. Type part of its name to find it. Not listed? Add "
        "it under *Prices*, or measure it: see *Custom GPU* on About.",
    )


def latency_input(slot: Slot, label: str = "3 · Anchor latency (optional)") -> None:
    """One training step's time on the anchor, with its unit."""
    row = st.container(horizontal=True, gap="small")
    # Narrow enough that Streamlit leaves out the buttons beside the number.
    with row.container(width=119):
        number_field(label, slot.key("latency"), empty="not known")
    tip = "Of one training step on the anchor, without the profiler running. Empty: predicted without it."
    with row:
        select("Unit", slot.key("unit"), _UNIT_LABELS, width=90, help=tip)


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
            on_click=slot.use_ms,
            args=(doubt.suggested_ms,),
        )
    st.button(
        "Use it as typed",
        key=f"{slot.prefix}:use-typed",
        on_click=trust_latency,
        args=(resources, slot, doubt.latency_ms),
    )


def network_input(resources: Resources) -> None:
    """The profile, its anchor and its latency."""
    anchor_input(resources)
    held = profile_input(resources, session.profile, "2 · Profile")
    _size_input(held, "batch_size", Network.profiled_batch, "Batch size of the profile")
    _size_input(held, "pixels", Network.profiled_pixels, "Image size of the profile")
    latency_input(session.profile)


def second_input(resources: Resources) -> None:
    """A profile of another size of the same network: sizes between are more accurate with it."""
    tip = "Of the same network on the same GPU at another batch or image size: sizes between are more accurate."
    toggle("Second profile", Network.second, tip)
    if session.network.second:
        with st.container(border=True):
            held = profile_input(resources, session.second, "Second profile")
            latency_input(session.second, "Its anchor latency (optional)")
            _size_input(held, "batch_size", Network.second_batch, "Its batch size")
            _size_input(held, "pixels", Network.second_pixels, "Its image size")


def _size_input(held: Held, axis: str, field: Field[int | None], label: str) -> None:
    """Asked for only where the profile doesn't say it."""
    if getattr(held.profile.meta, axis) is None:
        number_field(label, field, empty="images per step" if axis == "batch_size" else "pixels")
