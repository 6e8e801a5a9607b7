"""Writes a profile as PROFET JSON, version 2: totals and what is known about the step, and no name of the network."""

from __future__ import annotations

import json
from dataclasses import asdict

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.profet_json.reader import read
from profet_core.profiles.record import Profile


def write_profile(profile: Profile) -> bytes:
    """The profile as `{"operations": {...}, "meta": {...}}`, UTF-8, ready to be saved or uploaded.

    Operations (microseconds of one step) and meta read back exactly; fields of meta that are None are left out. Where
    the number of steps was known, `meta.steps` says that the totals are of one. Beside them stand `"warnings"` and
    `"refusal"` if there are any. What the reader of the trace ignored, and its format, are not written: they may tell
    names.

    Raises
    ------
    ProfileError : the profile has operations or meta that `read_profile` would refuse.
    """
    meta = {name: value for name, value in asdict(profile.meta).items() if value is not None}
    if profile.steps_basis != "assumed":
        meta["steps"] = 1
    document: dict[str, object] = {"operations": dict(profile.operations), "meta": meta}
    if profile.warnings:
        document["warnings"] = list(profile.warnings)
    if profile.refusal:
        document["refusal"] = profile.refusal
    try:
        data = json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"
    except ValueError:
        raise ProfileError("The profile holds a number that is not finite: record it again.") from None
    # What is written must be readable, whoever made the profile.
    if read(Content(data)).operations != profile.operations:
        raise ProfileError("The profile has names that are not operation types such as Device_Conv2D: correct them.")
    return data
