"""The profiles one visitor works with: which one each slot holds, and the settings that follow it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from profet_core import InputError
from ui.state.link import forget_given, given_by_link
from ui.state.own_profiles import change_own, own_profiles
from ui.state.records import Held, OwnProfile
from ui.state.resources import Resources
from ui.state.session import Network, Slot, session


def held_in(resources: Resources, slot: Slot) -> Held:
    """The profile shown in `slot`: of the chosen source, or the last good one while that source has none."""
    current = slot.shown
    if current is not None and current.own and current.own.key not in own_profiles():
        current = None
    wanted = held_sample(resources, slot.sample) if slot.source == "sample" else own_in(slot)
    if wanted is None and current is None:
        # A link to an upload: the file is not in the link. Open with the sample, without the upload's latency.
        session.link.link_missing = True
        forget_given(slot.keys)
        wanted = held_sample(resources, slot.sample)
    if wanted is not None and (current is None or wanted.identity != current.identity):
        _show(resources, slot, wanted, current)
    elif wanted is not None:
        # The same one, perhaps with another name or another answer of the visitor's.
        slot.shown = wanted
    return _follow_steps(slot)


def linked_profile_is_missing() -> bool:
    """Whether a link led to an upload of someone's, and what is shown in its place is a sample."""
    return session.link.link_missing and not own_profiles()


def own_in(slot: Slot) -> Held | None:
    """The visitor's own profile in `slot`: the chosen one, or the newest."""
    every = own_profiles()
    if not every:
        return None
    *_, newest = every.values()
    return held_own(every.get(slot.chosen or "", newest))


def held_own(own: OwnProfile) -> Held:
    """One of the visitor's own profiles, as pages show it."""
    return Held(own.profile, own.name, own.origin, own.key, own=own)


def held_sample(resources: Resources, name: str) -> Held:
    """A sample, as pages show it."""
    sample = resources.samples[name]
    return Held(resources.profiles[name], sample.title, "sample", f"sample {name}", sample)


def remember_recorded(slot: Slot) -> None:
    """Keep the anchor and the latency that the visitor gave for their own profile in `slot`, for every page."""
    held, anchor = slot.shown, session.network.anchor
    if held is None or held.own is None:
        return
    try:
        change_own(held.own.key, latency_ms=slot.typed_ms, anchor=anchor)
    except InputError:
        change_own(held.own.key, anchor=anchor)


def set_recorded(key: str, anchor: str | None, latency_ms: float | None) -> None:
    """The visitor says, away from Predict, where one of their own profiles was recorded and how long its step took."""
    change_own(key, anchor=anchor, latency_ms=latency_ms)
    shown = session.profile.shown
    if shown is not None and shown.own and shown.own.key == key:
        if anchor is not None:
            session.network.anchor = anchor
        session.profile.use_ms(latency_ms)


def forget_other_anchors(resources: Resources) -> None:
    """What is no anchor any more, such as a GPU of the visitor's own that was removed, is no profile's either."""
    for own in own_profiles().values():
        if own.anchor not in (None, *resources.anchors):
            change_own(own.key, anchor=None)
    if session.network.anchor not in (None, *resources.anchors):
        session.network.anchor = session.profile.shown = None


def rename_anchor(old: str, new: str) -> None:
    """A GPU of the visitor's own is called otherwise now: what was recorded on it still was."""
    for own in own_profiles().values():
        if own.anchor == old:
            change_own(own.key, anchor=new)
    if session.network.anchor == old:
        session.network.anchor = new


def use_sample(slot: Slot, name: str) -> None:
    """Choose a sample, with its own anchor and latency even if the same one was chosen before."""
    slot.source, slot.sample, slot.shown = "sample", name, None


def profile_defaults(resources: Resources, slot: Slot) -> dict[str, object]:
    """What the shown profile says about the settings that follow it."""
    held = slot.shown
    if held is None:
        return {}
    latency_ms = held.sample.latency_ms if held.sample else held.profile.meta.step_latency_ms
    follows: dict[str, object] = {slot.key("latency"): latency_ms, slot.key("unit"): "ms"}
    if slot is session.profile:
        anchor = held.sample.anchor if held.sample else resources.anchor_of(held.profile)
        # Beside models of other machines alone, a sample's is none.
        follows[Network.anchor.key] = anchor if anchor in resources.anchors else None
    return follows


def _show(resources: Resources, slot: Slot, wanted: Held, before: Held | None) -> None:
    """Switch the slot to `wanted`; anchor and latency follow it, or return if it was shown before."""
    parts = slot.following_keys
    if before is not None and before.own:
        slot.memory = {**slot.memory, before.identity: {part: st.session_state.get(part) for part in parts}}
    slot.shown = wanted
    follows = _follows(resources, slot, wanted)
    for part in parts:
        if part not in given_by_link():
            st.session_state[part] = follows.get(part)


def _follows(resources: Resources, slot: Slot, wanted: Held) -> Mapping[str, object]:
    """What the settings become: as they were when the profile was last shown here, or what is known of it."""
    own = wanted.own
    if own is None:
        return profile_defaults(resources, slot)
    if slot is not session.profile and own.key in slot.memory:
        return slot.memory[own.key]
    # Predict's anchor and latency are the profile's own, on every page.
    return {Network.anchor.key: own.anchor, slot.key("latency"): own.latency_ms, slot.key("unit"): "ms"}


def _follow_steps(slot: Slot) -> Held:
    """The number of steps is the profile's own, on every page; a link may say it."""
    held = slot.shown
    assert held is not None, "asked only once a profile is shown"
    if held.own and slot.key("steps") in given_by_link():
        change_own(held.own.key, steps=slot.steps)
        held = slot.shown = held_own(own_profiles()[held.own.key])
    slot.steps = held.own.steps if held.own else None
    return held
