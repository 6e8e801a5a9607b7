"""Catalog updates from published price lists, with plausibility checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import Gpu
from profet_core.catalog.instance import Instance
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
    provider: str
    gpu: Gpu | None
    vcpus: int | None
    host: str


@dataclass(frozen=True, slots=True)
class PriceChange:
    """An offer at its published price, compared with the catalog.

    Attributes
    ----------
    offer : the row to merge into the catalog.
    old_usd_per_hour : previous price of the same offer; None if there was none.
    kept : the user entered this price; it stays.
    doubt : why the price is implausible; empty if it is plausible.
    """

    offer: Instance
    old_usd_per_hour: float | None
    kept: bool
    doubt: str

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
    have a price, and their GPU has specs. Custom rows whose source starts with `source_prefix` came from such a list
    and are replaced; other custom rows stay.
    """
    lowest: dict[tuple[str, str, str], PublishedPrice] = {}
    #: New name -> its rows. A market rents out many machines under one name: those with the first one's GPUs count.
    new: dict[str, list[PublishedPrice]] = {}
    for price in published:
        if price.instance not in catalog:
            if not with_new or price.gpu is None or not price.usd_per_hour:
                continue
            same = new.setdefault(price.instance, [])
            if same and (price.gpu, price.gpu_count) != (same[0].gpu, same[0].gpu_count):
                continue
            same.append(price)
        key = price.instance, price.region, price.market
        if key not in lowest or price.usd_per_hour < lowest[key].usd_per_hour:
            lowest[key] = price
    machines = {**catalog, **{name: _machine(rows) for name, rows in new.items()}}
    place = {name: number for number, name in enumerate(catalog)}
    ordered = sorted(lowest, key=lambda key: (place.get(key[0], len(place)), *key))
    return [_change(catalog, machines[key[0]], lowest[key], source_prefix) for key in ordered]


def usable_prices(catalog: Catalog, published: Iterable[PublishedPrice]) -> list[PublishedPrice]:
    """Drop rows that no catalog can hold: a damaged name, or a new instance with an invalid price.

    Raises CatalogError if an instance of the catalog has no valid price: the list is damaged.
    """
    found = []
    for price in published:
        try:
            # Some lists write 0 for a missing price; no new instance is made from it.
            if price.usd_per_hour or price.instance in catalog:
                positive_number(f"The published price of {price.instance}", price.usd_per_hour)
        except InputError as error:
            if price.instance not in catalog:
                continue
            raise CatalogError(f"{error} The price list of {price.provider} is damaged.") from None
        if price.instance.isprintable() and len(price.instance) <= LONGEST_NAME:
            found.append(price)
    return found


def check_believable(changes: Iterable[PriceChange]) -> None:
    """Reject the whole list if one of its prices is implausible; CatalogError names the first one and their number."""
    doubts = [change.doubt for change in changes if change.doubt and not change.kept]
    if doubts:
        more = f" ({len(doubts) - 1} more like this)" if len(doubts) > 1 else ""
        raise CatalogError(f"{doubts[0]}{more}: nothing was changed. Use --force to accept it.")


def _machine(rows: list[PublishedPrice]) -> Instance:
    """A new instance."""
    first = rows[0]
    assert first.gpu is not None
    return Instance(
        name=first.instance,
        gpu=first.gpu.name,
        gpu_count=first.gpu_count,
        gpu_memory_gib=first.gpu.memory_gib,
        vcpus=first.vcpus if len({row.vcpus for row in rows}) == 1 else None,
        usd_per_hour=first.usd_per_hour,
        region=first.region,
        os="linux",
        market=first.market,
        status="available",
        as_of=first.as_of,
        source=first.source,
        provider=first.provider,
        host=first.host,
    )


def _change(catalog: Catalog, machine: Instance, price: PublishedPrice, source_prefix: str) -> PriceChange:
    offer = replace(
        machine,
        region=price.region,
        os="linux",
        market=price.market,
        usd_per_hour=price.usd_per_hour,
        as_of=price.as_of,
        source=price.source,
        own=True,
    )
    offers = catalog.offers(offer.name) if offer.name in catalog else ()
    old = next((row for row in offers if row.offer_key == offer.offer_key), None)
    doubt, what = "", f"{offer.name} ({offer.region}, {offer.market})"
    if price.gpu_count != machine.gpu_count:
        doubt = f"{what} is listed with {price.gpu_count} GPUs, the catalog has {machine.gpu_count}"
    elif offers:
        known, smallest = (machine, SMALLEST_SPOT_SHARE) if old is None else (old, 1 / LARGEST_FACTOR)
        if not smallest <= offer.usd_per_hour / known.usd_per_hour <= LARGEST_FACTOR:
            has = listed_price(known.usd_per_hour) + (f" ({known.market})" if old is None else "")
            doubt = f"{what} is listed at {listed_price(offer.usd_per_hour)}/h, but the catalog has {has}"
    return PriceChange(
        offer=offer,
        old_usd_per_hour=None if old is None else old.usd_per_hour,
        kept=old is not None and old.own and not old.source.startswith(source_prefix),
        doubt=doubt,
    )
