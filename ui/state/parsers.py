"""Parsers of what a link says: text -> value; each raises ValueError if the text makes no sense."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from profet_core.answers.parameters import LONGEST_NETWORK

#: The text that stands for "left empty on purpose" in a link.
EMPTY = "none"

Number = TypeVar("Number", int, float)


def one_of(options: Iterable[str]) -> Callable[[str], str]:
    """A parser that takes one of `options`."""
    allowed = tuple(options)

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return parse


def some_of(options: Iterable[str]) -> Callable[[str], list[str]]:
    """A parser that takes names out of `options`, joined by commas."""
    one = one_of(options)
    return lambda text: list(dict.fromkeys(one(part) for part in text.split(",") if part))


def true_or_false(text: str) -> bool:
    """The two words of Python."""
    return one_of(("True", "False"))(text) == "True"


def whole_between(smallest: int, largest: int) -> Callable[[str], int]:
    """A parser that takes a whole number within the bounds."""
    return _between(int, smallest, largest)


def whole_or_empty(smallest: int, largest: int) -> Callable[[str], int | None]:
    """As `whole_between`, or empty."""
    whole = whole_between(smallest, largest)
    return lambda text: None if text == EMPTY else whole(text)


def parse_network(text: str) -> str:
    """A network's name or its number of parameters, as it is typed; which there are, the page says."""
    if len(text) > LONGEST_NETWORK or not text.isprintable():
        raise ValueError(text[:LONGEST_NETWORK])
    return text


def positive_or_empty(text: str) -> float | None:
    """A finite number above 0, or empty."""
    if text == EMPTY:
        return None
    number = float(text)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(text)
    return number


def number_between(smallest: float, largest: float) -> Callable[[str], float]:
    """A parser that takes a number within the bounds."""
    return _between(float, smallest, largest)


def _between(read: Callable[[str], Number], smallest: Number, largest: Number) -> Callable[[str], Number]:
    def parse(text: str) -> Number:
        number = read(text)
        if not smallest <= number <= largest:
            raise ValueError(text)
        return number

    return parse
