"""Which prices of the catalogue a published list changes, and whether the changes are believable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from profet_core.catalog.collection import Catalog
from profet_core.catalog.instance import Instance
from profet_core.errors import CatalogError
from profet_core.units import listed_price, positive_number

#: A price that moves by more than this factor is rather a mistake of the list than a new price.
LARGEST_FACTOR = 5.0
#: A first spot price has no old one; spot is seen down to a tenth of on-demand, here allowed down to a twentieth.
SMALLEST_SPOT_SHARE = 1 / 20


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """One price of a published list: of the whole instance with its `gpu_count` GPUs, US dollars an hour."""

    instance: str
    gpu_count: int
    region: str
    market: str
    usd_per_hour: float
    as_of: str
    source: str


@dataclass(frozen=True, slots=True)
class PriceChange:
    """An offer at its published price beside what the catalogue had.

    Attributes
    ----------
    offer : the row to lay over the catalogue.
    old_usd_per_hour : the same offer's price so far; None: there was none.
    kept : the user typed this price in; it stays.
    doubt : why the price is not believable; None: it is.
    """

    offer: Instance
    old_usd_per_hour: float | None
    kept: bool
    doubt: str | None

    @property
    def change_percent(self) -> float | None:
        """By how much the price moves; None for a first one."""
        old = self.old_usd_per_hour
        return None if old is None else 100 * (self.offer.usd_per_hour / old - 1)


def price_changes(catalog: Catalog, published: Iterable[PublishedPrice], *, source_prefix: str) -> list[PriceChange]:
    """What a published list says of the catalogue's instances, in the catalogue's order.

    Instances the catalogue does not have are left out; of several prices of one offer (zones) the lowest counts.

    Parameters
    ----------
    source_prefix : own rows whose source starts so came from such a list and are replaced; other own rows are kept.
    """
    lowest: dict[tuple[str, str, str], PublishedPrice] = {}
    for price in published:
        positive_number(f"The published price of {price.instance}", price.usd_per_hour)
        key = price.instance, price.region, price.market
        if price.instance in catalog and (key not in lowest or price.usd_per_hour < lowest[key].usd_per_hour):
            lowest[key] = price
    place = {name: number for number, name in enumerate(catalog)}
    ordered = sorted(lowest.values(), key=lambda price: (place[price.instance], price.region, price.market))
    return [_change(catalog, price, source_prefix) for price in ordered]


def check_believable(changes: Iterable[PriceChange]) -> None:
    """Refuse the whole list if one price of it is not believable.

    Raises
    ------
    CatalogError : naming the first one and how many there are.
    """
    doubts = [change.doubt for change in changes if change.doubt and not change.kept]
    if doubts:
        more = f" ({len(doubts) - 1} more like this)" if len(doubts) > 1 else ""
        raise CatalogError(f"{doubts[0]}{more}: nothing was changed. Use --force if it is right.")


def _change(catalog: Catalog, price: PublishedPrice, source_prefix: str) -> PriceChange:
    usual = catalog[price.instance]
    offer = replace(
        usual,
        region=price.region,
        os="linux",
        market=price.market,
        usd_per_hour=price.usd_per_hour,
        as_of=price.as_of,
        source=price.source,
        own=True,
    )
    old = next((row for row in catalog.offers(usual.name) if row.offer_key == offer.offer_key), None)
    return PriceChange(
        offer=offer,
        old_usd_per_hour=None if old is None else old.usd_per_hour,
        kept=old is not None and old.own and not old.source.startswith(source_prefix),
        doubt=_doubt(price, usual, old),
    )


def _doubt(price: PublishedPrice, usual: Instance, old: Instance | None) -> str | None:
    what = f"{price.instance} ({price.region}, {price.market})"
    if price.gpu_count != usual.gpu_count:
        return f"{what} is listed with {price.gpu_count} GPUs, the catalogue has {usual.gpu_count}"
    known, smallest = (old, 1 / LARGEST_FACTOR) if old is not None else (usual, SMALLEST_SPOT_SHARE)
    if smallest <= price.usd_per_hour / known.usd_per_hour <= LARGEST_FACTOR:
        return None
    beside = f"{listed_price(known.usd_per_hour)}" + ("" if old is not None else f" ({known.market})")
    return f"{what} is listed at {listed_price(price.usd_per_hour)} an hour beside {beside}"
