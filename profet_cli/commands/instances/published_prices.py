"""Fetches published prices through gpuhunt, an optional library that reads the price lists of many providers."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
from collections.abc import Collection, Iterator
from datetime import date

from profet_cli.commands.instances.published_items import (
    LIVE_PROVIDERS,
    PROVIDERS,
    Item,
    gpu_of,
    is_offer,
    name_of,
    region_of,
)
from profet_core.catalog import Catalog
from profet_core.catalog.clouds import machine_facts, market_of
from profet_core.catalog.refresh import PublishedPrice
from profet_core.errors import CatalogError, InputError

SOURCE_PREFIX = "gpuhunt"
#: A folder of CSV files that gpuhunt reads instead of its published ones.
FOLDER_VARIABLE = "GPUHUNT_CATALOG_DIR"
_TIMEOUT_S = 30.0
_NOT_FETCHED = "The price list of {} can't be fetched: check the network or try again later. Nothing was changed."


class PriceLists:
    """gpuhunt's lists of every provider, fetched once.

    Raises
    ------
    InputError : gpuhunt is not installed.
    """

    def __init__(self) -> None:
        self.gpuhunt = _gpuhunt()
        self.catalog = self.gpuhunt.Catalog(auto_reload=False)
        self._is_loaded = FOLDER_VARIABLE in os.environ

    def items(self, provider: str) -> list[Item]:
        """A provider's rows with a GPU, from its list or from the market itself; raises what gpuhunt does."""
        if provider in LIVE_PROVIDERS:
            self.catalog.add_provider(_live_provider())
        elif not self._is_loaded:
            self.catalog.load()
            self._is_loaded = True
        return self.catalog.query(provider=PROVIDERS[provider], min_gpu_count=1)

    def version(self, provider: str) -> str:
        """Of a provider's list; empty if it has none."""
        return getattr(self.catalog.catalog.get(PROVIDERS[provider]), "version", "")


def published_prices(
    lists: PriceLists, provider: str, regions: Collection[str], known: Catalog
) -> list[PublishedPrice]:
    """Every on-demand and spot price of GPU instances that a provider has in the regions.

    Parameters
    ----------
    provider : one of `PROVIDERS`. known : the catalog, which names offers.

    Raises
    ------
    InputError : the provider has none of the regions.
    CatalogError : the list can't be fetched.
    """
    with _quiet_and_impatient():
        try:
            items = lists.items(provider)
        except (OSError, ValueError, lists.gpuhunt.GPUHuntError):
            # What these say is of the library's insides.
            items = []
    if not items:
        raise CatalogError(_NOT_FETCHED.format(provider))
    offers = [item for item in items if is_offer(provider, item)]
    found = [item for item in offers if region_of(provider, item.location) in regions]
    if not found:
        there = ", ".join(sorted({region_of(provider, item.location) for item in offers}))
        raise InputError(f"{provider} lists no GPU instance in {', '.join(sorted(regions))}: choose from {there}.")
    version = lists.version(provider)
    return [price for item in found if (price := _price(provider, item, version, known)) is not None]


def _price(provider: str, item: Item, version: str, known: Catalog) -> PublishedPrice | None:
    gpu = gpu_of(provider, item)
    name = name_of(provider, item, gpu, known)
    if name is None:
        return None
    return PublishedPrice(
        instance=name,
        gpu_count=item.gpu_count,
        region=region_of(provider, item.location),
        market=market_of(provider, spot=item.spot),
        usd_per_hour=item.price,
        as_of=_date_of(version),
        source=f"{SOURCE_PREFIX} {provider} {version}".strip(),
        provider=provider,
        gpu=gpu,
        vcpus=item.cpu or None,
        host=machine_facts(provider, item.instance_name).host,
    )


def _live_provider():
    from gpuhunt.providers.vastai import VastAIProvider

    return VastAIProvider()


def _gpuhunt():
    try:
        import gpuhunt
    except ImportError:
        raise InputError("Published prices need gpuhunt: pip install 'profet-app[prices]'.") from None
    return gpuhunt


@contextlib.contextmanager
def _quiet_and_impatient() -> Iterator[None]:
    """No log lines of the library, whose tracebacks are less clear than one line of ours, and no endless wait."""
    logger, timeout_s = logging.getLogger("gpuhunt"), socket.getdefaulttimeout()
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    socket.setdefaulttimeout(_TIMEOUT_S)
    try:
        yield
    finally:
        logger.setLevel(level)
        socket.setdefaulttimeout(timeout_s)


def _date_of(version: str) -> str:
    """The day a list was made, of a version such as 20260601-1234; today if there is none in it."""
    found = re.match(r"(20\d\d)-?(\d\d)-?(\d\d)", version)
    if found is None:
        return date.today().isoformat()
    return "-".join(found.groups())
