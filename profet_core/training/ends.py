"""Evidence that two profiles belong to different networks."""

from __future__ import annotations

from collections.abc import Collection

from profet_core.profiles.record import Profile

_WORDS = {"batch_size": "batch size", "pixels": "pixel size", "parameters": "number of parameters", "gpu": "GPU"}


def different_networks(first: Profile, second: Profile, *, apart_from: str) -> tuple[str, ...]:
    """Differences between two profiles' networks or setups by their meta, one sentence each.

    `apart_from` : the meta field in which they may differ.
    """
    # The head grows with the number of classes, which depends on the pixel size: parameters may differ there.
    return _differences(first, second, {apart_from, "parameters"} if apart_from == "pixels" else {apart_from})


def other_networks(first: Profile, second: Profile) -> tuple[str, ...]:
    """Differences between profiles of any two sizes, one sentence each."""
    same_pixels = None in (first.meta.pixels, second.meta.pixels) or first.meta.pixels == second.meta.pixels
    sizes = {"batch_size", "pixels"}
    return _differences(first, second, sizes if same_pixels else {*sizes, "parameters"})


def _differences(first: Profile, second: Profile, allowed: Collection[str]) -> tuple[str, ...]:
    lines = []
    for name, words in _WORDS.items():
        ours, theirs = getattr(first.meta, name), getattr(second.meta, name)
        if name not in allowed and None not in (ours, theirs) and ours != theirs:
            lines.append(
                f"The two profiles differ in {words} ({ours} and {theirs}): check that they are of the same network."
            )
    return tuple(lines)
