"""Errors and coverage over predictions from third-party profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.real_checks import RealCheck

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class RealFigures:
    """Over `n` predictions, percent: mean absolute error, and share of measurements inside the 90% interval."""

    n: int
    error: Errors
    covered: Errors


def figures(checks: Iterable[RealCheck]) -> RealFigures | None:
    """Every check counts the same; None if there is none."""
    rows = list(checks)
    return _figures(rows) if rows else None


def figures_by(checks: Iterable[RealCheck], key: Callable[[RealCheck], Key]) -> dict[Key, RealFigures]:
    """Figures of the checks that share a key, in the order the keys are first met."""
    groups: dict[Key, list[RealCheck]] = {}
    for check in checks:
        groups.setdefault(key(check), []).append(check)
    return {name: _figures(group) for name, group in groups.items()}


def _figures(rows: Sequence[RealCheck]) -> RealFigures:
    def mean(of: Callable[[RealCheck, bool], float]) -> Errors:
        return Errors(*(sum(of(row, known) for row in rows) / len(rows) for known in (True, False)))

    return RealFigures(
        n=len(rows),
        error=mean(lambda row, known: abs(row.error(known))),
        covered=mean(lambda row, known: 100.0 * row.covered(known)),
    )
