"""Parses JSON as the standard has it: no NaN, no duplicate keys, no endless numbers, no bottomless nesting."""

from __future__ import annotations

import json

from profet_core.errors import ProfileError

_MAX_INTEGER_DIGITS = 18


def parse_json(data: bytes) -> object:
    """The document in `data` (UTF-8, with or without a byte-order mark).

    Raises
    ------
    ProfileError : one line that says what is wrong with the file and what to do.
    """
    text = _decode(data)
    try:
        return json.loads(
            text, object_pairs_hook=_object_without_duplicates, parse_constant=_refuse_constant, parse_int=_bounded_int
        )
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


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data[:256]:
        raise ProfileError("The file is not UTF-8 text (UTF-16?): save it as UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ProfileError("The file is not UTF-8 text: save it as UTF-8.") from None


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
    """A key from an upload, shortened and with control characters escaped, for use in a message."""
    text = ascii(name) if not (isinstance(name, str) and name.isprintable()) else repr(name)
    return text if len(text) <= 60 else text[:57] + "..."
