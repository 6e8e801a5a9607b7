"""Offers of a market at their prices, including custom prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from profet_core.catalog.collection import Catalog
from profet_core.catalog.instance import MARKETPLACE, ON_DEMAND, OWN_HARDWARE, RESERVED, SPOT, Instance
from profet_core.errors import InputError
from profet_core.units import positive_number

#: Choices of market: one market, or all of them.
ANY_MARKET = "any"
MARKET_CHOICES = (ON_DEMAND, SPOT, RESERVED, MARKETPLACE, ANY_MARKET)
_GUESSED = "guessed:"


class NoOffersError(InputError):
    """The catalog has no offer in that market and region."""


def offers_in_market(
    catalog: Catalog,
    market: str = ON_DEMAND,
    *,
    region: str | None = None,
    own_usd_per_hour: Mapping[str, float] | None = None,
    spot_discount: float | None = None,
) -> tuple[Instance, ...]:
    """Offers to choose from, at most one per instance and market, in the catalog's order.

    Parameters
    ----------
    market : one of `MARKET_CHOICES`; custom hardware belongs to each.
    region : None: the catalog's default region if the instance has an offer there, else its cheapest.
    own_usd_per_hour : instance -> a custom price; it replaces the instance's offers in every market.
    spot_discount : discount of spot relative to on-demand, 0 to 1, for instances without a spot price in the catalog;
        None: no estimate is made.

    Raises
    ------
    InputError : an unknown market or instance, a price that is not a positive number, or a discount outside 0 to 1.
    NoOffersError : the market has no offer there.
    """
    if market not in MARKET_CHOICES:
        raise InputError(f"Unknown market {market!r}: choose one of {', '.join(MARKET_CHOICES)}.")
    priced = catalog.with_prices(own_usd_per_hour or {})
    found: list[Instance] = []
    for name in catalog:
        if own_usd_per_hour and name in own_usd_per_hour:
            found.append(priced[name])
            continue
        listed = _one_a_market(catalog.offers(name), region)
        if spot_discount is not None and SPOT not in listed and ON_DEMAND in listed:
            listed[SPOT] = _at_discount(listed[ON_DEMAND], spot_discount)
        found += [offer for key, offer in listed.items() if key == OWN_HARDWARE or market in (key, ANY_MARKET)]
    if not found:
        where = f" in {region}" if region else ""
        guess = ", or a spot discount" if market in (SPOT, ANY_MARKET) else ""
        raise NoOffersError(f"The catalog has no {market} prices{where}: give your own prices{guess}.")
    return tuple(found)


def is_guess(offer: Instance) -> bool:
    """Whether an offer's price is a spot price estimated from the user's discount."""
    return offer.source.startswith(_GUESSED)


def _one_a_market(offers: tuple[Instance, ...], region: str | None) -> dict[str, Instance]:
    """Market -> the instance's default offer there; the catalog lists default offers first."""
    found: dict[str, Instance] = {}
    for offer in offers:
        if region in (None, offer.region) or offer.market == OWN_HARDWARE:
            found.setdefault(offer.market, offer)
    return found


def _at_discount(offer: Instance, discount: float) -> Instance:
    if positive_number("The spot discount", discount) >= 1:
        raise InputError(f"The spot discount must be between 0 and 1, such as 0.6, not {discount:g}.")
    return replace(
        offer,
        usd_per_hour=offer.usd_per_hour * (1 - discount),
        market=SPOT,
        as_of="",
        source=f"{_GUESSED} {discount:.0%} below on-demand",
    )
