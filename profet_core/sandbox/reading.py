"""Read a profile in a limited process, so that no file harms the server."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from typing import Any, BinaryIO, get_args

from profet_core.errors import ProfileError
from profet_core.sandbox.process import SMALL_BYTES, Progress, Task, Waiting, is_line, read_file
from profet_recorder.profiles import profet_json
from profet_recorder.profiles.limits import MAX_OPERATIONS, MAX_STEPS, smaller_trace
from profet_recorder.profiles.reading import find_reader, read_profile
from profet_recorder.profiles.record import Profile, ProfileMeta, StepsBasis
from profet_recorder.profiles.unpacking import HEAD_BYTES

#: A thousand operations, and what stands beside them.
_MAX_ANSWER_BYTES = 2**20


def read_guarded(
    source: bytes | BinaryIO,
    name: str = "profile",
    *,
    progress: Progress | None = None,
    waiting: Waiting | None = None,
) -> Profile:
    """Read a third-party file as `read_profile` does, within limits; parameters and errors as `read_file` has them."""

    def begin(start: bytes) -> Task[Profile] | Profile:
        if len(start) <= SMALL_BYTES and find_reader(start) is profet_json:
            return read_profile(start, name)
        head = start
        with suppress(zlib.error):
            head = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(start, HEAD_BYTES)
        return replace(TASK, advice=smaller_trace(head))

    return read_file(source, name, begin, progress=progress, waiting=waiting)


def work(file: BinaryIO, arguments: Sequence[str], progress: Progress) -> dict[str, Any]:
    """In the process: read a file of which the end of the name is known."""
    name = f"profile{arguments[0]}"
    try:
        return profile_document(read_profile(file, name, progress=progress))
    except ProfileError as error:
        raise ProfileError(str(error).removeprefix(f"{name}: ")) from None


def profile_document(profile: Profile) -> dict[str, Any]:
    """A profile as JSON values, to the last digit: the file may yet be read as covering other steps."""
    others = {field.name: getattr(profile, field.name) for field in fields(Profile) if field.init}
    return others | {"operations": dict(profile._unrounded_us), "meta": asdict(profile.meta)}


def profile_in(document: Any) -> Profile:
    """The profile in a document of `profile_document`."""
    match document:
        case {
            "operations": dict(operations),
            "meta": dict(meta),
            "source_format": str(source_format),
            "ignored": list(ignored),
            "steps": int(steps),
            "warnings": list(warnings),
            "steps_basis": str(basis),
            "refusal": str(refusal),
            "may_be_cut": bool(),
        } if (
            len(operations) <= MAX_OPERATIONS
            and all(isinstance(us, int | float) and 0 <= us < math.inf for us in operations.values())
            and all(is_line(text) for text in (*operations, *ignored, *warnings, source_format, refusal))
            and 1 <= steps <= MAX_STEPS
            and basis in get_args(StepsBasis)
            and set(meta) == set(ProfileMeta.__slots__)
            and all(value is None or isinstance(value, bool | int | float) or is_line(value) for value in meta.values())
            and len(document) == _FIELDS
        ):
            texts = {"ignored": tuple(ignored), "warnings": tuple(warnings)}
            return Profile(**{**document, **texts, "meta": ProfileMeta(**meta)})
    raise ValueError("no profile")


_FIELDS = sum(field.init for field in fields(Profile))
TASK = Task(__name__, profile_in, ProfileError, "record fewer steps", _MAX_ANSWER_BYTES)
