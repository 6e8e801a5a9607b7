"""What a session holds of the visitor's own: profiles, which of them is shown, and instances."""

from __future__ import annotations

from dataclasses import dataclass, replace

from profet_core import Catalog, Profile
from profet_core.artifacts.samples import Sample
from profet_core.catalog import Instance
from profet_core.prediction.checks import read_as
from profet_core.profiles.profet_json import VERSION_1


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
    def tells_steps(self) -> bool:
        """The file tells how many steps it covers."""
        return self.read.steps_basis in ("marked", "counted", "stated")

    @property
    def _can_differ(self) -> bool:
        """It may be another precision than FP32, or compiled, as far as the file tells."""
        if self.read.source_format == VERSION_1:
            return False
        recorder = f"{self.read.meta.framework or ''} {self.read.source_format}".lower()
        return "torch" in recorder or self.read.meta.precision is None


@dataclass(frozen=True, slots=True)
class Held:
    """A profile in a slot, with where it came from.

    Attributes
    ----------
    name : as shown; of an upload, text that the visitor wrote.
    origin : "sample", "upload", "paste" or "link".
    identity : differs for two profiles that differ.
    sample, own : one of them, the other is None.
    """

    profile: Profile
    name: str
    origin: str
    identity: str
    sample: Sample | None = None
    own: OwnProfile | None = None

    @property
    def latency_ms(self) -> float | None:
        """Its step latency on its anchor, milliseconds, as far as the sample or the visitor tells it."""
        source = self.sample or self.own
        return source.latency_ms if source else None


@dataclass(frozen=True, slots=True)
class OwnInstances:
    """A visitor's rows, and the catalog with them laid over it."""

    rows: tuple[Instance, ...]
    catalog: Catalog
