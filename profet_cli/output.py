"""Prints results: one JSON document, or plain tables, and warnings."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from profet_core.errors import InputError
from profet_core.latency import StepTime
from profet_core.prediction.checks import refusal
from profet_core.profiles import Profile
from profet_core.whole_files import write_whole

#: What a table shows where there is no value.
MISSING = "-"
#: Between two cells of a Markdown table.
_CELL = re.compile(r"(?<!\\)\|")

Value = TypeVar("Value")


def print_json(document: object) -> None:
    """Exactly one JSON document on stdout."""
    print(json.dumps(document, indent=2, allow_nan=False))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their longest cell; the first is aligned left, the others right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        cells = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def print_markdown(text: str) -> None:
    """Markdown, its tables as `print_table` has them."""
    for is_table, lines in groupby(text.rstrip().splitlines(), lambda line: line.startswith("|")):
        if is_table:
            header, _, *rows = ([cell.strip() for cell in _CELL.split(line.rstrip())[1:-1]] for line in lines)
            print_table(header, rows)
        else:
            print("\n".join(lines))


def print_warnings(warnings: Iterable[str]) -> None:
    """Warnings go to stderr, one line each."""
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def print_notes(rows: Iterable[StepTime]) -> None:
    """The notes of latencies, one line each behind all that it is said of."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.note:
            names.setdefault((row.basis, row.note), []).append(row.instance)
    for (basis, note), several in names.items():
        print(f"{', '.join(several)}, {basis}: {note}")


def print_profile_warnings(profile: Profile) -> None:
    """Why a profile gets no prediction, and its reader's warnings, each once."""
    print_warnings(dict.fromkeys(line for line in (refusal(profile), *profile.warnings) if line))
    print_warnings(f"ignored: {note}" for note in profile.ignored)


def cell(value: Value | None, format_value: Callable[[Value], str]) -> str:
    """A table's cell for a value that may be missing."""
    return MISSING if value is None else format_value(value)


def write_output(target: Path, data: bytes, *, force: bool = True) -> None:
    """Write a file whole or not at all; without `force` one that exists is refused."""
    try:
        write_whole(target, data, replace=force)
    except FileExistsError:
        raise InputError(f"{target} exists: name another file, or use --force to overwrite it.") from None
    except (OSError, RuntimeError) as error:
        raise InputError(f"{target} can't be written: {getattr(error, 'strerror', None) or error}.") from None
