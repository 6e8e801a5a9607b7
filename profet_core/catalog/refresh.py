"""Catalog updates from published price lists, with plausibility checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import Gpu
from profet_core.catalog.instance import OWN_PROVIDER, Instance
from profet_core.catalog.tables import LONGEST_NAME
from profet_core.errors import CatalogError, InputError
from profet_core.units import listed_price, positive_number

#: A price that changes by more than this factor is more likely an error in the list than a new price.
LARGEST_FACTOR = 5.0
#: A first spot price has no old price. Spot goes down to a tenth of on-demand; down to a twentieth is accepted.
SMALLEST_SPOT_SHARE = 1 / 20


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """One price of a published list: of the whole instance with its `gpu_count` GPUs, US dollars per hour.

    Attributes
    ----------
    provider, gpu, vcpus, host : of the machine, for an instance missing from the catalog; `gpu` None: no specs.
    """

    instance: str
    gpu_count: int
    region: str
    market: str
    usd_per_hour: float
    as_of: str
    source: str
    provider: str = OWN_PROVIDER
    gpu: Gpu | None = None
    vcpus: int | None = None
    host: str = ""


@dataclass(frozen=True, slots=True)
class PriceChange:
    """An offer at its published price, compared with the catalog.

    Attributes
    ----------
    offer : the row to merge into the catalog.
    old_usd_per_hour : previous price of the same offer; None if there was none. new : the catalog lacked the instance.
    kept : the user entered this price; it stays.
    doubt : why the price is implausible; None if it is plausible.
    """

    offer: Instance
    old_usd_per_hour: float | None
    kept: bool
    doubt: str | None
    new: bool = False

    @property
    def change_percent(self) -> float | None:
        """Relative price change in percent; None for a first price."""
        old = self.old_usd_per_hour
        return None if old is None else 100 * (self.offer.usd_per_hour / old - 1)


def price_changes(
    catalog: Catalog, published: Iterable[PublishedPrice], *, source_prefix: str, with_new: bool = False
) -> list[PriceChange]:
    """Changes that a published list makes to the catalog: existing instances in catalog order, then new ones.

    If one offer has several prices (zones), the lowest counts. New instances are skipped unless they are requested,
    have a price, and their GPU has specs.

    Parameters
    ----------
    source_prefix : custom rows whose source starts with it came from such a list and are replaced; other custom rows
        stay.
    """
    lowest: dict[tuple[str, str, str], PublishedPrice] = {}
    new: dict[str, list[PublishedPrice]] = {}
    asked = []
    for price in published:
        if price.instance in catalog:
            asked.append(price)
        elif with_new and price.gpu and price.usd_per_hour:
            new.setdefault(price.instance, []).append(price)
    for price in (*asked, *(price for prices in new.values() for price in _of_one_machine(prices))):
        key = _key_of(price)
        if key not in lowest or price.usd_per_hour < lowest[key].usd_per_hour:
            lowest[key] = price
    place = {name: number for number, name in enumerate(catalog)}
    ordered = sorted(lowest.values(), key=lambda price: (place.get(price.instance, len(place)), *_key_of(price)))
    return [
        _change(catalog, price, source_prefix) if price.instance in catalog else _new_offer(price) for price in ordered
    ]


def usable_prices(catalog: Catalog, published: Iterable[PublishedPrice]) -> list[PublishedPrice]:
    """Drop rows that no catalog can hold: a damaged name, or a new instance with an invalid price.

    Raises
    ------
    CatalogError : an instance of the catalog has no valid price in the list, so the list is damaged.
    """
    found = []
    for price in published:
        try:
            # Some lists write 0 for a missing price; no new instance is made from it.
            if price.usd_per_hour or price.instance in catalog:
                positive_number(f"The published price of {price.instance}", price.usd_per_hour)
        except InputError as error:
            if price.instance in catalog:
                raise CatalogError(
                    f"{error} The price list of {price.provider} is damaged; nothing was changed."
                ) from None
            continue
        if price.instance.isprintable() and len(price.instance) <= LONGEST_NAME:
            found.append(price)
    return found


def new_instances(catalog: Catalog, published: Iterable[PublishedPrice]) -> list[str]:
    """Names of new instances whose GPU has specs."""
    listed = (price for price in published if price.gpu is not None and price.usd_per_hour)
    return sorted({price.instance for price in listed if price.instance not in catalog})


def check_believable(changes: Iterable[PriceChange]) -> None:
    """Reject the whole list if one of its prices is implausible.

    Raises
    ------
    CatalogError : the message names the first one and their number.
    """
    doubts = [change.doubt for change in changes if change.doubt and not change.kept]
    if doubts:
        more = f" ({len(doubts) - 1} more like this)" if len(doubts) > 1 else ""
        raise CatalogError(f"{doubts[0]}{more}: nothing was changed. Use --force to accept it.")


def _key_of(price: PublishedPrice) -> tuple[str, str, str]:
    return price.instance, price.region, price.market


def _of_one_machine(prices: Sequence[PublishedPrice]) -> list[PublishedPrice]:
    """Rows of a new name with the same GPUs as its first row: a market rents out many machines under one name."""
    first = prices[0]
    same = [price for price in prices if (price.gpu, price.gpu_count) == (first.gpu, first.gpu_count)]
    vcpus = first.vcpus if len({price.vcpus for price in same}) == 1 else None
    return [replace(price, vcpus=vcpus, host=first.host) for price in same]


def _new_offer(price: PublishedPrice) -> PriceChange:
    if price.gpu is None:
        raise ValueError(price.instance)
    offer = Instance(
        name=price.instance,
        gpu=price.gpu.name,
        gpu_count=price.gpu_count,
        gpu_memory_gib=price.gpu.memory_gib,
        vcpus=price.vcpus,
        usd_per_hour=price.usd_per_hour,
        region=price.region,
        os="linux",
        market=price.market,
        status="available",
        as_of=price.as_of,
        source=price.source,
        own=True,
        provider=price.provider,
        host=price.host,
    )
    return PriceChange(offer, None, kept=False, doubt=None, new=True)


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
        return f"{what} is listed with {price.gpu_count} GPUs, the catalog has {usual.gpu_count}"
    known, smallest = (old, 1 / LARGEST_FACTOR) if old is not None else (usual, SMALLEST_SPOT_SHARE)
    if smallest <= price.usd_per_hour / known.usd_per_hour <= LARGEST_FACTOR:
        return None
    beside = f"{listed_price(known.usd_per_hour)}" + ("" if old is not None else f" ({known.market})")
    return f"{what} is listed at {listed_price(price.usd_per_hour)}/h, but the catalog has {beside}"
