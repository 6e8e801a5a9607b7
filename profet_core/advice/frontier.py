"""Pareto frontier of time and cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Priced(Protocol):
    """Anything that takes time and costs money, such as a `CostRow` or a `Plan`."""

    @property
    def total_s(self) -> float:
        """Seconds."""

    @property
    def total_usd(self) -> float:
        """US dollars."""


Choice = TypeVar("Choice", bound=Priced)


def frontier(choices: Iterable[Choice]) -> list[Choice]:
    """Choices that no other choice dominates, fastest first.

    A choice is dominated if another is as fast for less, or faster for the same cost. Of equal choices one is kept.

    >>> from types import SimpleNamespace
    >>> slow, fast, dear = (SimpleNamespace(total_s=s, total_usd=usd) for s, usd in ((9, 1), (1, 4), (5, 6)))
    >>> frontier([slow, fast, dear]) == [fast, slow]
    True
    """
    best: list[Choice] = []
    for choice in sorted(choices, key=lambda choice: (choice.total_s, choice.total_usd)):
        if not best or choice.total_usd < best[-1].total_usd:
            best.append(choice)
    return best
