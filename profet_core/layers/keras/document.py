"""Parse the JSON of a Keras file, and a layer's settings in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profet_core.errors import InputError
from profet_core.layers.given import shown, whole
from profet_core.layers.shapes import Padding, Shape

#: The description of a network of a thousand layers has two megabytes.
MAX_JSON_BYTES = 16 * 2**20
#: The largest networks of Keras (1,000 layers) have 60,000.
MAX_JSON_VALUES = 200_000
_MAX_INTEGER_DIGITS = 18


def parse(data: bytes) -> dict[str, Any]:
    """The object that is the document.

    Raises
    ------
    InputError : more than `MAX_JSON_BYTES` or `MAX_JSON_VALUES`, or no JSON object.
    """
    if len(data) > MAX_JSON_BYTES:
        raise InputError(f"its description has more than {MAX_JSON_BYTES // 2**20} MB, which no network needs.")
    # Before parsing: a value takes a byte or two of the file and a hundred times as many in memory.
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_JSON_VALUES:
        raise InputError(f"its description has more than {MAX_JSON_VALUES:,} values, which no network needs.")
    try:
        document = json.loads(data, object_pairs_hook=_object_without_duplicates, parse_int=_bounded_int)
    except RecursionError:
        raise InputError("its JSON is nested too deeply to be a network.") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InputError("it is not valid JSON, or cut short: save the model again.") from None
    if not isinstance(document, dict):
        raise InputError("its JSON is not a model: save it with `model.save` or `model.to_json`.")
    return document


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise InputError("its JSON has a key twice in one object: save the model again.")
    return record


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_INTEGER_DIGITS:
        raise InputError(f"it holds a number of {len(digits):,} digits, more than a layer can have.")
    return int(digits)


@dataclass(frozen=True, slots=True)
class Settings:
    """The `config` of one layer; each method raises `InputError` where what it asks for isn't there or makes no sense.

    Attributes
    ----------
    values : as the file has them.
    """

    values: Mapping[str, Any]

    def whole(self, key: str, least: int = 1) -> int:
        """A whole number."""
        return whole(self.values.get(key), key, least)

    def wholes(self, key: str, length: int, default: int | None = None, least: int = 1) -> Shape:
        """So many whole numbers; one number stands for all, `default` if missing."""
        value = self.values.get(key)
        if value is None and default is not None:
            value = default
        if isinstance(value, list):
            if len(value) != length:
                raise InputError(f"its {key} has {len(value):,} numbers, {length} are needed.")
            return tuple(whole(each, key, least) for each in value)
        return (whole(value, key, least),) * length

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise InputError(f"its {key} is neither true nor false.")
        return value

    def padding(self) -> Padding:
        """ "same" or "valid", the default."""
        value = self.values.get("padding", "valid")
        match value.lower() if isinstance(value, str) else value:
            case "same":
                return "same"
            case "valid":
                return "valid"
        raise InputError(f"its padding is {shown(value)}: same and valid are known.")

    def margins(self, key: str, length: int) -> tuple[tuple[int, int], ...]:
        """(before, after) of so many sides: one number, one a side, or two a side."""
        value = self.values.get(key, 1)
        if length == 1 and isinstance(value, list) and len(value) == 2 and not isinstance(value[0], list):
            value = [value]
        sides = value if isinstance(value, list) else [value] * length
        if len(sides) != length:
            raise InputError(f"its {key} has {len(sides):,} sides, {length} are needed.")
        pairs = [side if isinstance(side, list) else [side, side] for side in sides]
        if any(len(pair) != 2 for pair in pairs):
            raise InputError(f"its {key} has sides of other than two numbers.")
        return tuple((whole(pair[0], key, 0), whole(pair[1], key, 0)) for pair in pairs)
