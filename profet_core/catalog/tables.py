"""Parse the catalog's CSV files into typed records."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from msgspec import Struct

from profet_core.errors import CatalogError, InputError
from profet_profiles.units import positive_number, whole_number
from profet_profiles.whole_files import open_to_read

#: Maximum cell length; longer cells are damaged, and would not fit in one line.
MAX_NAME_LENGTH, LONGEST_CELL = 100, 500
#: Maximum size of a user's file: some 20,000 rows.
MAX_TABLE_BYTES = 2_000_000

Record = TypeVar("Record")
Row = Mapping[str, str]
#: Type of a field -> the check of its number.
_CHECKS: Mapping[type, Callable[[str, Any], object]] = {int: whole_number, float: positive_number}


@cache
def _types_of(record: type) -> Mapping[str, tuple[Any, bool]]:
    """Field -> its type, and whether it may be None."""
    choices = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(record).items()}
    return {name: (types[0], NoneType in types) for name, types in choices.items()}


def file_text(path: Path, what: str) -> str | None:
    """Text of a user's file, None if there is none; raises CatalogError, which names it as `what`, if unreadable."""
    try:
        with open_to_read(path) as file:
            data = file.read(MAX_TABLE_BYTES + 1)
        if len(data) > MAX_TABLE_BYTES:
            raise CatalogError(f"{what} {path} has more than {MAX_TABLE_BYTES // 10**6} MB: keep the rows you need.")
        return data.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise CatalogError(f"{what} {path} can't be read: {why}.") from None


def table_text(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Text of a CSV file, which `read_records` reads back."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def is_header(text: str) -> bool:
    """Whether a CSV file has a header and no rows."""
    return len(text.strip().splitlines()) == 1


def read_records(
    text: str,
    what: str,
    *,
    key: str,
    required: Sequence[str],
    make: Callable[[Row], Record],
    optional: Sequence[str] = (),
) -> list[Record]:
    """One record per row, in the file's order; raises CatalogError, one line that names the row and column.

    Parameters
    ----------
    text : CSV with a header.
    what : name of the file, for the start of error messages.
    key : the column that names a row.
    required : columns that every row must have.
    optional : columns that may be missing.
    make : row -> record; its `InputError` becomes a `CatalogError`.
    """
    try:
        reader = csv.DictReader(io.StringIO(text))
        rows = list(reader)
    except csv.Error as error:
        raise CatalogError(f"{what} is not valid CSV: {error}.") from None
    if not rows:
        raise CatalogError(f"{what} has no rows.")
    try:
        return [make(_checked(row, key, required, optional)) for row in rows]
    except InputError as error:
        raise CatalogError(f"{what}: {error}") from None


def cells_of(kind: type, row: Row, key: str) -> dict[str, Any]:
    """Return the row's cells as the types of the record's fields; empty cells of optional fields are None.

    Raises InputError, which names row and column.
    """
    values: dict[str, Any] = {name: row[name] for name in _types_of(kind) if name in row}
    for name, type_, is_optional in _numbers_of(kind):
        if (text := values.get(name)) is None:
            continue
        try:
            values[name] = None if not text and is_optional else type_(text)
        except ValueError:
            raise InputError(f"{row[key]}: {name} must be a number, not {_shortened(text)!r}.") from None
    return values


def check_numbers(record: Struct, name: str) -> None:
    """Reject numbers that are not positive, or whole where they count; the message names the column."""
    for column, type_, is_optional in _numbers_of(type(record)):
        value = getattr(record, column)
        if not (value is None and is_optional):
            _CHECKS[type_](f"{name}: {column}", value)


@cache
def _numbers_of(record: type) -> Sequence[tuple[str, Any, bool]]:
    return [(name, type_, is_optional) for name, (type_, is_optional) in _types_of(record).items() if type_ in _CHECKS]


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}..."


def _checked(
    row: Mapping[str, str | None], key: str, required: Sequence[str], optional: Sequence[str]
) -> dict[str, str]:
    name = str(row.get(key) or "").strip()
    if not name.isprintable():
        raise InputError(f"the {key} name {_shortened(name)!r} holds a line break or control character.")
    if len(name) > MAX_NAME_LENGTH:
        raise InputError(f"the {key} name {_shortened(name)!r} has more than {MAX_NAME_LENGTH} characters.")
    if None in row:
        raise InputError(f"row {name or '?'} has more cells than the header has columns.")
    cells = {}
    for column in (key, *required, *optional):
        value = row.get(column)
        if value is None:
            if column not in optional:
                raise InputError(f"row {name or '?'} has no column {column!r}.")
            value = ""
        if len(value) > LONGEST_CELL:
            raise InputError(f"{column} of {name!r} has more than {LONGEST_CELL} characters.")
        value = value.strip()
        if not value.isprintable():
            raise InputError(f"{column} of {name!r} holds a line break or control character: {_shortened(value)!r}.")
        cells[column] = value
    if not name:
        raise InputError(f"a row has no {key} name.")
    return cells
