"""What a question takes: a field's kind, unit, choices and help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias


class Kind(Enum):
    """What a value is: `LARGE` a number such as 25.6M, `NUMBERS` instance -> number, `PROFILE` a file or its JSON."""

    TEXT = auto()
    WHOLE = auto()
    NUMBER = auto()
    LARGE = auto()
    FLAG = auto()
    NAMES = auto()
    COUNTS = auto()
    NUMBERS = auto()
    OWN_GPUS = auto()
    PROFILE = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a question, named as in the question; an option of the command line has `-` for `_`.

    Attributes
    ----------
    help : what it is for, and its default. unit : of the value, as help pages show it.
    choices : what a text can be; empty: anything. read : the choice that a text names, under any of its names.
    """

    kind: Kind
    help: str
    unit: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    read: Callable[[str], str] = str


Fields: TypeAlias = Mapping[str, Field]


def some(fields: Fields, *names: str) -> Fields:
    """Some of them."""
    return {name: fields[name] for name in names}
