"""Both ends of a size axis: what is known of one network at the smallest and at the largest size."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from profet_core.profiles.record import Profile
from profet_core.scaling.axes import axis_range
from profet_core.scaling.context import ScaleContext, scale_context

#: The meta field that says where on an axis a profile was recorded.
_META_FIELD = {"batch": "batch_size", "pixels": "pixels"}
_WORDS = {"batch_size": "batch size", "pixels": "pixel size", "parameters": "number of parameters", "gpu": "GPU"}


@dataclass(frozen=True, slots=True)
class EndProfiles:
    """The profiles that both ends were predicted from, recorded on one instance."""

    smallest: Profile
    largest: Profile
    anchor: str


@dataclass(frozen=True)
class AxisEnds:
    """Latencies at both ends of an axis.

    Attributes
    ----------
    axis : "batch" or "pixels".
    min_ms, max_ms : instance -> milliseconds a step at the smallest and at the largest size.
    profiles : None where the latencies were measured, not predicted.
    """

    axis: str
    min_ms: Mapping[str, float]
    max_ms: Mapping[str, float]
    profiles: EndProfiles | None = None

    @property
    def both(self) -> tuple[str, ...]:
        """Instances whose latency is known at both ends."""
        return tuple(name for name in self.min_ms if name in self.max_ms)

    @property
    def context(self) -> ScaleContext | None:
        """What the profiles tell of the curve between the ends; None without profiles.

        Raises
        ------
        InputError : the largest one says that it was recorded at another size.
        """
        if self.profiles is None:
            return None
        found = scale_context(self.axis, self.profiles.largest)
        if found.other_size is None:
            return replace(found, other_size=_other_size(self.axis, self.profiles.smallest))
        return found


def contradictions(ends: AxisEnds) -> tuple[str, ...]:
    """What the profiles' own meta says against being the two ends of one network's axis, one sentence each."""
    if ends.profiles is None:
        return ()
    name = _META_FIELD[ends.axis]
    profiles = (ends.profiles.smallest, ends.profiles.largest)
    recorded = [getattr(profile.meta, name) for profile in profiles]
    misplaced = (
        f"This end needs a profile at {_WORDS[name]} {size}, but the one given says {given}: the curve would be wrong."
        for given, size in zip(recorded, axis_range(ends.axis), strict=True)
        if given not in (None, size)
    )
    return (*misplaced, *different_networks(*profiles, apart_from=name))


def different_networks(first: Profile, second: Profile, *, apart_from: str) -> tuple[str, ...]:
    """What tells two profiles' networks or set-ups apart, as far as their meta says; one sentence each.

    `apart_from` : the meta field in which they may differ.
    """
    # The head grows with the number of classes, which goes with the pixel size: parameters differ there.
    return _differences(first, second, {apart_from, "parameters"} if apart_from == "pixels" else {apart_from})


def other_networks(first: Profile, second: Profile) -> tuple[str, ...]:
    """The same of profiles that may be of any two sizes."""
    same_pixels = None in (first.meta.pixels, second.meta.pixels) or first.meta.pixels == second.meta.pixels
    sizes = {"batch_size", "pixels"}
    return _differences(first, second, sizes if same_pixels else {*sizes, "parameters"})


def _differences(first: Profile, second: Profile, allowed: Collection[str]) -> tuple[str, ...]:
    lines = []
    for name, words in _WORDS.items():
        ours, theirs = getattr(first.meta, name), getattr(second.meta, name)
        if name not in allowed and None not in (ours, theirs) and ours != theirs:
            lines.append(f"The two profiles differ in {words} ({ours} and {theirs}): are they the same network?")
    return tuple(lines)


def _other_size(axis: str, profile: Profile) -> int | None:
    return profile.meta.pixels if axis == "batch" else profile.meta.batch_size
