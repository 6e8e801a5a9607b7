"""What can be rented at which price: the catalogue's offers of one market, the user's own prices laid over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from profet_core.catalog import Catalog, Instance
from profet_core.errors import InputError
from profet_core.units import positive_number

ON_DEMAND, SPOT, ANY_MARKET = "on-demand", "spot", "any"
MARKETS = (ON_DEMAND, SPOT, ANY_MARKET)
OWN_PRICE = "own price"


def offers_in_market(
    catalog: Catalog,
    market: str = ON_DEMAND,
    *,
    own_usd_per_hour: Mapping[str, float] | None = None,
    spot_discount: float | None = None,
) -> tuple[Instance, ...]:
    """The catalogue's rows of a market, in its order.

    Parameters
    ----------
    market : "on-demand", "spot" or "any".
    own_usd_per_hour : instance -> a price of the user's own; it replaces the instance's offers in every market.
    spot_discount : share that spot is cheaper than on-demand, 0 to 1, for instances without a spot price in the
        catalogue; None: no guess is made.

    Raises
    ------
    InputError : an unknown market or instance, a price that is not a positive number, a discount outside 0 to 1.
    """
    if market not in MARKETS:
        raise InputError(f"Unknown market {market!r}: choose one of {', '.join(MARKETS)}.")
    own = dict(own_usd_per_hour or {})
    priced = catalog.with_prices(own)
    found: list[Instance] = []
    for name in catalog:
        listed = _listed(catalog, name)
        if spot_discount is not None and not any(offer.market == SPOT for offer in listed):
            listed = (*listed, *(_at_discount(o, spot_discount) for o in listed if o.market == ON_DEMAND))
        if name in own:
            found.append(replace(priced[name], market=OWN_PRICE))
        else:
            found += [offer for offer in listed if market in (offer.market, ANY_MARKET)]
    return tuple(found)


def _listed(catalog: Catalog, name: str) -> tuple[Instance, ...]:
    return (catalog[name],)


def _at_discount(offer: Instance, discount: float) -> Instance:
    if positive_number("The spot discount", discount) >= 1:
        raise InputError(f"The spot discount must be a share between 0 and 1, such as 0.6, not {discount:g}.")
    return replace(
        offer,
        usd_per_hour=offer.usd_per_hour * (1 - discount),
        market=SPOT,
        as_of="",
        source=f"guessed: {discount:.0%} below on-demand",
    )
