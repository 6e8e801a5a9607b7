"""Units, checked numbers, and how numbers are read and shown; latencies are in milliseconds internally."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import NamedTuple

from profet_profiles.errors import InputError

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


def whole_number(what: str, value: object, *, at_least: int = 1, at_most: float = LARGEST_NUMBER) -> int:
    """`value` as an int; InputError, starting with `what`, unless it is a whole number within both bounds."""
    number = _real(value)
    if number is None or not (math.isinf(number) or number.is_integer()) or number < at_least:
        raise InputError(f"{what} must be a whole number of at least {at_least}, not {_shown(value)}.")
    if number > at_most:
        largest = f"{at_most:,}" if isinstance(at_most, int) else f"{at_most:g}"
        raise InputError(f"{what} must be at most {largest}, not {_shown(value)}.")
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
    """Return the invalid value for a message: numbers as they are, anything else quoted and short."""
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


S_PER_HOUR = 3_600.0

#: Milliseconds per latency unit that users may enter.
MS_PER_UNIT = {"ms": 1.0, "us": 1.0 / US_PER_MS, "s": MS_PER_S}


def latency_to_ms(value: float, unit: str) -> float:
    """Convert a user's latency, a positive number of "ms", "us" or "s", to milliseconds; InputError for any other.

    >>> latency_to_ms(122_400, "us"), latency_to_ms(0.5, "s")
    (122.4, 500.0)
    """
    if unit not in MS_PER_UNIT:
        raise InputError(f"Unknown latency unit {unit!r}: use ms, us or s.")
    return positive_number("A latency", value) * MS_PER_UNIT[unit]


def format_count(count: float) -> str:
    """Format a large number.

    >>> format_count(25_621_352), format_count(62_006), format_count(1.2e9), format_count(12)
    ('25.6M', '62k', '1.2B', '12')
    """
    for size, unit in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{float(f'{count / size:.3g}'):g}{unit}"
    return f"{count:g}"


def format_usd(amount_usd: float) -> str:
    """Format dollars: with cents, whole dollars from a hundred on, and below one dollar with three significant digits.

    So a price times the hours is the cost that is shown.

    >>> format_usd(0.1381), format_usd(21.957642), format_usd(222.4), format_usd(0.0256), format_usd(0.9996)
    ('$0.138', '$21.96', '$222', '$0.0256', '$1.00')
    """
    if amount_usd >= 99.995:
        return f"${amount_usd:,.0f}"
    return f"${format_significant(amount_usd)}" if 0 < amount_usd < 1 else f"${amount_usd:,.2f}"


def listed_price(usd_per_hour: float) -> str:
    """Format a price per hour as price lists do: every digit, and at least cents.

    >>> listed_price(1.006), listed_price(0.75), listed_price(21.957642)
    ('$1.006', '$0.75', '$21.957642')
    """
    whole, _, cents = f"{usd_per_hour:,.6f}".rstrip("0").partition(".")
    return f"${whole}.{cents:<02}"


def format_duration(seconds: float) -> str:
    """Format a duration with three significant digits, from two days on in days and hours.

    >>> [format_duration(seconds) for seconds in (0.42, 38, 725, 12_000, 187_200)]
    ['420 ms', '38.0 s', '12.1 min', '3.33 h', '2 d 4 h']
    """
    hours = round(seconds / S_PER_HOUR)
    return format_time(seconds) if seconds < 172_800 else f"{hours // 24:,} d {hours % 24} h"


class TimeUnit(NamedTuple):
    """A unit of time for display."""

    name: str
    seconds: float

    def words(self, seconds: float, digits: int = 3) -> str:
        """Format a duration in this unit.

        >>> time_unit(7_200).words(7_200), time_unit(7_200).words(100_000)
        ('2.00 h', '27.8 h')
        """
        return f"{format_significant(seconds / self.seconds, digits)} {self.name}"

    def range_words(self, low_s: float, high_s: float) -> str:
        """Format an interval in this unit, whatever its size."""
        return f"{_range(low_s / self.seconds, high_s / self.seconds)} {self.name}"


_TIME_UNITS = (TimeUnit("ms", 1e-3), TimeUnit("s", 1.0), TimeUnit("min", 60.0), TimeUnit("h", 3_600.0))
_DAYS, _LONGEST_H = TimeUnit("days", 86_400.0), 240.0


def time_unit(seconds: float) -> TimeUnit:
    """Return the unit for a duration: seconds from 2 s, minutes from 2 min, and so on; days from 240 h.

    >>> [time_unit(seconds).name for seconds in (0.2, 90, 600, 7_200, 1e6)]
    ['ms', 's', 'min', 'h', 'days']
    """
    if seconds >= _LONGEST_H * 3_600:
        return _DAYS
    return next((unit for unit in reversed(_TIME_UNITS[1:]) if seconds >= 2 * unit.seconds), _TIME_UNITS[0])


def shared_time_unit(seconds: Iterable[float]) -> TimeUnit:
    """One unit for all durations of a column or a chart: the one that suits the middle one.

    >>> shared_time_unit([3_000, 7_200, 1e6]).name
    'h'
    """
    ordered = sorted(seconds)
    return time_unit(ordered[len(ordered) // 2] if ordered else 1.0)


def format_time(seconds: float) -> str:
    """Format a duration with three significant digits in a suitable unit.

    >>> format_time(0.553), format_time(12_000), format_time(1e6)
    ('553 ms', '3.33 h', '11.6 days')
    """
    return time_unit(seconds).words(seconds)


def format_usd_range(low_usd: float, high_usd: float) -> str:
    """Format an interval of dollars with one dollar sign, and enough digits to distinguish its endpoints.

    >>> format_usd_range(0.131, 0.219), format_usd_range(18.2, 104.6), format_usd_range(0.1411, 0.1414)
    ('$0.131–0.219', '$18.20–105', '$0.1411–0.1414')
    """
    low, high = format_usd(low_usd), format_usd(high_usd)
    return f"${_range(low_usd, high_usd)}" if low == high else f"{low}–{high.removeprefix('$')}"


def format_energy(kwh: float) -> str:
    """Format energy.

    >>> format_energy(0.0841), format_energy(1.234), format_energy(12_345)
    ('84 Wh', '1.2 kWh', '12,345 kWh')
    """
    return f"{format_significant(kwh * 1_000, 2)} Wh" if kwh < 0.9995 else f"{format_significant(kwh, 2)} kWh"


def format_co2e(kilograms: float) -> str:
    """Format emissions.

    >>> format_co2e(0.0383), format_co2e(3.83), format_co2e(38_300)
    ('38 g', '3.8 kg', '38,300 kg')
    """
    grams = kilograms < 0.9995
    return f"{format_significant(kilograms * 1_000, 2)} g" if grams else f"{format_significant(kilograms, 2)} kg"


#: In percent: 100 times 0.29 is 28.999999999999996.
PERCENT_ROUNDING = 1e-9


def format_certainty(chance: float) -> str:
    """Whole percent, rounded down, and never 0 or 100 by rounding.

    >>> format_certainty(0.879), format_certainty(0.9999), format_certainty(0.001), format_certainty(1.0)
    ('87%', 'over 99%', 'under 1%', '100%')
    """
    if 0 < chance < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < chance < 1 else f"{math.floor(100 * chance + PERCENT_ROUNDING)}%"


def _range(low: float, high: float) -> str:
    """Format both endpoints with enough digits to distinguish them, at least two."""
    for digits in (2, 3, 4):
        ends = format_significant(low, digits), format_significant(high, digits)
        if ends[0] != ends[1]:
            return "–".join(ends)
    return format_significant(high, 2)


def format_ms_range(low_ms: float, high_ms: float) -> str:
    """Format an interval of latencies, the unit once.

    >>> format_ms_range(190.2, 205.4)
    '190–205 ms'
    """
    return f"{format_significant(low_ms)}–{format_ms(high_ms)}"


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
