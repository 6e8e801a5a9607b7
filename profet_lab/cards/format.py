"""How cards write numbers and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def fixed(value: float) -> str:
    """Two decimals, one from 20 on."""
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"


def fixed_or_empty(value: float | None) -> str:
    """The same; nothing where there is no number."""
    return "" if value is None else fixed(value)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
