"""JSON documents declared once: each key with its type, and where its value is in a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any, TypeAlias, cast

from profet_core.latency import Basis

#: A JSON object, and a JSON Schema.
Document: TypeAlias = dict[str, object]
Schema: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Type:
    """A JSON type: its schema, and what makes a value of it of a record's; None: the same value."""

    schema: Schema
    of: Callable[[Any], Any] | None = None

    def document(self, source: object) -> Any:
        """The JSON value that is made of a record, or of a value."""
        return source if self.of is None else self.of(source)


@dataclass(frozen=True, slots=True)
class At:
    """Where a key's value is: `of`, a function or an attribute, of the record or of its attribute `owner` (dotted).

    Where the owner is None the value is null.
    """

    type: Type
    of: str | Callable[[Any], object]
    owner: str = ""


Keys: TypeAlias = Mapping[str, "Type | At"]

TEXT = Type({"type": "string"})
WHOLE = Type({"type": "integer"})
NUMBER = Type({"type": "number"})
FLAG = Type({"type": "boolean"})


def at(of: str | Callable[[Any], object], kind: Type) -> At:
    """A key whose value a function gives, or an attribute of another name, dotted."""
    owner, _, name = of.rpartition(".") if isinstance(of, str) else ("", "", "")
    return At(kind, name or of, owner)


def under(owner: str, **keys: Type | At) -> Keys:
    """Keys whose values are in an attribute of the record; null where that is None."""
    return {name: At(key.type, key.of, f"{owner}.{key.owner}".rstrip(".")) for name, key in _located(keys).items()}


def _located(keys: Keys) -> dict[str, At]:
    return {name: key if isinstance(key, At) else At(key, name) for name, key in keys.items()}


def choice(names: Iterable[str]) -> Type:
    """One of several texts."""
    return Type({"type": "string", "enum": list(names)})


def maybe(kind: Type) -> Type:
    """The same, or null."""
    schema = {**kind.schema, "type": [kind.schema["type"], "null"]}
    if "enum" in kind.schema:
        schema["enum"] = [*kind.schema["enum"], None]  # type: ignore[misc]
    of = kind.of
    return Type(schema, None if of is None else lambda value: None if value is None else of(value))


def many(kind: Type) -> Type:
    """A list of them."""
    of = kind.of
    return Type({"type": "array", "items": kind.schema}, list if of is None else lambda rows: [of(row) for row in rows])


def by_name(kind: Type) -> Type:
    """An object with one for each name."""
    of = kind.of
    made = dict if of is None else lambda rows: {name: of(row) for name, row in rows.items()}
    return Type({"type": "object", "additionalProperties": kind.schema}, made)


def record(**keys: Type | At) -> Type:
    """An object with just these keys, in this order."""
    found = _located(keys)
    schema = {
        "type": "object",
        "properties": {name: key.type.schema for name, key in found.items()},
        "required": list(found),
        "additionalProperties": False,
    }
    # Compiled for its first object: few commands print a document.
    compiled = cache(partial(_compiled, found))
    return Type(schema, lambda source: compiled()(source))


def keys(source: type, names: str, /, owner: str = "", **types: Type | At) -> Keys:
    """Keys of a record's attributes (`names`, with spaces), of the types that its class declares, else of `types`."""
    found: dict[str, Type | At] = {name: types.get(name) or _declared(source, name) for name in names.split()}
    return under(owner, **found) if owner else found


def _declared(source: type, name: str) -> Type:
    """Type of a dataclass's field or property, by its annotation."""
    given = {one.name: str(one.type) for one in fields(source)}
    text = given.get(name) or getattr(source, name).fget.__annotations__["return"]
    kind = _TYPES[text.removesuffix(" | None")]
    return maybe(kind) if text.endswith(" | None") else kind


def _compiled(keys: Mapping[str, At]) -> Callable[[Any], Document]:
    """One expression, since an answer has thousands of keys."""
    owners = {owner: f"owner_{place}" for place, owner in enumerate(dict.fromkeys(key.owner for key in keys.values()))}
    known: dict[str, object] = {}
    lines = [f"    {name} = source{owner and f'.{owner}'}" for owner, name in owners.items()]
    values = []
    for place, (name, key) in enumerate(keys.items()):
        owner = owners[key.owner]
        value = f"{owner}.{key.of}" if isinstance(key.of, str) else f"read_{place}({owner})"
        value = f"None if {owner} is None else {value}" if key.owner else value
        values.append(f"{name!r}: {value if key.type.of is None else f'of_{place}({value})'}")
        known |= {f"read_{place}": key.of, f"of_{place}": key.type.of}
    exec("\n".join(["def document(source):", *lines, f"    return {{{', '.join(values)}}}"]), known)
    return cast(Callable[[Any], Document], known["document"])


#: Notes as plain text: not every JSON writer takes a subclass of `str`.
TEXTS = many(Type(TEXT.schema, str))
_TYPES = {
    "str": TEXT,
    "int": WHOLE,
    "float": NUMBER,
    "bool": FLAG,
    "tuple[str, ...]": TEXTS,
    "tuple[Note, ...]": TEXTS,
    "Mapping[str, float]": by_name(NUMBER),
    "Mapping[str, str]": by_name(TEXT),
    "Basis": choice(list(Basis)),
}
