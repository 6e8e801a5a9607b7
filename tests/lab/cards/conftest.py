"""Walks through reports, for tests that change one number at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator

Path = tuple[str | int, ...]


def number_paths(value: object, kinds: type | tuple[type, ...], path: Path = ()) -> Iterator[Path]:
    """Paths of all numbers of these types below; of a list's rows, which are written alike, in the first."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:1]):
            yield from number_paths(inner, kinds, (*path, key))
    elif isinstance(value, kinds):
        yield path


def one_more(report: dict, path: Path) -> dict:
    """A copy whose number at `path` is larger by 1."""
    changed = copy.deepcopy(report)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] += 1
    return changed
