"""The profiles a visitor has uploaded or pasted: a named list in the session, of totals only, never of raw files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from profet_core import InputError, Profile
from profet_core.prediction.checks import read_as
from profet_core.profiles.profet_json.reader import VERSION_1
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


@dataclass(frozen=True, slots=True)
class OwnProfile:
    """One of them, with what the visitor has said about it.

    Attributes
    ----------
    key : tells its content apart from others'.
    read : as its file had it.
    name : the file's name, or what the visitor called it; no two are alike.
    origin : "upload", "paste" or "link".
    anchor : instance or GPU it was recorded on, None while not known.
    latency_ms : step latency there, milliseconds, None if not known.
    precision, compiled : the visitor's answers where the file doesn't tell.
    steps : how many training steps the visitor says the file covers; None while they haven't said.
    """

    key: str
    read: Profile
    name: str
    origin: str
    anchor: str | None = None
    latency_ms: float | None = None
    precision: str | None = None
    compiled: bool | None = None
    steps: int | None = None

    @property
    def profile(self) -> Profile:
        """The profile as the visitor's answers have it."""
        meta = self.read.meta
        precision = self.precision if meta.precision is None else meta.precision
        compiled = self.compiled if meta.compiled is None else meta.compiled
        answered = replace(meta, precision=precision, compiled=compiled)
        return replace(read_as(self.read, self.steps), meta=answered)

    @property
    def asks_precision(self) -> bool:
        """The file doesn't tell in what precision the step ran; version 1 of PROFET JSON is FP32 by definition."""
        return self._can_differ and self.read.meta.precision is None

    @property
    def asks_compiled(self) -> bool:
        """The file doesn't tell whether the step was compiled, and that could well be."""
        return self._can_differ and self.read.meta.compiled is None

    @property
    def asks_steps(self) -> bool:
        """Nothing in the file tells how many steps it covers, or the visitor knows better."""
        return self.steps is not None or not self._tells_steps

    @property
    def _tells_steps(self) -> bool:
        return self.read.steps_basis in ("marked", "counted", "stated")

    @property
    def _can_differ(self) -> bool:
        """It may be another precision than FP32, or compiled, as far as the file tells."""
        if self.read.source_format == VERSION_1:
            return False
        recorder = f"{self.read.meta.framework or ''} {self.read.source_format}".lower()
        return "torch" in recorder or self.read.meta.precision is None


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
    if changed._tells_steps and changed.steps == changed.read.steps:
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
