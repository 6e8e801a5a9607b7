"""Rules from operation names to kinds: the first matching rule wins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

#: Kind -> patterns of its operations' names, in the order they are tried.
Rules = Mapping[str, Sequence[re.Pattern[str]]]


def rules(text: str) -> Rules:
    """Rules as they are written down: "kind:" on a line of its own, below it indented patterns that spaces divide."""
    found: dict[str, list[re.Pattern[str]]] = {}
    for line in text.strip("\n").splitlines():
        if not line.startswith(" "):
            current = found[line.removesuffix(":")] = []
        else:
            current.extend(patterns(line))
    return found


def patterns(text: str) -> list[re.Pattern[str]]:
    """Patterns that spaces divide."""
    return [re.compile(pattern) for pattern in text.split()]


def first_kind(of: Rules, name: str) -> str | None:
    """The kind of the first rule that matches a name; None if none does."""
    return next((kind for kind, some in of.items() if matches(some, name)), None)


def matches(some: Sequence[re.Pattern[str]], name: str) -> bool:
    """Whether one of the patterns is of the whole name."""
    return any(pattern.fullmatch(name) for pattern in some)
