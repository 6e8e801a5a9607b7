"""The step latency that a visitor gives beside a profile: a number and its unit."""

from __future__ import annotations

import streamlit as st

from profet_core import InputError
from profet_core.units import latency_to_ms
from ui.state.slots import Slot


def typed_latency_ms(slot: Slot) -> float | None:
    """The latency in `slot`, milliseconds; None if the field is empty."""
    number = st.session_state.get(slot.key("latency"))
    return None if number is None else latency_to_ms(number, st.session_state[slot.key("unit")])


def usable_latency_ms(slot: Slot) -> float | None:
    """As `typed_latency_ms`; None also for what is no latency."""
    try:
        return typed_latency_ms(slot)
    except InputError:
        return None


def use_latency_ms(slot: Slot, latency_ms: float | None) -> None:
    """Put a latency into the field, in milliseconds."""
    st.session_state[slot.key("latency")] = latency_ms
    st.session_state[slot.key("unit")] = "ms"
