"""PROFET JSON: version 1 (time per operation type) and version 2 (operations and meta), in files and in links."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any, TypeGuard

from profet_profiles.errors import InputError, ProfileError, shown_file_name
from profet_profiles.limits import (
    MAX_OPERATION_US,
    MAX_STEPS,
    MAX_TABLE_BYTES,
    check_operations,
    is_short_text,
)
from profet_profiles.record import (
    Profile,
    ProfileMeta,
    TransformerWork,
    profile_from_totals,
    training_refusal,
)
from profet_profiles.units import LARGEST_NUMBER, positive_number, whole_number
from profet_profiles.unpacking import Content, Reader

_MAX_INTEGER_DIGITS = 18


def parse_json(data: bytes) -> object:
    """Return the document in `data` (UTF-8, with or without a byte-order mark)."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data[:256]:
        raise ProfileError("The file is not UTF-8 text (UTF-16?): save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
        document: object = json.loads(
            text, object_pairs_hook=_object_without_duplicates, parse_constant=_refuse_constant, parse_int=_bounded_int
        )
        if "\\u" in text:
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except UnicodeDecodeError:
        raise ProfileError("The file is not UTF-8 text: save it as UTF-8.") from None
    except UnicodeEncodeError:
        raise ProfileError(r"The file has half of a surrogate pair (such as \ud800) in a text: remove it.") from None
    except RecursionError:
        raise ProfileError("The JSON is nested too deeply to be a profile: upload time per operation type.") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise ProfileError(
                "The file holds several JSON documents (JSON lines?): upload a single document."
            ) from None
        raise ProfileError(
            f"The file is not valid JSON (line {error.lineno}, column {error.colno}): save the profile again."
        ) from None


def _object_without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record: dict[str, object] = {}
    for key, value in pairs:
        if key in record:
            raise ProfileError(f"{quote_name(key)} appears twice: keep one total per operation.")
        record[key] = value
    return record


def _refuse_constant(name: str) -> float:
    raise ProfileError(f"The file holds {name}, which is not a time: remove that operation or correct it.")


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_INTEGER_DIGITS:
        raise ProfileError(f"The file holds a number of {len(digits)} digits: times must be microseconds of one step.")
    return int(digits)


def quote_name(name: object) -> str:
    """Return a key from an upload, shortened and with control characters escaped, for use in a message."""
    text = ascii(name) if not (isinstance(name, str) and name.isprintable()) else repr(name)
    return text if len(text) <= 60 else text[:57] + "..."


NAME = "PROFET JSON"
#: What a profile of the first version calls its format.
VERSION_1 = f"{NAME}, version 1"
#: PROFET's recorder profiles batches `N, N+1`, which TensorBoard reads as an inclusive range: two training steps. In
#: its published profiles the device rows, idle included, add up to 2.1 times the step (median of 11,052).
VERSION_1_STEPS = 2
MAX_WARNINGS, MAX_WARNING_LENGTH = 20, 500
#: Addresses beyond this are cut short by what they are sent with; a profile takes 600 to 1,100 letters.
MAX_LETTERS = 4_000
#: Of the JSON in a link; what unpacks to more is no profile of ours.
_MAX_LINK_BYTES = 64 * 2**10

_OPERATION_NAME = re.compile(r"(?:Host|Device)_[\w.:/-]{1,120}", re.ASCII)
_WHOLE_META = ("batch_size", "pixels", "parameters")
_POSITIVE_META = ("step_latency_ms", "peak_memory_mib", "estimated_share")
_FLAG_META = ("compiled", "channels_last", "onednn")


#: Lines of a log: "[07/21 15:02:14] iter: 1999", "{'loss': 0.5}"; a profile that Python printed is JSON with an error.
_LOG = re.compile(
    rb"\s*+(?:\[\s*+(?![\[{\"\]]|-?\d++(?:\.\d++)?(?:e[+-]?\d++)?\s*+(?:,|\]\s*+\Z)|(?:true|false|null|-?inf|nan))"
    rb"|\{\s*+'(?!Device_|Host_|operations))",
    re.IGNORECASE,
)


def looks_like(head: bytes) -> bool:
    """Return True if `head` opens as JSON does; readers of other JSON formats come before."""
    if _LOG.match(head) and b"\x00" not in head[:256]:
        return False
    return head.lstrip(b"\xef\xbb\xbf\x00 \t\r\n")[:1] in (b"{", b"[") or head.startswith((b"\xff\xfe", b"\xfe\xff"))


_PROFILE = re.compile(rb'\s*+\{\s*+"(?:operations"|(?:Device|Host)_)')


def begins_as_profile(head: bytes) -> bool:
    """Say whether `head` opens as what `write_profile` writes, or as operations, which no other format does."""
    return _PROFILE.match(head) is not None


def read_small(data: bytes, name: str) -> Profile:
    """Read what begins as a profile, with the file's name in its errors."""
    try:
        return read(Content(data)).with_file_name(name)
    except ProfileError as error:
        raise ProfileError(f"{shown_file_name(name)}: {error}") from None


def read(content: Content) -> Profile:
    """Read a profile.

    Parameters
    ----------
    content : one object of microseconds per operation type (version 1, read as two steps), or version 2,
        `{"operations": {...}, "meta": {...}}`, of one step unless the meta's `steps` says how many its totals cover,
        perhaps with `"warnings": ["..."]` and `"refusal": "..."`; a list of one such object.
    """
    too_large = (
        f"The file has more than {MAX_TABLE_BYTES // 2**20} MB; a profile has a few KB: upload totals per operation."
    )
    record = parse_json(content.read(MAX_TABLE_BYTES, too_large))
    if isinstance(record, list):
        if len(record) != 1:
            raise ProfileError(f"The list holds {len(record)} records: upload the profile of one step as one record.")
        record = record[0]
    if not isinstance(record, dict):
        raise ProfileError('This JSON is not a profile: expected {"Device_Conv2D": 51425.8, ...} in microseconds.')
    if "operations" in record:
        return _read_version_2(record)
    totals_us, ignored = _operations(record)
    refusal = training_refusal(totals_us)
    return profile_from_totals(totals_us, VERSION_1_STEPS, source_format=VERSION_1, ignored=ignored, refusal=refusal)


def _read_version_2(record: Mapping[str, object]) -> Profile:
    operations, meta, warnings, refusal = (record.get(key) for key in ("operations", "meta", "warnings", "refusal"))
    if not isinstance(operations, dict):
        raise ProfileError('"operations" must be an object of microseconds per operation type.')
    if "steps" in record:
        raise ProfileError(
            'The number of steps belongs in "meta": "steps" there, beside totals over that many. An older version '
            "of `profet convert` wrote it outside: convert the trace again."
        )
    meta = {} if meta is None else meta
    if not isinstance(meta, dict):
        raise ProfileError('"meta" must be an object such as {"batch_size": 64, "step_latency_ms": 122.4}.')
    totals_us, ignored = _operations(operations)
    names = {field.name for field in fields(ProfileMeta)}
    values = {key: _meta_value(key, value) for key, value in meta.items() if key in names and value is not None}
    ignored += _ignored_note("unknown meta fields", set(meta) - names - {"steps"})
    ignored += _ignored_note("entries beside operations and meta", set(record) - _VERSION_2_KEYS)
    stated = meta.get("steps")
    steps = 1 if stated is None else _checked(whole_number, "steps", stated)
    if steps > MAX_STEPS:
        raise ProfileError(f'"meta": steps says {steps:,}: record fewer.')
    warnings = [] if warnings is None else warnings
    if not isinstance(warnings, list) or len(warnings) > MAX_WARNINGS or not all(map(_is_sentence, warnings)):
        raise ProfileError(
            f'"warnings" must be a list of at most {MAX_WARNINGS} texts of at most {MAX_WARNING_LENGTH} characters.'
        )
    if refusal is not None and not _is_sentence(refusal):
        raise ProfileError(f'"refusal" must be text of at most {MAX_WARNING_LENGTH} characters.')
    return profile_from_totals(
        totals_us,
        steps,
        meta=ProfileMeta(**values),
        source_format=f"{NAME}, version 2",
        ignored=ignored,
        steps_basis="assumed" if stated is None else "stated",
        warnings=tuple(warnings),
        # A compiler's names tell nothing of gradients, and are refused for themselves.
        refusal=refusal or ("" if values.get("compiled") else training_refusal(totals_us)),
    )


_VERSION_2_KEYS = {"operations", "meta", "warnings", "refusal"}


def _is_sentence(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and text.isprintable() and 0 < len(text) <= MAX_WARNING_LENGTH


def _operations(record: Mapping[str, object]) -> tuple[dict[str, float], tuple[str, ...]]:
    names = [name for name in record if _OPERATION_NAME.fullmatch(name)]
    if not names:
        raise ProfileError(
            "No operation was found: names look like Device_Conv2D or Host_IDLE, values are microseconds."
        )
    check_operations(len(names))
    operations = {name: _microseconds(name, record[name]) for name in names}
    return operations, _ignored_note("entries that are not operations", record.keys() - operations.keys())


def _microseconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        kind = type(value).__name__
        shown = {"NoneType": "null", "str": "text", "bool": "true/false"}.get(kind, kind)
        raise ProfileError(f"{quote_name(name)} is {shown}: every operation needs a number of microseconds.")
    if not math.isfinite(value) or value > MAX_OPERATION_US:
        raise ProfileError(f"{quote_name(name)} is too large to be the microseconds of one step: correct it.")
    if value < 0:
        raise ProfileError(f"{quote_name(name)} is negative: times are 0 or more microseconds.")
    return float(value)


def _meta_value(key: str, value: object) -> Any:
    """`value`, once it is of the type that this field of `ProfileMeta` has."""
    if key in _WHOLE_META or key in _POSITIVE_META:
        if key == "estimated_share" and isinstance(value, int | float) and value > 1:
            raise ProfileError('"meta": estimated_share is a part of the GPU time, from 0 to 1.')
        return _checked(whole_number if key in _WHOLE_META else positive_number, key, value)
    if key in _FLAG_META:
        if not isinstance(value, bool):
            raise ProfileError(f'"meta": {key} must be true or false.')
        return value
    if key == "work":
        return _work(value)
    if not is_short_text(value):
        raise ProfileError(f'"meta": {key} must be a short text.')
    return value.strip() or None


def _work(value: object) -> TransformerWork:
    names = {field.name for field in fields(TransformerWork)}
    if not isinstance(value, dict) or set(value) != names:
        raise ProfileError('"meta": work must have the fields that `profet convert` writes.')
    for name, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= LARGEST_NUMBER:
            raise ProfileError(f'"meta": {name} of work must be a number of 0 or more.')
    return TransformerWork(**{name: float(number) for name, number in value.items()})


def _checked(check: Any, key: str, value: object) -> Any:
    try:
        return check(f'"meta": {key}', value)
    except InputError as error:
        raise ProfileError(str(error)) from None


def _ignored_note(what: str, names: set[str]) -> tuple[str, ...]:
    if not names:
        return ()
    shown = ", ".join(quote_name(name) for name in sorted(names)[:5]) + (", ..." if len(names) > 5 else "")
    return (f"{len(names)} {what}: {shown}",)


def write_profile(profile: Profile) -> bytes:
    """Write the profile as version 2, `{"operations": {...}, "meta": {...}}`, UTF-8, ready to be uploaded.

    Operations (microseconds of one step) and meta read back exactly. Where the number of steps was known, the meta's
    `steps` says that the totals are of one. Beside them stand `"warnings"` and `"refusal"` if there are any. What the
    reader of the trace ignored, and its format, are not written: they may tell names.

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


def profile_to_link_text(profile: Profile) -> str | None:
    """Text for an address: totals and meta in the version they were read in, compressed; None if that is too long."""
    if profile.source_format == VERSION_1:
        # It tells nothing but operations, and its reader takes them for so many steps again.
        data = json.dumps({name: us * profile.steps for name, us in profile.operations.items()}).encode()
    else:
        data = write_profile(profile)
    text = base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")
    return text if len(text) <= MAX_LETTERS else None


def profile_from_link_text(text: str) -> Profile:
    """Return the profile that `profile_to_link_text` wrote.

    Raises
    ------
    ProfileError : the text holds none; one line.
    """
    unpacking, data = zlib.decompressobj(), b""
    if len(text) <= MAX_LETTERS:
        with suppress(ValueError, zlib.error):
            packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            data = unpacking.decompress(packed, _MAX_LINK_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise ProfileError(
            "The profile in this link can't be read: the link is truncated or changed. Ask for it again."
        )
    return read(Content(data))


READER = Reader(NAME, looks_like, read)
