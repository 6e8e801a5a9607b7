"""Latencies at both ends of a size axis, and what tells that two profiles are not of one network."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from profet_core.profiles.record import Profile

_WORDS = {"batch_size": "batch size", "pixels": "pixel size", "parameters": "number of parameters", "gpu": "GPU"}


@dataclass(frozen=True, slots=True)
class AxisEnds:
    """Latencies that were measured at both ends of an axis.

    Attributes
    ----------
    axis : "batch" or "pixels".
    min_ms, max_ms : instance -> milliseconds a step at the smallest and at the largest size.
    """

    axis: str
    min_ms: Mapping[str, float]
    max_ms: Mapping[str, float]

    @property
    def both(self) -> tuple[str, ...]:
        """Instances whose latency is known at both ends."""
        return tuple(name for name in self.min_ms if name in self.max_ms)


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
