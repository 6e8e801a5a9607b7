"""Parse typed numbers with English, German, French or Swiss separators.

One rule resolves conflicts. Of two different separators the last is the decimal one: "1.234,5" and "1,234.5" are the
same number. A single separator is read as this project writes numbers: a comma before exactly three digits groups them
("1,234" is 1234); any other comma and every point is decimal ("203,3", "1.234"). Counts have no decimals, so either
separator groups: "50.000" and "50,000" are 50000. Callers show the parsed number whenever it wasn't obvious.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, TypeVar

from profet_core.errors import InputError
from profet_core.units import LARGEST_NUMBER, SMALLEST_NUMBER

#: Maximum length of a number.
LONGEST = 40
_SPACES = dict.fromkeys(map(ord, "\t\u00a0\u2009\u202f"), " ") | {ord("\N{MINUS SIGN}"): "-", ord("’"): "'"}
_SHAPE = re.compile(r"([+-]?)(\d*(?:[ .,']\d+)*)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:[ .,']\d{3})+", re.ASCII)
_MARK = re.compile(r"[ .,']")
_UNITS = {"k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9}

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class TypedNumber(Generic[Number]):
    """Parse a typed number.

    Attributes
    ----------
    obvious : the text is unambiguous.
    """

    value: Number
    obvious: bool


def typed_positive(text: str) -> TypedNumber[float]:
    """Parse a number above 0.

    Raises
    ------
    InputError : one line that says what to type.

    >>> [typed_positive(text).value for text in ("203,3", "1.234,5", "1 234.5", "1e3", "1,234", "0,526")]
    [203.3, 1234.5, 1234.5, 1000.0, 1234.0, 0.526]
    >>> typed_positive("1,234").obvious, typed_positive("203.3").obvious
    (False, True)
    """
    number, obvious = _read(text, whole=False)
    if number <= 0:
        raise InputError("Give a number above 0.")
    if not Decimal(repr(SMALLEST_NUMBER)) <= number <= Decimal(repr(LARGEST_NUMBER)):
        raise InputError(f"Give a number between {SMALLEST_NUMBER:g} and {LARGEST_NUMBER:g}.")
    return TypedNumber(float(number), obvious)


def typed_whole(text: str, smallest: int, largest: int) -> TypedNumber[int]:
    """Parse a whole number within bounds.

    Raises
    ------
    InputError : one line that says what to type.

    >>> [typed_whole(text, 1, 10**9).value for text in ("50.000", "50,000", "50 000", "5e4", "50000,0")]
    [50000, 50000, 50000, 50000, 50000]
    """
    number, obvious = _read(text, whole=True)
    if number != number.to_integral_value():
        raise InputError("Give a whole number.")
    if not smallest <= number <= largest:
        raise InputError(f"Give a number between {smallest:,} and {largest:,}.")
    return TypedNumber(int(number), obvious)


def typed_count(text: str) -> TypedNumber[float]:
    """Parse a large positive number, such as a parameter count, with an optional k, M, B or G suffix.

    Raises
    ------
    InputError : one line that says what to type.

    >>> [typed_count(text).value for text in ("25.6M", "25,6 m", "25.600.000", "138e6", "1.2B", "60k")]
    [25600000.0, 25600000.0, 25600000.0, 138000000.0, 1200000000.0, 60000.0]
    """
    body = text.translate(_SPACES).strip()
    unit = _UNITS.get(body[-1:].lower())
    if unit is None:
        # Counts are whole, so either separator groups.
        number, obvious = _read(body, whole=True)
        if number <= 0 or number != number.to_integral_value():
            raise InputError("Give a whole number above 0, such as 25600000 or 25.6M.")
        return TypedNumber(float(number), obvious)
    found = typed_positive(body[:-1].rstrip())
    return TypedNumber(float(Decimal(repr(found.value)) * unit), found.obvious)


def as_typed(value: float) -> str:
    """Format a number for an input field: every digit, and parsed back to the same value.

    >>> as_typed(330.0), as_typed(0.1224), as_typed(50_000), as_typed(1e-9)
    ('330', '0.1224', '50000', '0.000000001')
    """
    text = f"{Decimal(repr(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def as_understood(value: float) -> str:
    """Format a parsed number for confirmation: every digit, thousands grouped.

    >>> as_understood(203.3), as_understood(1234.0), as_understood(0.0001)
    ('203.3', '1,234', '0.0001')
    """
    whole, point, decimals = as_typed(value).partition(".")
    return f"{int(whole):,}{point}{decimals}"


def _read(text: str, *, whole: bool) -> tuple[Decimal, bool]:
    """Parse the number, and whether its text is obvious."""
    found = _SHAPE.fullmatch(text.translate(_SPACES).strip()) if len(text) <= LONGEST else None
    if found is None or not found[2]:
        raise _unreadable(text)
    sign, body, exponent = found[1], found[2], found[3] or ""
    mark = _decimal_mark(body, may_group=not exponent, whole=whole)
    head, _, decimals = body.rpartition(mark) if mark else (body, "", "")
    groups = _MARK.findall(head)
    if groups and (len(set(groups)) > 1 or not _GROUPED.fullmatch(head)):
        raise _unreadable(text)
    number = Decimal(f"{sign}{_MARK.sub('', head) or '0'}.{decimals or '0'}{exponent}")
    return number, not exponent and (body.isdecimal() or _is_english(body))


def _decimal_mark(body: str, *, may_group: bool, whole: bool) -> str:
    """Decimal separator; empty if there is none.

    Parameters
    ----------
    may_group : a single separator may also group digits.
    whole : no decimals are expected.
    """
    marks: list[str] = _MARK.findall(body)
    if not marks or marks[-1] not in ".," or marks.count(marks[-1]) > 1:
        return ""
    if marks == [","] or (marks == ["."] and whole):
        return "" if may_group and _GROUPED.fullmatch(body) else marks[0]
    return marks[-1]


def _is_english(body: str) -> bool:
    """Whether there is one point that can't be a group separator."""
    return _MARK.findall(body) == ["."] and not _GROUPED.fullmatch(body)


def _unreadable(text: str) -> InputError:
    printable = "".join(letter if letter.isprintable() else " " for letter in text[: LONGEST + 1]).strip()
    shown = printable if len(printable) <= LONGEST else f"{printable[: LONGEST - 3]}..."
    return InputError(f'"{shown}" is not a number: write it like 1234.5 or 1.234,5.')
