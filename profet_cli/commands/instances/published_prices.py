"""Fetches published prices through gpuhunt, an optional library that reads the price lists of many providers."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
from collections.abc import Collection, Iterator
from datetime import date

from profet_core.catalog.refresh import PublishedPrice
from profet_core.errors import CatalogError, InputError

SOURCE_PREFIX = "gpuhunt"
#: A folder of CSV files that gpuhunt reads instead of its published ones.
FOLDER_VARIABLE = "GPUHUNT_CATALOG_DIR"
_TIMEOUT_S = 30.0
_NOT_FETCHED = "The price list of {} can't be fetched"


def published_prices(provider: str, regions: Collection[str]) -> list[PublishedPrice]:
    """Every on-demand and spot price of GPU instances that a provider has in the regions.

    Raises
    ------
    InputError : gpuhunt is not installed, or it does not know the provider.
    CatalogError : the list can't be fetched, or it has none of the regions.
    """
    gpuhunt = _gpuhunt()
    catalog = gpuhunt.Catalog(auto_reload=False)
    with _quiet_and_impatient():
        try:
            if FOLDER_VARIABLE not in os.environ:
                catalog.load()
            items = catalog.query(provider=provider, min_gpu_count=1)
        except ValueError:
            raise InputError(f"Unknown provider {provider!r}: gpuhunt publishes no price list of it.") from None
        except (OSError, gpuhunt.GPUHuntError) as error:
            raise CatalogError(f"{_NOT_FETCHED.format(provider)} ({error}); nothing was changed.") from None
    if not items:
        raise CatalogError(f"{_NOT_FETCHED.format(provider)}; nothing was changed.")
    found = [item for item in items if item.location in regions]
    if not found:
        known = ", ".join(sorted({item.location for item in items}))
        raise InputError(f"{provider} lists no GPU instance in {', '.join(sorted(regions))}: choose among {known}.")
    version = getattr(catalog.catalog.get(provider), "version", "")
    return [
        PublishedPrice(
            instance=item.instance_name,
            gpu_count=item.gpu_count,
            region=item.location,
            market="spot" if item.spot else "on-demand",
            usd_per_hour=item.price,
            as_of=_date_of(version),
            source=f"{SOURCE_PREFIX} {provider} {version}".strip(),
        )
        for item in found
    ]


def _gpuhunt():
    try:
        import gpuhunt
    except ImportError:
        raise InputError("Published prices are read by gpuhunt: pip install 'profet-app[prices]'.") from None
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
