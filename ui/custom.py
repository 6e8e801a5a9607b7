"""What is a visitor's own: profiles, and instances, prices and GPUs over what every visitor sees."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import streamlit as st
from msgspec.structs import replace

from profet_core import InputError, Profile, ProfileError
from profet_core.answers.by_layers import NetworkProfile, file_profile, named_profile, unknown_profile
from profet_core.layers.network import Network
from profet_core.prediction.targets import recorded_on
from profet_profiles.profet_json import profile_from_link_text
from ui.resources import Held, Resources, load_resources
from ui.session import PARAMETER, Slot, latency_text, session
from ui.words import error_words, sentence

#: One visitor's list; each holds a few kilobytes.
MAX_PROFILES = 50
MAX_NAME_LETTERS = 60
#: Key of the network that was read from a file.
NETWORK = "network:read"


def add_profile(resources: Resources, profile: Profile, name: str, origin: str) -> tuple[Held, bool]:
    """Put a profile on the list; returns it, and False if it was there already. InputError: the list is full."""
    key, held = content_key(profile), session.custom.profiles
    if key in held:
        return held[key], False
    if len(held) >= MAX_PROFILES:
        raise InputError(f"The list is full ({MAX_PROFILES} profiles): remove some first.")
    anchor = recorded_on(resources.models, profile.meta.gpu)
    added = Held(key, profile, _free_name(name), origin, anchor, profile.meta.step_latency_ms)
    session.custom.profiles = {**held, key: added}
    return added, True


def change_profile(key: str, given: Mapping[str, Any]) -> None:
    """Change fields of one that the visitor has answered.

    A new name is shortened and made unlike the others; the number of steps that the file itself tells is no answer.
    """
    held, changes = session.custom.profiles, dict(given)
    if key not in held:
        return
    if "name" in changes:
        changes["name"] = _free_name(changes["name"], besides=key)
    read = held[key].read
    if read.steps_basis in ("marked", "counted", "stated") and changes.get("steps") == read.steps:
        changes["steps"] = None
    changed = replace(held[key], **changes)
    if changed != held[key]:
        session.custom.profiles = {**held, key: changed}


def remove_profiles(*keys: str) -> None:
    """Take some off the list."""
    session.custom.profiles = {other: custom for other, custom in session.custom.profiles.items() if other not in keys}


def content_key(profile: Profile) -> str:
    """Differs for two profiles that differ in anything but the file's name."""
    content = repr((sorted(profile.operations.items()), profile.meta, profile.steps))
    return hashlib.sha256(content.encode()).hexdigest()


def _free_name(name: str, besides: str = "") -> str:
    printable = " ".join("".join(letter for letter in name if letter.isprintable()).split())
    short = printable if len(printable) <= MAX_NAME_LETTERS else printable[: MAX_NAME_LETTERS - 3] + "..."
    short = short or "unnamed"
    taken = {custom.name for custom in session.custom.profiles.values() if custom.key != besides}
    numbered = (f"{short} ({number})" for number in range(2, MAX_PROFILES + 3))
    return short if short not in taken else next(candidate for candidate in numbered if candidate not in taken)


def profile_in_slot(resources: Resources, slot: Slot) -> Held:
    """Return the profile shown in `slot`: of the chosen source, or the last good one while that source has none."""
    current = slot.shown
    if current is not None and current.is_custom and current.key not in session.custom.profiles:
        current = None
    if slot.source == "name":
        wanted = _network(slot.shown)
    else:
        wanted = resources.samples[slot.sample] if slot.source == "sample" else custom_profile_in(slot)
    if wanted is None and current is None:
        # A link to an upload: the file is not in the link. Open with the sample; what is given waits for a file.
        session.custom.link_missing = True
        wanted = replace(resources.samples[slot.sample], origin="stand-in")
    if wanted is not None:
        if current is None or (wanted.key, wanted.origin) != (current.key, current.origin):
            _show(resources, slot, wanted)
        # Perhaps the same one with another name or another answer of the visitor's.
        slot.shown = wanted
    held = slot.shown
    assert held is not None, "one was shown before, or is wanted"
    # The number of steps and the sizes are the profile's own, on every page; a link may say them.
    answers = {"steps": slot.key("steps"), **slot.sizes}
    if held.is_custom:
        given = session.custom.link_given or ()
        change_profile(held.key, {name: st.session_state[key] for name, key in answers.items() if key in given})
        held = slot.shown = session.custom.profiles[held.key]
        st.session_state.update({key: getattr(held, name) for name, key in answers.items()})
    else:
        slot.steps = None
    return held


def given_network() -> Network | None:
    """Return the last network that was read from a file."""
    network: Network | None = st.session_state.get(NETWORK)
    return network


def _network(shown: Held | None) -> Held | None:
    """Return the network that was chosen by name or file; None while there is no file."""
    file = session.file
    batch_size, optimizer, frozen = file.net_batch, file.net_optimizer, file.net_frozen
    if file.net_from == "name":
        return named_network(file.net, batch_size, file.net_pixels, optimizer=optimizer, frozen_backbone=frozen)
    if (network := given_network()) is None:
        return shown if shown is not None and not shown.is_network else None
    return _held(network.name, file_profile(network, batch_size, optimizer=optimizer, frozen_backbone=frozen))


def named_network(
    name: str,
    batch_size: int,
    pixels: int | None = None,
    *,
    optimizer: str = "sgd",
    frozen_backbone: bool = False,
) -> Held:
    """Return a network by its name, at its own image size by default; one that isn't known says so."""
    try:
        profile = named_profile(name, batch_size, pixels, optimizer=optimizer, frozen_backbone=frozen_backbone)
    except InputError as error:
        profile = unknown_profile(name, sentence(error_words(error)))
    return _held(profile.known_as or name, profile)


def _held(name: str, profile: NetworkProfile) -> Held:
    return Held(f"network:{name}", profile, name, "network")


def profile_to_predict(resources: Resources) -> Held:
    """Return the shown profile with the anchor and the latency that its numbers are for.

    A sample keeps its own where the visitor chooses another anchor, or where to upload from: that is for their file.
    """
    held, slot = profile_in_slot(resources, session.profile), session.profile
    if held.sample is not None and (slot.source != "sample" or session.network.anchor != held.anchor):
        return held
    return replace(held, anchor=session.network.anchor, latency_ms=slot.usable_ms)


def keep_given(resources: Resources, slot: Slot, custom: Held, *, alone: bool) -> str:
    """Give a new profile what the visitor gave before it came; one line if the file says otherwise, else empty.

    Latency and sizes belong to one profile: `alone` says that no other came with it.
    """
    shown, chosen = slot.shown, session.custom.chosen_anchor
    given: dict[str, Any] = {}
    says, recorded = custom.read.meta.gpu, custom.anchor
    if alone and (shown is None or not shown.is_custom):
        if custom.latency_ms is None and (shown is None or slot.latency != latency_text(shown.latency_ms)):
            given["latency_ms"] = slot.usable_ms
        given |= {name: st.session_state.get(key) for name, key in slot.sizes.items()}
    line = ""
    if chosen is not None and chosen == session.network.anchor:
        gpu = resources.catalog[chosen].gpu if chosen in resources.catalog else chosen
        if recorded is None and (says is None or gpu in {meant.name for meant in resources.gpus.matching(says)}):
            given["anchor"] = chosen
        elif recorded not in (None, chosen):
            line = f"{custom.name} was recorded on {says}, so that is the anchor, not {resources.anchor_label(chosen)}."
    change_profile(custom.key, given)
    return line


_RELOADED = "Your upload is gone after a reload. Upload it again, or switch on *Share with this profile* next time."
_NOT_IN_LINK = (
    "The uploaded profile isn't in this link, so a sample is shown. Upload it, or ask for a link made with *Share with "
    "this profile*."
)


def missing_link_words() -> str:
    """Why a sample is shown in the place of an upload that a link led to; empty if none is missing."""
    if session.custom.profiles or not session.custom.link_missing:
        return ""
    # What ui/assets/page.js says.
    return _RELOADED if getattr(st.session_state.get("page"), "reloaded", False) else _NOT_IN_LINK


def custom_profile_in(slot: Slot) -> Held | None:
    """Return the visitor's own profile in `slot`: the chosen one, or the newest."""
    every = session.custom.profiles
    return every.get(slot.chosen or "", [*every.values()][-1]) if every else None


def remember_recorded(slot: Slot) -> None:
    """Keep the anchor and the latency that the visitor gave for their own profile in `slot`, for every page."""
    if (held := slot.shown) is not None and held.is_custom:
        latency_ms = held.latency_ms if slot.latency and slot.usable_ms is None else slot.usable_ms
        change_profile(held.key, {"latency_ms": latency_ms, "anchor": session.network.anchor})


def set_recorded(key: str, anchor: str | None, latency_ms: float | None) -> None:
    """Keep where, as the visitor says away from Predict, one of their profiles was recorded, and its latency."""
    change_profile(key, {"anchor": anchor, "latency_ms": latency_ms})
    if (shown := session.profile.shown) is not None and shown.key == key:
        if anchor is not None:
            session.network.anchor = anchor
        session.profile.latency = latency_text(latency_ms)


def forget_other_anchors(resources: Resources) -> None:
    """Forget what is no anchor any more, such as a removed GPU of the visitor's own: it is no profile's either."""
    for custom in session.custom.profiles.values():
        if custom.anchor not in (None, *resources.anchors):
            change_profile(custom.key, {"anchor": None})
    if session.network.anchor not in (None, *resources.anchors):
        session.network.anchor = session.profile.shown = None


def profile_defaults(resources: Resources, slot: Slot) -> dict[str, object]:
    """Return what the shown profile says about the settings that follow it."""
    if (held := slot.shown) is None:
        return {}
    stated_ms = held.read.meta.step_latency_ms if held.is_custom else held.latency_ms
    # In the place of an upload that is missing, a sample leaves the latency to it.
    follows: dict[str, object] = {slot.key("latency"): latency_text(None if held.origin == "stand-in" else stated_ms)}
    if slot is session.profile:
        anchor = recorded_on(resources.models, held.read.meta.gpu) if held.is_custom else held.anchor
        # Beside models of other machines alone, a sample's is none.
        follows["anchor"] = anchor if anchor in resources.anchors else None
    return follows


def _show(resources: Resources, slot: Slot, wanted: Held) -> None:
    """Switch the slot to `wanted`; anchor and latency follow it: a visitor's profile has its own, on every page."""
    if wanted.is_network:
        _keep_measured(slot, wanted)
        return
    if slot.shown is not None and slot.shown.is_custom and not wanted.is_custom:
        st.session_state.update(dict.fromkeys(slot.sizes.values()))
    slot.shown = wanted
    custom = {slot.key("latency"): latency_text(wanted.latency_ms), "anchor": wanted.anchor} if wanted.is_custom else {}
    for key, value in profile_defaults(resources, slot).items():
        if key not in (session.custom.link_given or ()):
            st.session_state[key] = custom.get(key, value)


def _keep_measured(slot: Slot, network: Held) -> None:
    """Show a network: what the visitor says of a measured step stays, what a sample or another network's said goes."""
    before, slot.shown = slot.shown, network
    kept = {
        "anchor": None if before is None else session.custom.chosen_anchor,
        slot.key("latency"): None,
    }
    if before is not None and before.sample is not None and slot.latency != latency_text(before.latency_ms):
        kept[slot.key("latency")] = slot.latency
    st.session_state.update({key: value for key, value in kept.items() if key not in (session.custom.link_given or ())})


def take_shared_profile(resources: Resources) -> str | None:
    """Put the profile that the address holds on the visitor's list and first; what is wrong with it, else None."""
    if (text := st.query_params.get(PARAMETER)) is None:
        return None
    try:
        custom, _ = add_profile(resources, profile_from_link_text(text), "from the link", "link")
    except ProfileError as error:
        return str(error)
    session.profile.source, session.profile.chosen, session.custom.share_profile = "upload", custom.key, True
    return None


def shared_profile() -> dict[str, str]:
    """Return what the address has to hold: nothing, or the shown profile where the visitor wants that."""
    custom = custom_profile_in(session.profile) if session.custom.share_profile else None
    text = custom and custom.link_text
    return {PARAMETER: text} if text and session.profile.source != "sample" else {}


def visitors_resources() -> Resources:
    """Return what every visitor shares, with this visitor's instances and GPUs over it."""
    resources = without_custom_gpus()
    with_gpus = resources.with_custom_gpus(session.custom.gpus)
    return replace(resources, models=with_gpus.models, catalog=with_gpus.catalog, gpus=with_gpus.gpus)


def without_custom_gpus() -> Resources:
    """Return what every visitor shares, with this visitor's instances over it."""
    resources, rows = load_resources(), session.custom.instances
    return replace(resources, catalog=resources.catalog.with_custom(rows)) if rows else resources


def custom_prices(resources: Resources) -> dict[str, float]:
    """Instance -> the visitor's price, US dollars an hour."""
    return {name: usd for name, usd in session.offers.price.items() if name in resources.catalog}
