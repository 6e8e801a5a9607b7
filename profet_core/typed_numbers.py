"""Parse numbers as people type them: 1234.5, 1,234.5, 1e3, 25.6M, 0.12 s."""

from __future__ import annotations

import re
from decimal import Decimal

from profet_core.errors import InputError
from profet_core.units import LARGEST_NUMBER, SMALLEST_NUMBER, latency_to_ms

#: Maximum length of a number.
LONGEST = 40
_NUMBER = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+|(?=\.))(\.\d+)?(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_LATENCY = re.compile(r"(.*?)\s*(ms|[uµμ]s|s|sec)?\s*", re.IGNORECASE)
_UNITS = {"k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9}


def typed_positive(text: str) -> float:
    """Parse a number above 0; InputError says what to type, here and below.

    >>> [typed_positive(text) for text in ("203.3", "1,234.5", "1e3", ".5")]
    [203.3, 1234.5, 1000.0, 0.5]
    """
    number = _read(text)
    if number <= 0:
        raise InputError("Give a number above 0.")
    if not Decimal(repr(SMALLEST_NUMBER)) <= number <= Decimal(repr(LARGEST_NUMBER)):
        raise InputError(f"Give a number between {SMALLEST_NUMBER:g} and {LARGEST_NUMBER:g}.")
    return float(number)


def typed_whole(text: str, smallest: int, largest: int) -> int:
    """Parse a whole number within bounds.

    >>> [typed_whole(text, 1, 10**9) for text in ("50000", "50,000", "5e4")]
    [50000, 50000, 50000]
    """
    number = _read(text)
    if number != number.to_integral_value():
        raise InputError("Give a whole number.")
    if not smallest <= number <= largest:
        raise InputError(f"Give a number between {smallest:,} and {largest:,}.")
    return int(number)


def typed_count(text: str) -> float:
    """Parse a large positive number, such as a parameter count, with an optional k, M, B or G suffix.

    >>> [typed_count(text) for text in ("25.6M", "25,600,000", "138e6", "1.2 B", "60k")]
    [25600000.0, 25600000.0, 138000000.0, 1200000000.0, 60000.0]
    """
    body = text.strip()
    unit = _UNITS.get(body[-1:].lower())
    if unit is not None:
        return float(Decimal(repr(typed_positive(body[:-1]))) * unit)
    number = _read(body)
    if number <= 0 or number != number.to_integral_value():
        raise InputError("Give a whole number above 0, such as 25600000 or 25.6M.")
    return float(number)


def typed_latency_ms(text: str) -> float:
    """Parse a latency with its unit, milliseconds if it has none.

    >>> [typed_latency_ms(text) for text in ("122.4", "122.4 ms", "122,400 us", "0.1224s")]
    [122.4, 122.4, 122.4, 122.4]
    """
    match = _LATENCY.fullmatch(text[: LONGEST + 1])
    number, unit = match.groups() if match else (text, None)
    unit = (unit or "ms").lower()
    latency_ms = latency_to_ms(typed_positive(number), unit if unit == "ms" else "s" if unit[0] == "s" else "us")
    # As typed: 0.1224 x 1000 is 122.39999999999999.
    return float(f"{latency_ms:.15g}")


def as_typed(value: float) -> str:
    """Format a number for an input field: every digit, and parsed back to the same value.

    >>> as_typed(330.0), as_typed(0.1224), as_typed(50_000), as_typed(1e-9)
    ('330', '0.1224', '50000', '0.000000001')
    """
    text = f"{Decimal(repr(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _read(text: str) -> Decimal:
    typed = text.strip()
    if len(text) > LONGEST or not _NUMBER.fullmatch(typed):
        printable = "".join(letter if letter.isprintable() else " " for letter in text[: LONGEST + 1]).strip()
        shown = printable if len(printable) <= LONGEST else f"{printable[: LONGEST - 3]}..."
        raise InputError(f'"{shown}" is not a number: write it like 1234.5.')
    return Decimal(typed.replace(",", ""))
