"""The places that hold a profile, the one that every page is about and one of another size, and their latencies."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from profet_core import InputError
from profet_core.units import latency_to_ms


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that holds one profile.

    Attributes
    ----------
    prefix : opens the names of its settings; empty for the first.
    anchor_key : setting that names the instance or GPU it was recorded on; both share it.
    sets_anchor : a new profile here changes that setting.
    """

    prefix: str
    anchor_key: str
    sets_anchor: bool = True

    def key(self, part: str) -> str:
        """Name of this slot's setting `part`."""
        return f"{self.prefix}_{part}" if self.prefix else part

    @property
    def keys(self) -> tuple[str, ...]:
        """All settings of this slot."""
        return (*(self.key(part) for part in ("source", "sample", "steps")), *self.following_keys)

    @property
    def field_keys(self) -> tuple[str, ...]:
        """Of its fields that are no settings: which of the visitor's own it holds, and text that is being pasted."""
        return self.key("chosen"), self.key("pasted")

    @property
    def following_keys(self) -> tuple[str, ...]:
        """Settings whose default is what the shown profile says."""
        return (*((self.anchor_key,) if self.sets_anchor else ()), self.key("latency"), self.key("unit"))


PROFILE_SLOT = Slot("", "anchor")
#: The profile of another size of the same network, from the same anchor.
SECOND_SLOT = Slot("second", "anchor", sets_anchor=False)
ALL_SLOTS = (PROFILE_SLOT, SECOND_SLOT)


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
