"""Answers as JSON: the keys of each object, which are a contract, and where in the answer each value is.

A value is the path of an attribute, or what a function returns of the record; beside keys of its own, each object of a
list. The answers' types give the schema.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import getattr_static, getdoc
from types import SimpleNamespace, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from profet_core.errors import Note
from profet_core.offers import Column, column_of, in_columns

#: A JSON object.
Document: TypeAlias = dict[str, object]
#: Path of an attribute, such as "offer.name" or "total_s.0"; or what makes the value of the record.
Source: TypeAlias = str | Callable[[Any], object]
#: Key -> its value; with keys of its own where that is a record, or several.
Keys: TypeAlias = Mapping[str, "Source | tuple[Source, Keys]"]


def keys(names: str, at: str = "") -> dict[str, str]:
    """Name attributes that are called as their keys; `at` is the path to them, with its dot.

    >>> keys("low_ms high_ms", "interval.")
    {'low_ms': 'interval.low_ms', 'high_ms': 'interval.high_ms'}
    """
    return {name: f"{at}{name}" for name in names.split()}


_OFFER = "name gpu gpu_count gpu_memory_gib vcpus usd_per_hour region os market status as_of source custom "
_OFFER += "machine_source provider host usd_per_gpu_hour price_note"
_RENTED = "provider gpu gpu_count usd_per_hour usd_per_gpu_hour as_of price_note status"
_STEP: Keys = {"latency_ms": "latency_ms", **keys("low_ms high_ms", "interval."), **keys("basis note")}
#: An instance at one of its prices; and in a list, with the basis of its prediction.
OFFER: Keys = keys(_OFFER)
LISTED_OFFER: Keys = {**keys(_OFFER, "offer."), "basis": "basis"}
#: What stands beside any number of an offer: whose it is, its GPUs, its price, and how old that is.
RENTED: Keys = {"instance": "offer.name", **keys(_RENTED, "offer.")}
#: The step on an instance; and on a GPU that no offer has.
STEP_ROW: Keys = {**RENTED, **_STEP}
GPU_ROW: Keys = {"gpu": "instance", **_STEP}
#: Operations that the method has never seen the like of, and what became of their time.
UNKNOWN_OPERATIONS: Keys = keys("names share mapped unused")


def document(record: object, of: Keys) -> Document:
    """Write a record."""
    return documents([record], of)[0]


def documents(rows: Column, of: Keys) -> list[Document]:
    """Write records of one kind, or the rows of a table, column by column."""
    rows = in_columns(rows)
    columns = [values_of(rows, source) for source in of.values()]
    return [dict(zip(of, values, strict=True)) for values in zip(*columns, strict=True)]


def values_of(rows: Column, source: Source | tuple[Source, Keys]) -> Column:
    """Return what a source says of each row."""
    if isinstance(source, tuple):
        source, inner = source
        return [
            documents(value, inner) if isinstance(value, Sequence) else value and document(value, inner)
            for value in values_of(rows, source)
        ]
    return [source(row) for row in rows] if callable(source) else column_of(rows, source)


def plain(value: Any) -> object:
    """Convert a mapping or a text of any kind, or a number of numpy, to what a JSON writer takes."""
    if isinstance(value, str):
        return str(value)
    return dict(value) if isinstance(value, Mapping) else float(value)


def schema_type(name: str, record: Any, of: Keys) -> type[msgspec.Struct]:
    """Declare what `document` writes of records of a type as a struct, whose schema is the document's."""
    fields = []
    for key, source in of.items():
        source, inner = source if isinstance(source, tuple) else (source, None)
        kind = _type_at(record, source)
        if inner is not None:
            parts, without = _parts(kind), _without_none(kind)
            of_part = schema_type(f"{name}{key.title().replace('_', '')}", without if parts is None else parts, inner)
            kind = list[of_part] if parts is not None else of_part if kind is without else of_part | None  # type: ignore[valid-type]
        fields.append((key, kind))
    text = "" if get_args(record) else (getdoc(record) or "").partition("\n")[0]
    return msgspec.defstruct(name, fields, forbid_unknown_fields=True, namespace={"__doc__": text})


def schema_hook(kind: type) -> dict[str, object]:
    """Return the schema of a type that `msgspec` doesn't know: a note is a text."""
    if kind is Note:
        return {"type": "string"}
    # What msgspec expects of its hook for any other type.
    raise NotImplementedError


def _type_at(record: Any, source: Source) -> Any:
    if callable(source):
        return get_type_hints(source)["return"]
    kind, may_be_none = record, False
    for name in source.split("."):
        bare = _without_none(kind)
        may_be_none |= bare is not kind
        kind = get_args(bare)[int(name)] if name.isdigit() else _attribute_type(bare, name)
    return kind | None if may_be_none else kind


def _attribute_type(kind: Any, name: str) -> Any:
    declared = getattr_static(kind, name, None)
    function = getattr(declared, "fget", None) or getattr(declared, "func", None)
    if function is not None:
        return get_type_hints(function)["return"]
    # This one alone: not every column's type can be resolved without numpy.
    owner = next(part for part in kind.__mro__ if name in vars(part).get("__annotations__", {}))
    declared = SimpleNamespace(__annotations__={name: owner.__annotations__[name]})
    return get_type_hints(declared, vars(sys.modules[owner.__module__]))[name]


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in (Union, UnionType):
        return kind
    parts = [part for part in get_args(kind) if part is not type(None)]
    return parts[0] if len(parts) == 1 else kind


def _parts(kind: Any) -> Any:
    """Return the type of a sequence's parts; None for another type."""
    origin = get_origin(kind) or kind
    if not (isinstance(origin, type) and issubclass(origin, Sequence)):
        return None
    # A table is a sequence of its rows.
    return get_args(kind)[0] if get_args(kind) else get_type_hints(kind.row)["return"]
