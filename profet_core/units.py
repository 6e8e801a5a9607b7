"""Units: latencies in milliseconds inside the program, and numbers written for people."""

from __future__ import annotations

import math

from profet_core.errors import InputError

US_PER_MS = 1_000.0
MS_PER_S = 1_000.0
S_PER_HOUR = 3_600.0

#: Milliseconds in one of each latency unit a person may type.
MS_PER_UNIT = {"ms": 1.0, "us": 1.0 / US_PER_MS, "s": MS_PER_S}


def latency_to_ms(value: float, unit: str) -> float:
    """Convert a latency a person typed to milliseconds.

    Parameters
    ----------
    value : positive number.
    unit : "ms", "us" or "s".

    Raises
    ------
    InputError : the unit is unknown or the value is not a positive number.
    """
    if unit not in MS_PER_UNIT:
        raise InputError(f"Unknown latency unit {unit!r}: use ms, us or s.")
    return positive_number("A latency", value) * MS_PER_UNIT[unit]


def positive_number(what: str, value: object) -> float:
    """`value` as a float if it is a finite number above 0; `what` opens the error's sentence."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number above 0, not {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number <= 0:
        raise InputError(f"{what} must be a number above 0, not {value!r}.")
    return number


def whole_number(what: str, value: object, *, at_least: int = 1) -> int:
    """`value` as an int if it is a whole number of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a whole number of at least {at_least}, not {value!r}.")
    if isinstance(value, float) and not value.is_integer() or value < at_least:
        raise InputError(f"{what} must be a whole number of at least {at_least}, not {value!r}.")
    return int(value)


def cost_usd(duration_ms: float, usd_per_hour: float) -> float:
    """Price of renting one instance for `duration_ms` milliseconds, US dollars."""
    return duration_ms / MS_PER_S / S_PER_HOUR * usd_per_hour


def format_significant(value: float, digits: int = 3) -> str:
    """`value` with at least `digits` significant digits, never in scientific notation.

    >>> format_significant(0.0000255), format_significant(122.43), format_significant(1529.87)
    ('0.0000255', '122', '1,530')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def format_ms(latency_ms: float) -> str:
    """A latency for a person: '7.35 ms', '122 ms', '1,530 ms'."""
    return f"{format_significant(latency_ms)} ms"


def format_usd(amount_usd: float) -> str:
    """Dollars with enough digits for small jobs: '$0.0255', '$12.34', '$1,234.50'."""
    if abs(amount_usd) >= 1:
        return f"${amount_usd:,.2f}"
    return f"${format_significant(amount_usd)}"


def format_duration(seconds: float) -> str:
    """A duration in the two units that matter: '0.42 s', '38 s', '12 min 5 s', '3 h 20 min', '2 d 4 h'."""
    if seconds < 10:
        return f"{format_significant(seconds)} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 172_800:
        return f"{whole // 3_600} h {whole % 3_600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3_600} h"
