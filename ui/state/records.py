"""A profile as pages hold it: a sample or the visitor's own, with what was said about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from profet_core import Profile
from profet_core.artifacts.samples import Sample
from profet_core.prediction.checks import read_as
from profet_core.profiles.profet_json import VERSION_1, profile_to_link_text


# Without slots, for the cached property.
@dataclass(frozen=True)
class Held:
    """A profile and what is known of it.

    Attributes
    ----------
    key : tells its content apart from others'; a sample's name.
    read : as its file had it.
    name : the file's name, or what the visitor called it; no two of a visitor are alike.
    origin : "sample", "upload", "paste" or "link".
    anchor : instance or GPU it was recorded on, None while not known.
    latency_ms : step latency there, milliseconds, None if not known.
    precision, compiled : the visitor's answers where the file doesn't tell.
    steps : how many training steps the visitor says the file covers; None while they haven't said.
    sample : None for the visitor's own.
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
    sample: Sample | None = None

    @cached_property
    def profile(self) -> Profile:
        """The profile as the visitor's answers have it."""
        meta = self.read.meta
        precision = self.precision if meta.precision is None else meta.precision
        compiled = self.compiled if meta.compiled is None else meta.compiled
        return replace(read_as(self.read, self.steps), meta=replace(meta, precision=precision, compiled=compiled))

    @cached_property
    def link_text(self) -> str | None:
        """The profile as a link has it; None if it is too long for one."""
        return profile_to_link_text(self.read)

    @property
    def is_own(self) -> bool:
        """It is the visitor's own."""
        return self.sample is None

    @property
    def unknown(self) -> list[str]:
        """What to ask of the step, "precision" and "compiled", as far as the file doesn't tell and it may matter.

        Version 1 of PROFET JSON is FP32 and not compiled by definition.
        """
        meta = self.read.meta
        recorder = f"{meta.framework or ''} {self.read.source_format}".lower()
        if self.read.source_format == VERSION_1 or ("torch" not in recorder and meta.precision is not None):
            return []
        return [field for field in ("precision", "compiled") if getattr(meta, field) is None]

    @property
    def tells_steps(self) -> bool:
        """The file tells how many steps it covers."""
        return self.read.steps_basis in ("marked", "counted", "stated")
