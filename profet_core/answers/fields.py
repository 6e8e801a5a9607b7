"""Fields and kinds of values, for options, requests and schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from typing import Any, TypeAlias, TypeVar

from profet_core.errors import InputError
from profet_core.units import typed_count

#: Names in a list, or instances with a number each.
MAX_ENTRIES = 100
#: A text: an instance's name, a region.
MAX_TEXT_CHARACTERS = 100
#: Fields that filter offers; the last of every question.
OFFER_FIELDS = ("provider", "region", "market", "gpu", "gpu_count", "min_memory_gib", "confidence")
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}
_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of value: "... must be {wanted}", as its JSON Schema has it; `parse` reads one text."""

    wanted: str
    schema: Mapping[str, Any]
    parse: Callable[[str], Any]
    #: Parsed texts of one field -> its value; None: a field has one text.
    join: Callable[[Sequence[Any]], object] | None = None
    metavar: str | None = None
    longest: int = MAX_TEXT_CHARACTERS

    def checked(self, value: object) -> object:
        """A JSON value; ValueError if it is of another kind."""
        return _checked(value, self.schema)

    def of_texts(self, texts: Sequence[str]) -> object:
        """Value of a query's or a form's texts; ValueError if they are of another kind."""
        if self.join is not None:
            return self.checked(self.join([self.parse(text) for text in texts]))
        if len(texts) != 1 or len(texts[0]) > self.longest:
            raise ValueError
        return self.checked(self.parse(texts[0]))


def _checked(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value, a number as a float; ValueError if the schema has no such value."""
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    kind = _JSON_TYPES.get(type(value), "null")
    if not (kind in types or (kind == "integer" and "number" in types)):
        raise ValueError
    match value:
        case int() if types == ["number"]:
            return float(value)
        case str():
            if not (0 < len(value) <= MAX_TEXT_CHARACTERS and value.isprintable()):
                raise ValueError
        case list() if "items" in schema:
            if len(value) > schema["maxItems"]:
                raise ValueError
            return [_checked(one, schema["items"]) for one in value]
        case dict() if "additionalProperties" in schema:
            known, other = schema.get("properties", {}), schema["additionalProperties"]
            if len(value) > MAX_ENTRIES or not (other or value.keys() <= known.keys()):
                raise ValueError
            return {_checked(name, _TEXT): _checked(one, known.get(name, other)) for name, one in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a question; an option has `-` for `_`, and shows `unit` in its help."""

    kind: Kind
    help: str
    unit: str | None = None
    required: bool = False
    #: What a text can be; empty: anything. `read`: the choice that a text names, under any of its names.
    choices: tuple[str, ...] = ()
    read: Callable[[str], str] = str


Fields: TypeAlias = Mapping[str, Field]


def option(help: str, kind: Kind | None = None, *, default: Any = None, name: str = "", **more: Any) -> Any:
    """Declare a dataclass field that users fill in, with unit, choices and read of `Field`.

    `kind` None: by the annotation. `default` `dict`: an empty one, `MISSING`: the field is required. `name` : the
    field's, if it isn't the attribute's.
    """
    given = {"default_factory": dict} if default is dict else {"default": default}
    return dataclasses.field(metadata={"option": name, "kind": kind, "help": help, **more}, **given)


def part(kind: type, *, optional: bool = False) -> Any:
    """Declare a dataclass field that is a record of options; `optional`: None unless the first of these is given."""
    given: dict[str, Any] = {"default": None} if optional else {"default_factory": kind}
    return dataclasses.field(metadata={"part": kind}, **given)


def fields_of(question: type) -> Fields:
    """Fields of a question's class and its parts, those that filter offers last."""
    found: dict[str, Field] = {}
    for one in dataclasses.fields(question):
        if "part" in one.metadata:
            of_part = fields_of(one.metadata["part"])
            found |= {name: replace(field, required=False) for name, field in of_part.items()}
        elif "option" in one.metadata:
            kind = one.metadata["kind"] or _KINDS[str(one.type).removesuffix(" | None")]
            required = one.default is MISSING and one.default_factory is MISSING
            more = {name: value for name, value in one.metadata.items() if name not in ("option", "kind")}
            found[one.metadata["option"] or one.name] = Field(kind, **more, required=required)
    return {name: found[name] for name in sorted(found, key=lambda name: name in OFFER_FIELDS)}


Question = TypeVar("Question")


def from_fields(question: Callable[..., Question], values: Mapping[str, Any]) -> Question:
    """The question with these fields and other attributes; TypeError if it has none of that name."""
    given, rest = {}, dict(values)
    for one in dataclasses.fields(question):  # type: ignore[arg-type]
        if "part" in one.metadata:
            names = list(fields_of(one.metadata["part"]))
            of_part = {name: rest.pop(name) for name in names if name in rest}
            if one.default_factory is not MISSING or of_part.get(names[0]) is not None:
                given[one.name] = from_fields(one.metadata["part"], of_part)
        elif (name := one.metadata.get("option") or one.name) in rest:
            given[one.name] = rest.pop(name)
    return question(**given, **rest)


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


def _flat(lists: Sequence[list[Any]]) -> list[Any]:
    return [one for each in lists for one in each]


_FLAGS = {"true": True, "1": True, "": True, "false": False, "0": False}
_MANY = {"type": "array", "maxItems": MAX_ENTRIES}
_INTEGER, _NUMBER = {"type": "integer"}, {"type": "number"}
_LIST = f"a list of at most {MAX_ENTRIES}"
TEXT = Kind(f"text of at most {MAX_TEXT_CHARACTERS} characters", _TEXT, str)
WHOLE = Kind("a whole number", _INTEGER, int, metavar="N")
NUMBER = Kind("a number", _NUMBER, float)
#: A number such as 25.6M.
LARGE = Kind("a number", _NUMBER, typed_count, metavar="N")
FLAG = Kind("true or false", {"type": "boolean"}, lambda text: _FLAGS[text.lower()])
NAMES = Kind(f"{_LIST} names", {**_MANY, "items": _TEXT}, names, _flat, "A,B")
COUNTS = Kind(f"{_LIST} whole numbers", {**_MANY, "items": _INTEGER}, _counts, _flat, "1,2,4")
#: Instance -> number.
NUMBERS = Kind(
    f"at most {MAX_ENTRIES} instances with a number each, such as g4dn.xlarge and 0.4",
    {"type": "object", "additionalProperties": _NUMBER, "maxProperties": MAX_ENTRIES},
    _instance_number,
    dict,
)
#: A file, or its JSON.
PROFILE = Kind("a profile: an object, or a file", {"type": ["object", "array"]}, str, metavar="TRACE")
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
