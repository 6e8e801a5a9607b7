"""Prices say how old they are once that is surely more than a year."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from profet_core.catalog import load_shipped
from profet_core.catalog.naming import old_price_note, price_age_years

TODAY = date(2026, 11, 22)


@pytest.mark.parametrize(
    ("as_of", "years"),
    [
        ("2026", 0),
        ("2025", 0),  # of 31 December at the latest
        ("2025-10", 1),
        ("2025-11-22", 1),
        ("2021", 4),
        ("2027-01-01", 0),
        ("", 0),
    ],
)
def test_the_age_is_what_a_price_is_at_least(as_of, years):
    assert price_age_years(as_of, TODAY) == years


def test_an_old_price_says_so_and_a_fresh_one_nothing():
    offer = load_shipped()["azure/Standard_NC4as_T4_v3"]
    assert old_price_note(offer, TODAY) == "price from 2024, over a year old"
    assert old_price_note(replace(offer, as_of="2021"), TODAY) == "price from 2021, over 4 years old"
    assert old_price_note(replace(offer, as_of="2026-06"), TODAY) == ""
    assert old_price_note(replace(offer, as_of=""), TODAY) == "", "a price that somebody typed in"
