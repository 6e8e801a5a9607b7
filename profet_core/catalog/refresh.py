"""Which prices of the catalog a published list changes, and whether the changes are believable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import Gpu
from profet_core.catalog.instance import OWN_PROVIDER, Instance
from profet_core.catalog.tables import LONGEST_NAME
from profet_core.errors import CatalogError, InputError
from profet_core.units import listed_price, positive_number

#: A price that moves by more than this factor is rather a mistake of the list than a new price.
LARGEST_FACTOR = 5.0
#: A first spot price has no old one; spot is seen down to a tenth of on-demand, here allowed down to a twentieth.
SMALLEST_SPOT_SHARE = 1 / 20


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """One price of a published list: of the whole instance with its `gpu_count` GPUs, US dollars an hour.

    Attributes
    ----------
    provider, gpu, vcpus, host : of the machine, for an instance that the catalog lacks; `gpu` None: no specs.
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
    """An offer at its published price beside what the catalog had.

    Attributes
    ----------
    offer : the row to lay over the catalog.
    old_usd_per_hour : the same offer's price so far; None: there was none. new : the catalog lacked the instance.
    kept : the user typed this price in; it stays.
    doubt : why the price is not believable; None: it is.
    """

    offer: Instance
    old_usd_per_hour: float | None
    kept: bool
    doubt: str | None
    new: bool = False

    @property
    def change_percent(self) -> float | None:
        """By how much the price moves; None for a first one."""
        old = self.old_usd_per_hour
        return None if old is None else 100 * (self.offer.usd_per_hour / old - 1)


def price_changes(
    catalog: Catalog, published: Iterable[PublishedPrice], *, source_prefix: str, with_new: bool = False
) -> list[PriceChange]:
    """What a published list says of the catalog's instances, in the catalog's order, then of new ones.

    Of several prices of one offer (zones) the lowest counts. An instance that the catalog does not have is left out,
    unless new ones are asked for, its GPU has specs, and it has a price.

    Parameters
    ----------
    source_prefix : own rows whose source starts so came from such a list and are replaced; other own rows are kept.
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
    """A published list without rows that no catalog can hold: a damaged name, or a new instance's price that is none.

    Raises
    ------
    CatalogError : an instance of the catalog has no price there that is one, so the list is damaged.
    """
    found = []
    for price in published:
        try:
            # Some lists write 0 where they have no price; nothing new is made of it.
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
    """Names of instances that the catalog lacks and whose GPU has specs."""
    listed = (price for price in published if price.gpu is not None and price.usd_per_hour)
    return sorted({price.instance for price in listed if price.instance not in catalog})


def check_believable(changes: Iterable[PriceChange]) -> None:
    """Refuse the whole list if one price of it is not believable.

    Raises
    ------
    CatalogError : naming the first one and how many there are.
    """
    doubts = [change.doubt for change in changes if change.doubt and not change.kept]
    if doubts:
        more = f" ({len(doubts) - 1} more like this)" if len(doubts) > 1 else ""
        raise CatalogError(f"{doubts[0]}{more}: nothing was changed. Use --force to accept it.")


def _key_of(price: PublishedPrice) -> tuple[str, str, str]:
    return price.instance, price.region, price.market


def _of_one_machine(prices: Sequence[PublishedPrice]) -> list[PublishedPrice]:
    """A new name's rows that have the first one's GPUs, all of one machine: a market rents out many under one name."""
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
