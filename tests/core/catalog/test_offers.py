"""Which offers a market holds, whose prices count, and what a guess of spot prices makes of them."""

from __future__ import annotations

import pytest

from profet_core import Catalog, Instance
from profet_core.catalog.collection import is_guess, offers_in_market
from profet_core.errors import InputError
from tests.made.step_times import offer


def test_one_offer_of_each_market_and_one_s_own_hardware_in_all():
    def at(market: str, region: str, usd_per_hour: float, name: str = "a") -> Instance:
        return offer(name, usd_per_hour, market=market, region=region)

    catalog = Catalog(
        [
            at("on-demand", "us-east-1", 1.0),
            at("on-demand", "elsewhere", 0.8),
            at("spot", "elsewhere", 0.3),
            at("spot", "cheap", 0.2),
            at("own", "home", 0.1, "b"),
        ]
    )

    def prices(market: str, **others: object) -> list[float]:
        return [row.usd_per_hour for row in offers_in_market(catalog, market, **others)]

    assert prices("on-demand") == [1.0, 0.1]
    assert prices("spot") == [0.2, 0.1]
    assert sorted(prices("any")) == [0.1, 0.2, 1.0]
    assert prices("spot", spot_discount=0.5) == [0.2, 0.1], "a known spot price needs no guess"
    assert prices("spot", own_usd_per_hour={"a": 0.5}) == [0.5, 0.1]


def test_no_offer_at_all_is_one_line():
    catalog = Catalog([offer("a", 1.0, region="us-east-1")])
    with pytest.raises(InputError, match=r"has no spot prices: give your own prices, or a spot discount\."):
        offers_in_market(catalog, "spot")
    with pytest.raises(InputError, match="Unknown market 'black'"):
        offers_in_market(catalog, "black")


def test_a_discount_makes_spot_offers_and_says_that_they_are_a_guess(catalog):
    spot = {
        row.name: row for row in offers_in_market(catalog, "spot", spot_discount=0.6) if row.source[:7] == "guessed"
    }
    assert spot and all(row.market == "spot" for row in spot.values())
    name, row = next(iter(spot.items()))
    assert row.usd_per_hour == pytest.approx(0.4 * catalog[name].usd_per_hour)
    assert row.source == "guessed: 60% below on-demand"
    assert is_guess(row) and not is_guess(catalog[name])
    both = offers_in_market(catalog, "any", spot_discount=0.6)
    assert {row.market for row in both if row.name == name} == {"on-demand", "spot"}
    for discount, line in ((1.0, "between 0 and 1"), (0, "number above 0")):
        with pytest.raises(InputError, match=line):
            offers_in_market(catalog, spot_discount=discount)


def test_an_own_price_stands_in_every_market(catalog):
    for market in ("on-demand", "spot", "any"):
        rows = offers_in_market(catalog, market, own_usd_per_hour={"g5.xlarge": 0.3})
        assert [(row.usd_per_hour, row.market) for row in rows if row.name == "g5.xlarge"] == [(0.3, "own price")]
    with pytest.raises(InputError, match="Unknown instance"):
        offers_in_market(catalog, own_usd_per_hour={"g9.huge": 1})
