"""What a reading process says, a line of JSON each: how far it is, and at last the profile or why there is none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from profet_core.profiles.limits import MAX_OPERATIONS, MAX_STEPS
from profet_core.profiles.record import Profile, ProfileMeta, StepsBasis

#: A thousand operations, and what stands beside them.
MAX_ANSWER_BYTES = 2**20
#: What ended a reading that ran into a limit.
MEMORY, TIME = "memory", "time"
_BASES: tuple[StepsBasis, ...] = ("marked", "counted", "stated", "given", "inferred", "assumed")


@dataclass(frozen=True, slots=True)
class Answer:
    """One line; one of the fields is set.

    Attributes
    ----------
    share : of the file that is read, 0 to 1.
    profile : what was read.
    error : why the file can't be read, one line.
    limit : `MEMORY` or `TIME`, which of them was reached.
    """

    share: float | None = None
    profile: Profile | None = None
    error: str | None = None
    limit: str | None = None


def write_answer(answer: Answer) -> bytes:
    """The line."""
    profile = answer.profile
    document: dict[str, object] = {"share": answer.share, "error": answer.error, "limit": answer.limit}
    if profile is not None:
        document["profile"] = {
            # To the last digit: the file may yet be read as covering other steps.
            "operations": dict(profile._unrounded_us),
            "meta": asdict(profile.meta),
            "source_format": profile.source_format,
            "ignored": profile.ignored,
            "steps": profile.steps,
            "warnings": profile.warnings,
            "steps_basis": profile.steps_basis,
            "refusal": profile.refusal,
            "may_be_cut": profile.may_be_cut,
        }
    return answer_line(document)


def answer_line(document: Mapping[str, object]) -> bytes:
    """What is set of an answer, as a line of JSON."""
    return json.dumps({key: value for key, value in document.items() if value is not None}).encode() + b"\n"


def read_answer(line: bytes) -> Answer:
    """The answer in a line.

    Raises
    ------
    ValueError : it is none: a process that read a stranger's file is not believed.
    """
    document = json.loads(line)
    match document:
        case {"share": float(share)} if 0 <= share <= 1:
            return Answer(share=share)
        case {"error": str(error)} if error.isprintable():
            return Answer(error=error)
        case {"limit": "memory" | "time" as limit}:
            return Answer(limit=limit)
        case {"profile": dict(profile)}:
            return Answer(profile=_profile(profile))
    raise ValueError("no answer")


def _profile(record: Mapping[str, Any]) -> Profile:
    match record:
        case {
            "operations": dict(operations),
            "meta": dict(meta),
            "source_format": str(source_format),
            "ignored": list(ignored),
            "steps": int(steps),
            "warnings": list(warnings),
            "steps_basis": str(steps_basis),
            "refusal": str(refusal),
            "may_be_cut": bool(may_be_cut),
        } if (
            len(operations) <= MAX_OPERATIONS
            and all(isinstance(us, int | float) and 0 <= us < math.inf for us in operations.values())
            and all(is_line(text) for text in (*operations, *ignored, *warnings, source_format))
            and 1 <= steps <= MAX_STEPS
            and (not refusal or is_line(refusal))
        ):
            return Profile(
                operations=operations,
                meta=_meta(meta),
                source_format=source_format,
                ignored=tuple(ignored),
                steps=steps,
                warnings=tuple(warnings),
                steps_basis=_BASES[_BASES.index(steps_basis)],
                refusal=refusal,
                may_be_cut=may_be_cut,
            )
    raise ValueError("no profile")


def _meta(record: Mapping[str, Any]) -> ProfileMeta:
    if set(record) != set(ProfileMeta.__slots__):
        raise ValueError("no meta")
    for value in record.values():
        if not (value is None or isinstance(value, bool | int | float) or is_line(value)):
            raise ValueError("no meta")
    return ProfileMeta(**record)


def is_line(text: object) -> bool:
    """True for what an answer may say: one printable line of at most 1,000 characters."""
    return isinstance(text, str) and len(text) <= 1_000 and text.isprintable()
