"""Answers as JSON: structs whose fields are its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec
from msgspec import Struct

from profet_core.errors import Note


class Document(Struct, frozen=True, forbid_unknown_fields=True):
    """What JSON has of a record: the fields are its keys."""

    @classmethod
    def of(cls, record: Any) -> Self:
        """Write a record, which has the keys as attributes."""
        return cls(*(getattr(record, name) for name in cls.__struct_fields__))


def json_of(document: object) -> bytes:
    """Write a document, or a part of one; NaN is null."""
    return _ENCODER.encode(document)


def _plain(value: Any) -> object:
    """Convert a note, a plan, a mapping of another kind or a number of numpy to what a JSON writer takes."""
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "label"):
        return value.label
    return dict(value) if isinstance(value, Mapping) else float(value)


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)


def schema_hook(kind: type) -> dict[str, object]:
    """Return the schema of a type that `msgspec` doesn't know: notes are texts, plans their labels."""
    if kind is Note or hasattr(kind, "label"):
        return {"type": "string"}
    # What msgspec expects of its hook for any other type.
    raise NotImplementedError
