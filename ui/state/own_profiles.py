"""The profiles a visitor has uploaded or pasted: a named list in the session, of totals only, never of raw files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict, Unpack

from profet_core import InputError, Profile
from ui.state.records import OwnProfile
from ui.state.session import session

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
