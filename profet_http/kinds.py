"""Kinds of fields: what a value is checked by, in JSON and as text, and its schema; both from one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from profet_core.catalog.own_gpus import GPU_COLUMNS, MAX_OWN_GPUS
from profet_core.errors import ProfetError
from profet_core.profiles.decoding.strict_json import parse_json
from profet_http.limits import MAX_ENTRIES, MAX_TEXT_CHARACTERS


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of field.

    Attributes
    ----------
    wanted : what a value has to be, for "... must be {wanted}".
    schema : in JSON Schema.
    from_json : a value of a JSON document, checked; ValueError if it is of another kind.
    from_texts : the same of the texts that a query or a form gives it, of which most kinds take one.
    """

    wanted: str
    schema: Mapping[str, object]
    from_json: Callable[[object], object]
    from_texts: Callable[[Sequence[str]], object]


def _text(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT_CHARACTERS or not value.isprintable():
        raise ValueError
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError
    return value


def _number(value: object) -> float:
    return float(_real(value))


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _names(value: object) -> list[str]:
    return [_text(name) for name in _entries(value)]


def _counts(value: object) -> list[int]:
    return [_whole(number) for number in _entries(value)]


def _entries(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > MAX_ENTRIES:
        raise ValueError
    return value


def _numbers(value: object) -> dict[str, float]:
    if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
        raise ValueError
    return {_text(name): _number(number) for name, number in value.items()}


def _own_gpus(value: object) -> list[dict[str, str]]:
    """What each says is for `own_gpu_of`."""
    if not isinstance(value, list) or len(value) > MAX_OWN_GPUS:
        raise ValueError
    return [_own_gpu(row) for row in value]


def _own_gpu(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not value.keys() <= set(GPU_COLUMNS):
        raise ValueError
    given = {name: cell for name, cell in value.items() if cell is not None}
    return {name: _text(cell) if isinstance(cell, str) else str(_real(cell)) for name, cell in given.items()}


def _own_gpus_of_text(texts: Sequence[str]) -> list[dict[str, str]]:
    """Of the same list in JSON."""
    if len(texts) != 1 or len(texts[0]) > MAX_OWN_GPUS * MAX_TEXT_CHARACTERS * len(GPU_COLUMNS):
        raise ValueError
    try:
        return _own_gpus(parse_json(texts[0].encode()))
    except ProfetError:
        raise ValueError from None


def _real(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return value


def _profile(value: object) -> dict[str, object] | list[object]:
    """What it holds is for the readers of profiles."""
    if not isinstance(value, dict | list):
        raise ValueError
    return value


def _one(texts: Sequence[str]) -> str:
    if len(texts) != 1 or len(texts[0]) > MAX_TEXT_CHARACTERS:
        raise ValueError
    return texts[0]


def _flag_of_text(texts: Sequence[str]) -> bool:
    known = {"true": True, "1": True, "": True, "false": False, "0": False}
    try:
        return known[_one(texts).lower()]
    except KeyError:
        raise ValueError from None


def _names_of_texts(texts: Sequence[str]) -> list[str]:
    return _names([name.strip() for text in texts for name in text.split(",") if name.strip()])


def _counts_of_texts(texts: Sequence[str]) -> list[int]:
    return _counts([int(number) for text in texts for number in text.split(",") if number.strip()])


def _numbers_of_texts(texts: Sequence[str]) -> dict[str, float]:
    pairs = [text.partition("=")[::2] for text in texts]
    found = {name.strip(): float(number) for name, number in pairs}
    if len(found) != len(pairs):
        raise ValueError
    return _numbers(found)


def _no_text(_: Sequence[str]) -> object:
    raise ValueError


_SHORT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}

TEXT = Kind(f"text of at most {MAX_TEXT_CHARACTERS} characters", _SHORT, _text, lambda texts: _text(_one(texts)))
WHOLE = Kind("a whole number", {"type": "integer"}, _whole, lambda texts: int(_one(texts)))
NUMBER = Kind("a number", {"type": "number"}, _number, lambda texts: float(_one(texts)))
FLAG = Kind("true or false", {"type": "boolean"}, _flag, _flag_of_text)
NAMES = Kind(
    f"a list of at most {MAX_ENTRIES} names",
    {"type": "array", "items": _SHORT, "maxItems": MAX_ENTRIES},
    _names,
    _names_of_texts,
)
COUNTS = Kind(
    f"a list of at most {MAX_ENTRIES} whole numbers",
    {"type": "array", "items": {"type": "integer"}, "maxItems": MAX_ENTRIES},
    _counts,
    _counts_of_texts,
)
NUMBERS = Kind(
    f"at most {MAX_ENTRIES} instances with a number each, such as g4dn.xlarge and 0.4",
    {"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": MAX_ENTRIES},
    _numbers,
    _numbers_of_texts,
)
OWN_GPUS = Kind(
    f"a list of at most {MAX_OWN_GPUS} objects with {', '.join(GPU_COLUMNS[:2])} and other known columns",
    {
        "type": "array",
        "maxItems": MAX_OWN_GPUS,
        "items": {
            "type": "object",
            "required": list(GPU_COLUMNS[:2]),
            "additionalProperties": False,
            "properties": {name: {"type": ["string", "number", "null"]} for name in GPU_COLUMNS},
        },
    },
    _own_gpus,
    _own_gpus_of_text,
)
PROFILE = Kind("a profile: an object, or a file", {"type": ["object", "array"]}, _profile, _no_text)
