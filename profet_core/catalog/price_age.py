"""Notes on prices that are more than a year old."""

from __future__ import annotations

import calendar
from datetime import date

from profet_core.catalog.instance import Instance


def price_age_years(as_of: str, today: date | None = None) -> int:
    """Minimum age of a price in whole years: "2024" may mean that year's last day; 0 without a date.

    >>> price_age_years("2024", date(2026, 11, 22)), price_age_years("2025-11-23", date(2026, 11, 22))
    (1, 0)
    """
    if not as_of:
        return 0
    today = today or date.today()
    year, *more = map(int, as_of.split("-"))
    month = more[0] if more else 12
    day = more[1] if len(more) > 1 else calendar.monthrange(year, month)[1]
    return max(0, today.year - year - ((today.month, today.day) < (month, day)))


def old_price_note(offer: Instance, today: date | None = None) -> str:
    """Note for a price that is more than a year old: 'price of 2021, over 4 years old'; else empty."""
    today = today or date.today()
    # Most prices are recent. Dates of the same format sort like strings.
    if offer.as_of > f"{today.year - 1}-{today.month:02}-{today.day:02}"[: len(offer.as_of)]:
        return ""
    years = price_age_years(offer.as_of, today)
    if years < 1:
        return ""
    return f"price from {offer.as_of}, over {'a year' if years == 1 else f'{years} years'} old"
