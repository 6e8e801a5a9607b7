"""Reads PROFET JSON: version 1 (time per operation type) and version 2 (operations and meta)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeGuard, TypeVar

from profet_core.errors import InputError, ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.decoding.strict_json import parse_json, quote_name
from profet_core.profiles.limits import MAX_OPERATION_US, MAX_STEPS, MAX_TABLE_BYTES, check_operations, is_short_text
from profet_core.profiles.record import Profile, ProfileMeta, running
from profet_core.units import positive_number, whole_number

NAME = "PROFET JSON"
#: What a profile of the first version calls its format.
VERSION_1 = f"{NAME}, version 1"

#: PROFET's recorder profiles batches `N, N+1`, which TensorBoard reads as an inclusive range: two training steps. In
#: its published profiles the device rows, idle included, add up to 2.1 times the step (median of 11,052).
VERSION_1_STEPS = 2
MAX_WARNINGS, MAX_WARNING_LENGTH = 20, 500

_OPERATION_NAME = re.compile(r"(?:Host|Device)_[\w.:/-]{1,120}", re.ASCII)
_WHOLE_META = ("batch_size", "pixels", "parameters")
_POSITIVE_META = ("step_latency_ms", "peak_memory_mib")
_FLAG_META = ("compiled", "channels_last", "onednn")


def looks_like(head: bytes) -> bool:
    """True if `head` opens as JSON does; readers of other JSON formats come before."""
    return head.lstrip(b"\xef\xbb\xbf\x00 \t\r\n")[:1] in (b"{", b"[") or head.startswith((b"\xff\xfe", b"\xfe\xff"))


def read(content: Content) -> Profile:
    """Read a profile.

    Parameters
    ----------
    content : one object of microseconds per operation type (version 1, read as two steps), or version 2,
        `{"operations": {...}, "meta": {...}}`, of one step unless `meta.steps` says how many its totals cover, perhaps
        with `"warnings": ["..."]` and `"refusal": "..."`; a list of one such object, or a table of one row as pandas
        writes it.

    Raises
    ------
    ProfileError : one line that says what is wrong and what to do.
    """
    too_large = (
        f"The file has more than {MAX_TABLE_BYTES // 2**20} MB; a profile has a few KB: upload totals per operation."
    )
    document = parse_json(content.read(MAX_TABLE_BYTES, too_large))
    record = single_record(document, lambda name: _OPERATION_NAME.fullmatch(name) is not None)
    if "operations" in record:
        return _read_version_2(record)
    return _read_version_1(record)


def _read_version_1(record: Mapping[str, object]) -> Profile:
    operations, ignored = _operations(record)
    return running(
        Profile(
            _per_step(operations, VERSION_1_STEPS),
            source_format=VERSION_1,
            ignored=ignored,
            steps=VERSION_1_STEPS,
            steps_basis="assumed",
        )
    )


def _read_version_2(record: Mapping[str, object]) -> Profile:
    if not isinstance(record["operations"], dict):
        raise ProfileError('"operations" must be an object of microseconds per operation type.')
    if "steps" in record:
        raise ProfileError(
            'The number of steps belongs in "meta": "steps" there, beside totals over that many. An older version '
            "of `profet convert` wrote it outside: convert the trace again."
        )
    operations, ignored = _operations(record["operations"])
    meta_record = _meta_record(record.get("meta"))
    meta, ignored_meta = _meta(meta_record)
    stated = meta_record.get("steps")
    steps = 1 if stated is None else _whole('"meta": steps', stated)
    if steps > MAX_STEPS:
        raise ProfileError(f'"meta": steps says {steps:,}: record fewer.')
    others = sorted(set(record) - {"operations", "meta", "warnings", "refusal"})
    return running(
        Profile(
            _per_step(operations, steps),
            meta=meta,
            source_format=f"{NAME}, version 2",
            ignored=(*ignored, *ignored_meta, *_ignored_note("entries beside operations and meta", others)),
            steps=steps,
            steps_basis="assumed" if stated is None else "stated",
            warnings=_warnings(record.get("warnings")),
            refusal=_refusal(record.get("refusal")),
        )
    )


def _per_step(totals_us: Mapping[str, float], steps: int) -> dict[str, float]:
    return {name: us / steps for name, us in totals_us.items()}


def _refusal(text: object) -> str:
    """Why the file's recorder or converter would not have anything predicted from it."""
    if text is None:
        return ""
    if not _is_sentence(text):
        raise ProfileError(f'"refusal" must be text of at most {MAX_WARNING_LENGTH} characters.')
    return text


def _whole(what: str, value: object) -> int:
    try:
        return whole_number(what, value)
    except InputError as error:
        raise ProfileError(str(error)) from None


def _warnings(record: object) -> tuple[str, ...]:
    """What the file's recorder or converter had to say about its times."""
    texts = [] if record is None else record
    if not isinstance(texts, list) or len(texts) > MAX_WARNINGS or not all(map(_is_sentence, texts)):
        raise ProfileError(
            f'"warnings" must be a list of at most {MAX_WARNINGS} texts of at most {MAX_WARNING_LENGTH} characters.'
        )
    return tuple(texts)


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
    others = sorted(name for name in record if name not in operations)
    return operations, _ignored_note("entries that are not operations", others)


def _microseconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        shown = {"NoneType": "null", "str": "text", "bool": "true/false"}.get(
            type(value).__name__, type(value).__name__
        )
        raise ProfileError(f"{quote_name(name)} is {shown}: every operation needs a number of microseconds.")
    if not math.isfinite(value) or value > MAX_OPERATION_US:
        raise ProfileError(f"{quote_name(name)} is too large to be the microseconds of one step: correct it.")
    if value < 0:
        raise ProfileError(f"{quote_name(name)} is negative: times are 0 or more microseconds.")
    return float(value)


def _meta_record(record: object) -> Mapping[str, object]:
    if record is None:
        return {}
    if not isinstance(record, dict):
        raise ProfileError('"meta" must be an object such as {"batch_size": 64, "step_latency_ms": 122.4}.')
    return record


def _meta(record: Mapping[str, object]) -> tuple[ProfileMeta, tuple[str, ...]]:
    known = {field.name for field in fields(ProfileMeta)}
    values = {key: _meta_value(key, value) for key, value in record.items() if key in known and value is not None}
    return ProfileMeta(**values), _ignored_note("unknown meta fields", sorted(set(record) - known - {"steps"}))


def _meta_value(key: str, value: object) -> Any:
    """`value`, once it is of the type that this field of `ProfileMeta` has."""
    try:
        if key in _WHOLE_META:
            return whole_number(f'"meta": {key}', value)
        if key in _POSITIVE_META:
            return positive_number(f'"meta": {key}', value)
    except InputError as error:
        raise ProfileError(str(error)) from None
    if key in _FLAG_META:
        if not isinstance(value, bool):
            raise ProfileError(f'"meta": {key} must be true or false.')
        return value
    if not is_short_text(value):
        raise ProfileError(f'"meta": {key} must be a short text.')
    return value.strip() or None


def _ignored_note(what: str, names: list[str]) -> tuple[str, ...]:
    if not names:
        return ()
    shown = ", ".join(quote_name(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
    return (f"{len(names)} {what}: {shown}",)


Record = TypeVar("Record")


def single_record(document: object, is_operation: Callable[[str], bool]) -> Mapping[str, object]:
    """The one record of a document.

    Parameters
    ----------
    document : the record itself, a list of it, or what `DataFrame.to_json` writes of a table with one row as
        orientation "columns", "index" or "split".
    is_operation : tells an operation's name from other keys.

    Raises
    ------
    ProfileError : another structure, or not exactly one record.
    """
    if isinstance(document, list):
        document = _only(document)
    if not isinstance(document, dict):
        raise ProfileError('This JSON is not a profile: expected {"Device_Conv2D": 51425.8, ...} in microseconds.')
    if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
        return _from_split(document["columns"], _only(document["data"]))
    named = [value for name, value in document.items() if is_operation(name)]
    values = named or list(document.values())
    records = [value for value in values if isinstance(value, dict)]
    if not records or len(records) < len(values):
        return document
    if named:
        return _from_columns(document, records[0])
    if any(is_operation(name) for record in records for name in record) and "operations" not in document:
        return _only(records)
    return document


def _from_columns(document: Mapping[str, object], first: Mapping[str, object]) -> Mapping[str, object]:
    """{"Device_Conv2D": {"0": 1.0}, "Host_IDLE": {"0": 2.0}}."""
    row = _only(list(first))
    same = all(not isinstance(value, dict) or list(value) == [row] for value in document.values())
    if not same:
        raise ProfileError(
            "The columns of this table have different rows: upload the profile of one step as one record."
        )
    return {name: value[row] if isinstance(value, dict) else value for name, value in document.items()}


def _from_split(names: list[object], values: object) -> Mapping[str, object]:
    """{"columns": ["Device_Conv2D", "Host_IDLE"], "index": [0], "data": [[1.0, 2.0]]}."""
    texts = [name for name in names if isinstance(name, str)]
    if not isinstance(values, list) or not len(values) == len(names) == len(texts):
        raise ProfileError('"columns" and the row of "data" have different lengths: write the table again.')
    if len(set(texts)) < len(texts):
        raise ProfileError('A name appears twice in "columns": keep one total per operation.')
    return dict(zip(texts, values, strict=True))


def _only(records: list[Record]) -> Record:
    if len(records) != 1:
        raise ProfileError(f"The list holds {len(records)} records: upload the profile of one step as one record.")
    return records[0]
