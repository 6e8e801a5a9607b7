"""Reads the fields of a request, from JSON or as texts, and describes each kind of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from profet_core.catalog.own_gpus import GPU_COLUMNS, MAX_OWN_GPUS
from profet_core.documents.records import Schema
from profet_core.errors import ProfetError
from profet_core.fields.field import Field, Fields, Kind
from profet_core.profiles.decoding.strict_json import parse_json
from profet_http.failures import UNUSABLE, RequestError
from profet_http.limits import MAX_ENTRIES, MAX_TEXT_CHARACTERS


class Taken(NamedTuple):
    """How a kind of field is taken.

    Attributes
    ----------
    wanted : what a value has to be, for "... must be {wanted}". schema : in JSON Schema.
    checked : a value of a JSON document; ValueError if it is of another kind.
    of_texts : what JSON would have, of the texts that a query or a form gives it; most kinds take one.
    """

    wanted: str
    schema: Schema
    checked: Callable[[object], object]
    of_texts: Callable[[Sequence[str]], object]


def _a(*types: type) -> Callable[[object], object]:
    """Takes values of these types; true and false are no numbers."""

    def checked(value: object) -> object:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ValueError
        return value

    return checked


def _text(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT_CHARACTERS or not value.isprintable():
        raise ValueError
    return value


_real, _whole = _a(int, float), _a(int)


def _number(value: object) -> float:
    return float(_real(value))  # type: ignore[arg-type]


def _list(value: object, entry: Callable[[object], object], most: int = MAX_ENTRIES) -> list[object]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError
    return [entry(one) for one in value]


def _numbers(value: object) -> dict[str, float]:
    if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
        raise ValueError
    return {_text(name): _number(number) for name, number in value.items()}


def _own_gpu(value: object) -> dict[str, str]:
    """What it says, for `own_gpu_of`."""
    if not isinstance(value, dict) or not value.keys() <= set(GPU_COLUMNS):
        raise ValueError
    given = {name: cell for name, cell in value.items() if cell is not None}
    return {name: _text(cell) if isinstance(cell, str) else str(_real(cell)) for name, cell in given.items()}


def _one(texts: Sequence[str], most: int = MAX_TEXT_CHARACTERS) -> str:
    if len(texts) != 1 or len(texts[0]) > most:
        raise ValueError
    return texts[0]


def _flag_of(texts: Sequence[str]) -> bool:
    known = {"true": True, "1": True, "": True, "false": False, "0": False}
    if (found := known.get(_one(texts).lower())) is None:
        raise ValueError
    return found


def _parts(texts: Sequence[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _numbers_of(texts: Sequence[str]) -> dict[str, float]:
    pairs = [text.partition("=")[::2] for text in texts]
    found = {name.strip(): float(number) for name, number in pairs}
    if len(found) != len(pairs):
        raise ValueError
    return found


def _own_gpus_of(texts: Sequence[str]) -> object:
    """The same list in JSON."""
    try:
        return parse_json(_one(texts, MAX_OWN_GPUS * MAX_TEXT_CHARACTERS * len(GPU_COLUMNS)).encode())
    except ProfetError:
        raise ValueError from None


def _no_text(_: Sequence[str]) -> object:
    raise ValueError


_SHORT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}
_A_NUMBER = Taken("a number", {"type": "number"}, _number, lambda texts: float(_one(texts)))
_GPU = {
    "type": "object",
    "required": list(GPU_COLUMNS[:2]),
    "additionalProperties": False,
    "properties": {name: {"type": ["string", "number", "null"]} for name in GPU_COLUMNS},
}


def _many(entry: Mapping[str, object], most: int = MAX_ENTRIES) -> Schema:
    return {"type": "array", "items": entry, "maxItems": most}


TAKEN: Mapping[Kind, Taken] = {
    Kind.TEXT: Taken(f"text of at most {MAX_TEXT_CHARACTERS} characters", _SHORT, _text, _one),
    Kind.WHOLE: Taken("a whole number", {"type": "integer"}, _whole, lambda texts: int(_one(texts))),
    Kind.NUMBER: _A_NUMBER,
    Kind.LARGE: _A_NUMBER,
    Kind.FLAG: Taken("true or false", {"type": "boolean"}, _a(bool), _flag_of),
    Kind.NAMES: Taken(
        f"a list of at most {MAX_ENTRIES} names", _many(_SHORT), lambda value: _list(value, _text), _parts
    ),
    Kind.COUNTS: Taken(
        f"a list of at most {MAX_ENTRIES} whole numbers",
        _many({"type": "integer"}),
        lambda value: _list(value, _whole),
        lambda texts: [int(part) for part in _parts(texts)],
    ),
    Kind.NUMBERS: Taken(
        f"at most {MAX_ENTRIES} instances with a number each, such as g4dn.xlarge and 0.4",
        {"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": MAX_ENTRIES},
        _numbers,
        _numbers_of,
    ),
    Kind.OWN_GPUS: Taken(
        f"a list of at most {MAX_OWN_GPUS} objects with {', '.join(GPU_COLUMNS[:2])} and other known columns",
        _many(_GPU, MAX_OWN_GPUS),
        lambda value: _list(value, _own_gpu, MAX_OWN_GPUS),
        _own_gpus_of,
    ),
    Kind.PROFILE: Taken("a profile: an object, or a file", {"type": ["object", "array"]}, _a(dict, list), _no_text),
}


def values_of_json(fields: Fields, document: object) -> dict[str, object]:
    """The values of a JSON document, checked; null counts as missing.

    Raises
    ------
    RequestError : no object, an unknown field, or a value of another kind.
    """
    if not isinstance(document, dict):
        raise RequestError(UNUSABLE, "The body must be a JSON object, with a field profile.")
    _check_names(fields, document)
    given = {name: value for name, value in document.items() if value is not None}
    return {name: _checked(name, fields[name], value) for name, value in given.items()}


def values_of_texts(fields: Fields, texts: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """The same of a query or a form, whose values are texts; of a list they may be several."""
    _check_names(fields, texts)
    return {name: _checked(name, fields[name], several, as_texts=True) for name, several in texts.items()}


def check_complete(fields: Fields, values: Mapping[str, object]) -> None:
    """Raise a RequestError for the first field that is missing."""
    for name, field in fields.items():
        if field.required and name not in values:
            raise RequestError(UNUSABLE, f"{name} is missing: {field.help}.")


def _check_names(fields: Fields, given: Mapping[str, object]) -> None:
    unknown = next((name for name in given if name not in fields), None)
    if unknown is not None:
        shown = ascii(unknown) if len(unknown) <= 60 else f"{unknown[:57]!a}..."
        raise RequestError(UNUSABLE, f"Unknown field {shown}: choose from {', '.join(fields)}.")


def _checked(name: str, field: Field, value: Any, *, as_texts: bool = False) -> object:
    taken = TAKEN[field.kind]
    try:
        return taken.checked(taken.of_texts(value) if as_texts else value)
    except (ValueError, OverflowError):
        raise RequestError(UNUSABLE, f"{name} must be {taken.wanted}.") from None
