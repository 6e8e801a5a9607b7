"""A visitor's profiles: their own list, the one that each slot shows, and the one in the page's address."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict, Unpack

import streamlit as st

from profet_core import InputError, Profile, ProfileError
from profet_core.profiles.profet_json import profile_of_link_text, profile_to_link_text
from ui.state.link import PARAMETER, forget_given, given_by_link
from ui.state.records import Held, OwnProfile
from ui.state.resources import Resources
from ui.state.session import Network, Slot, session

#: One visitor's list; each holds a few kilobytes.
MAX_PROFILES = 50
MAX_NAME_LETTERS = 60


class ListFullError(InputError):
    """No room for another profile."""


class Answers(TypedDict, total=False):
    """What a visitor may say about one of their profiles: fields of `OwnProfile`."""

    name: str
    anchor: str | None
    latency_ms: float | None
    precision: str | None
    compiled: bool | None
    steps: int | None


def own_profiles() -> Mapping[str, OwnProfile]:
    """All of them by key, in the order they came."""
    return session.own.own_profiles


def add_own(profile: Profile, name: str, origin: str, anchor: str | None) -> tuple[OwnProfile, bool]:
    """Put a profile on the list; returns it, and False if one of the same content was there already.

    Raises
    ------
    ListFullError : there are `MAX_PROFILES` already.
    """
    key = content_key(profile)
    held = own_profiles()
    if key in held:
        return held[key], False
    if len(held) >= MAX_PROFILES:
        raise ListFullError(f"The list holds {MAX_PROFILES} profiles, which is all it can: remove some first.")
    added = OwnProfile(key, profile, _free_name(name), origin, anchor, profile.meta.step_latency_ms)
    session.own.own_profiles = {**held, key: added}
    return added, True


def change_own(key: str, **changes: Unpack[Answers]) -> None:
    """Change what the visitor said about one.

    A new name is shortened and made unlike the others; the number of steps that the file itself tells is no answer.
    """
    held = own_profiles()
    if key not in held:
        return
    if "name" in changes:
        changes["name"] = _free_name(changes["name"], besides=key)
    changed = replace(held[key], **changes)
    if changed.tells_steps and changed.steps == changed.read.steps:
        changed = replace(changed, steps=None)
    if changed != held[key]:
        session.own.own_profiles = {**held, key: changed}


def remove_own(key: str) -> None:
    """Take one off the list."""
    session.own.own_profiles = {other: own for other, own in own_profiles().items() if other != key}


def remove_all_own() -> None:
    """Empty the list."""
    session.own.own_profiles = {}


def content_key(profile: Profile) -> str:
    """Differs for two profiles that differ in anything but the file's name."""
    content = repr((sorted(profile.operations.items()), profile.meta, profile.steps))
    return hashlib.sha256(content.encode()).hexdigest()


def _free_name(name: str, besides: str = "") -> str:
    printable = " ".join("".join(letter for letter in name if letter.isprintable()).split())
    short = printable if len(printable) <= MAX_NAME_LETTERS else printable[: MAX_NAME_LETTERS - 3] + "..."
    short = short or "unnamed"
    taken = {own.name for own in own_profiles().values() if own.key != besides}
    numbered = (f"{short} ({number})" for number in range(2, MAX_PROFILES + 3))
    return short if short not in taken else next(candidate for candidate in numbered if candidate not in taken)


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
        _show(resources, slot, wanted)
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


def _show(resources: Resources, slot: Slot, wanted: Held) -> None:
    """Switch the slot to `wanted`; anchor and latency follow it: a visitor's profile has its own, on every page."""
    slot.shown, own = wanted, wanted.own
    follows = profile_defaults(resources, slot)
    if own is not None:
        follows |= {slot.key("latency"): own.latency_ms, Network.anchor.key: own.anchor}
    for part in slot.following_keys:
        if part not in given_by_link():
            st.session_state[part] = follows.get(part)


def _follow_steps(slot: Slot) -> Held:
    """The number of steps is the profile's own, on every page; a link may say it."""
    held = slot.shown
    assert held is not None, "asked only once a profile is shown"
    if held.own and slot.key("steps") in given_by_link():
        change_own(held.own.key, steps=slot.steps)
        held = slot.shown = held_own(own_profiles()[held.own.key])
    slot.steps = held.own.steps if held.own else None
    return held


_NAME = "from the link"


def take_carried(resources: Resources) -> str | None:
    """Put the profile that the address holds on the visitor's list and first; what is wrong with it, else None."""
    text = st.query_params.get(PARAMETER)
    if text is None:
        return None
    try:
        profile = profile_of_link_text(text)
        own, _ = add_own(profile, _NAME, "link", resources.anchor_of(profile))
    except ProfileError as error:
        return str(error)
    session.profile.source, session.profile.chosen, session.own.carry_profile = "upload", own.key, True
    return None


def carried() -> dict[str, str]:
    """What the address has to hold: nothing, or the shown profile where the visitor wants that."""
    own = own_in(session.profile)
    if not session.own.carry_profile or own is None or session.profile.source == "sample":
        return {}
    text = carried_text(own.own) if own.own else None
    return {} if text is None else {PARAMETER: text}


def carried_text(own: OwnProfile) -> str | None:
    """The profile as a link has it; None if it is too long for one. Made once a profile."""
    if own.key not in session.own.carried_texts:
        session.own.carried_texts = {**session.own.carried_texts, own.key: profile_to_link_text(own.read)}
    return session.own.carried_texts[own.key]
