"""Fields and kinds of values, for options, requests and schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from itertools import chain
from typing import Any, TypeAlias

from profet_core.errors import InputError
from profet_core.typed_numbers import typed_count

#: Names in a list, or instances with a number each.
MAX_ENTRIES = 100
#: A text: an instance's name, a region.
MAX_TEXT_CHARACTERS = 100
#: Fields that filter offers; the last of every question.
OFFER_FIELDS = ("provider", "region", "market", "gpu", "gpu_count", "min_memory_gib", "confidence")


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of value.

    Attributes
    ----------
    wanted : what a value must be, for "... must be {wanted}". schema : in JSON Schema.
    checked : a JSON value; ValueError if it is of another kind. parse : the same of one text.
    join : parsed texts of one field -> its value; None: a field has one text.
    metavar : of an option.
    """

    wanted: str
    schema: Mapping[str, Any]
    checked: Callable[[Any], object]
    parse: Callable[[str], Any]
    join: Callable[[Sequence[Any]], object] | None = None
    metavar: str | None = None

    def of_texts(self, texts: Sequence[str]) -> object:
        """Value of a query's or a form's texts; ValueError if they are of another kind."""
        if self.join is not None:
            return self.checked(self.join([self.parse(text) for text in texts]))
        if len(texts) != 1 or len(texts[0]) > MAX_TEXT_CHARACTERS:
            raise ValueError
        return self.checked(self.parse(texts[0]))


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a question; an option has `-` for `_`.

    Attributes
    ----------
    help : what it is for, and its default. unit : of the value, as help pages show it.
    choices : what a text can be; empty: anything. read : the choice that a text names, under any of its names.
    """

    kind: Kind
    help: str
    unit: str | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    read: Callable[[str], str] = str


Fields: TypeAlias = Mapping[str, Field]


def asked(help: str, kind: Kind | None = None, *, default: Any = None, **more: Any) -> Any:
    """Declare a dataclass field that users fill in.

    Parameters
    ----------
    kind : None: by the field's annotation. default : `dict` for an empty one, `MISSING` for a required field.
    more : unit, choices and read of `Field`.
    """
    given = {"default_factory": dict} if default is dict else {"default": default}
    return dataclasses.field(metadata={"kind": kind, "help": help, **more}, **given)


def fields_of(question: type, *names: str) -> Fields:
    """Fields of a question's class, those that filter offers last; `names`: only these."""
    found = {}
    for one in sorted(dataclasses.fields(question), key=lambda one: one.name in OFFER_FIELDS):
        if "help" in one.metadata and (not names or one.name in names):
            kind = one.metadata["kind"] or _KINDS[str(one.type).removesuffix(" | None")]
            required = one.default is MISSING and one.default_factory is MISSING
            found[one.name] = Field(**{**one.metadata, "kind": kind}, required=required)
    return found


def names(text: str) -> list[str]:
    """Names, of "A,B"."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise InputError(f"{text!r} is not a list of numbers such as 1,2,4,8") from None


def _instance_number(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise InputError(f"{text!r} is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4") from None


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "1", "", "false", "0"):
        raise ValueError
    return text.lower() not in ("false", "0")


def _refused(_: str) -> None:
    raise ValueError


def of_types(*types: type) -> Callable[[Any], Any]:
    """Takes values of these types; true and false are no numbers."""

    def checked(value: object) -> object:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ValueError
        return value

    return checked


def checked_text(value: object) -> str:
    """A short printable text; ValueError for anything else."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT_CHARACTERS or not value.isprintable():
        raise ValueError
    return value


def _number(value: object) -> float:
    return float(_real(value))


def list_of(entry: Callable[[Any], object], most: int = MAX_ENTRIES) -> Callable[[object], list[object]]:
    """Takes lists of at most so many entries."""

    def checked(value: object) -> list[object]:
        if not isinstance(value, list) or len(value) > most:
            raise ValueError
        return [entry(one) for one in value]

    return checked


def _numbers(value: object) -> dict[str, float]:
    if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
        raise ValueError
    return {checked_text(name): _number(number) for name, number in value.items()}


def _flat(lists: Sequence[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(lists))


_real, _whole = of_types(int, float), of_types(int)
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}
_MANY = {"type": "array", "maxItems": MAX_ENTRIES}
TEXT = Kind(f"text of at most {MAX_TEXT_CHARACTERS} characters", _TEXT, checked_text, str)
WHOLE = Kind("a whole number", {"type": "integer"}, _whole, int, metavar="N")
NUMBER = Kind("a number", {"type": "number"}, _number, float)
#: A number such as 25.6M.
LARGE = Kind("a number", {"type": "number"}, _number, typed_count, metavar="N")
FLAG = Kind("true or false", {"type": "boolean"}, of_types(bool), _flag)
NAMES = Kind(
    f"a list of at most {MAX_ENTRIES} names", {**_MANY, "items": _TEXT}, list_of(checked_text), names, _flat, "A,B"
)
COUNTS = Kind(
    f"a list of at most {MAX_ENTRIES} whole numbers",
    {**_MANY, "items": {"type": "integer"}},
    list_of(_whole),
    _counts,
    _flat,
    "1,2,4",
)
#: Instance -> number.
NUMBERS = Kind(
    f"at most {MAX_ENTRIES} instances with a number each, such as g4dn.xlarge and 0.4",
    {"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": MAX_ENTRIES},
    _numbers,
    _instance_number,
    dict,
)
#: A file, or its JSON.
PROFILE = Kind(
    "a profile: an object, or a file", {"type": ["object", "array"]}, of_types(dict, list), _refused, metavar="TRACE"
)
_KINDS = {
    "str": TEXT,
    "int": WHOLE,
    "float": NUMBER,
    "bool": FLAG,
    "Sequence[str]": NAMES,
    "Sequence[int]": COUNTS,
    "Mapping[str, float]": NUMBERS,
    "Profile": PROFILE,
}
