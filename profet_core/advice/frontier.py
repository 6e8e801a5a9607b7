"""The trade-off of time and money: what no other choice beats in both."""

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
    """The choices that no other one beats in time without costing more, fastest first; one of equals."""
    best: list[Choice] = []
    for choice in sorted(choices, key=lambda choice: (choice.total_s, choice.total_usd)):
        if not best or choice.total_usd < best[-1].total_usd:
            best.append(choice)
    return best
