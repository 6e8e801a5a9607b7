"""Units of time, checked numbers, and how they are shown."""

from __future__ import annotations

import math
from numbers import Real

from profet_recorder.errors import InputError

US_PER_MS = 1_000.0
MS_PER_S = 1_000.0

#: Bounds of latencies, prices, times and counts of a training; results computed from them stay finite.
SMALLEST_NUMBER = 1e-9
LARGEST_NUMBER = 1e15


def positive_number(what: str, value: object) -> float:
    """`value` as a float; InputError, starting with `what`, unless it is a finite number above 0."""
    number = _real(value)
    if number is None or not math.isfinite(number) or number <= 0:
        raise InputError(f"{what} must be a number above 0, not {_shown(value)}.")
    if not SMALLEST_NUMBER <= number <= LARGEST_NUMBER:
        raise InputError(
            f"{what} can't be {number:g}: give a number between {SMALLEST_NUMBER:g} and {LARGEST_NUMBER:g}."
        )
    return number


def whole_number(what: str, value: object, *, at_least: int = 1) -> int:
    """`value` as an int; InputError, starting with `what`, unless it is a whole number of at least `at_least`."""
    number = _real(value)
    if number is None or not (math.isinf(number) or number.is_integer()) or number < at_least:
        raise InputError(f"{what} must be a whole number of at least {at_least}, not {_shown(value)}.")
    if number > LARGEST_NUMBER:
        raise InputError(f"{what} must be at most {LARGEST_NUMBER:g}, not {_shown(value)}.")
    return int(number)


def _real(value: object) -> float | None:
    """`value` as a float (infinite if too large); None if it is not a real number. Booleans are not."""
    # The check of abstract numbers is slow.
    if isinstance(value, bool) or not isinstance(value, (float, int, Real)):
        return None
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def _shown(value: object) -> str:
    """The invalid value for a message: numbers as they are, anything else quoted and short."""
    number = _real(value)
    if number is not None:
        return str(value) if abs(number) < LARGEST_NUMBER else f"{number:g}"
    text = ascii(value)
    return text if len(text) <= 40 else text[:37] + "..."


def format_significant(value: float, digits: int = 3) -> str:
    """Format `value` with at least `digits` significant digits, never in scientific notation.

    >>> format_significant(0.0000255), format_significant(122.43), format_significant(1529.87)
    ('0.0000255', '122', '1,530')
    """
    if abs(value) < 1e-12 or not math.isfinite(value):
        return "0" if math.isfinite(value) else f"{value:g}"
    # The exponent of the rounded value: 0.99999 is shown as 1.00, not as 1.000.
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def format_ms(latency_ms: float) -> str:
    """Format a latency.

    >>> format_ms(7.352), format_ms(122.43), format_ms(1529.87)
    ('7.35 ms', '122 ms', '1,530 ms')
    """
    return f"{format_significant(latency_ms)} ms"
