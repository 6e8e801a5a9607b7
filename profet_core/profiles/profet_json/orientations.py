"""Finds the one record in JSON as pandas writes a table: records, columns, index or split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from profet_core.errors import ProfileError

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
