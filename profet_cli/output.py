"""Prints results, one JSON document or a plain table, and declares the argument that chooses."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence


def add_format(command: argparse.ArgumentParser, default: object = "text") -> None:
    """Declare `--format`, as every command has it."""
    command.add_argument("--format", choices=["text", "json"], default=default, help="json: one document on stdout")


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


def print_warnings(warnings: Iterable[str]) -> None:
    """Warnings go to stderr, one line each."""
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
