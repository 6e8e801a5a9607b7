"""Published prices of many clouds, fetched through gpuhunt, an optional library, as the catalog's offers."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import Any

from profet_core.catalog import Catalog, Gpu, load_gpus
from profet_core.catalog.clouds import PublishedPrice, machine_facts, market_of, offer_name
from profet_core.errors import CatalogError, InputError

#: The catalog's clouds -> gpuhunt's names of them.
PROVIDERS: Mapping[str, str] = {
    "aws": "aws",
    "azure": "azure",
    "gcp": "gcp",
    "lambda": "lambdalabs",
    "nebius": "nebius",
    "runpod": "runpod",
    "vast": "vastai",
    "verda": "verda",
}
#: Read from the market itself; of the others lists are published.
LIVE_PROVIDERS = frozenset({"vast"})
#: The region of an offer that is wherever its market finds it.
ANYWHERE = "any"
SOURCE_PREFIX = "gpuhunt"
#: A folder of CSV files that gpuhunt reads instead of its published ones.
FOLDER_VARIABLE = "GPUHUNT_CATALOG_DIR"
#: gpuhunt's names without spaces: 'RTX4090', 'RTX6000Ada', 'H100NVL'.
_JOINED = ((r"^RTX(\d{4})(Ti)?$", r"RTX \1 \2"), (r"^RTX(\d{4})Ada$", r"RTX \1 Ada"), (r"^(H\d+)NVL$", r"\1 NVL"))
#: GPUs that gpuhunt calls the same in either form; the market rents out both.
_FORM_NOT_TOLD = {("vast", "A100"), ("vast", "H100")}
_TIMEOUT_S = 30.0


class PriceLists:
    """gpuhunt's lists of every provider, fetched once; raises InputError if gpuhunt is not installed."""

    def __init__(self) -> None:
        try:
            import gpuhunt
        except ImportError:
            raise InputError("Published prices need gpuhunt: pip install 'profet-app[prices]'.") from None
        self.errors = (OSError, ValueError, gpuhunt.GPUHuntError)
        self.catalog = gpuhunt.Catalog(auto_reload=False)
        self._is_loaded = FOLDER_VARIABLE in os.environ

    def items(self, provider: str) -> list[Any]:
        """A provider's `CatalogItem`s with a GPU, from its list or from the market itself; raises `errors`."""
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
    """Every on-demand and spot price of GPU instances that a provider of `PROVIDERS` has in the regions.

    Raises InputError if it has none of them, CatalogError if the list can't be fetched. `known` names offers.
    """
    items: list[Any] = []
    # What the errors say is of the library's insides.
    with _quiet_and_impatient(), contextlib.suppress(*lists.errors):
        items = lists.items(provider)
    if not items:
        raise CatalogError(
            f"The price list of {provider} can't be fetched: check the network or try again later. Nothing was changed."
        )
    offers = [(_region_of(provider, item.location), item) for item in items if _is_offer(provider, item)]
    found = [(region, item) for region, item in offers if region in regions]
    if not found:
        there = ", ".join(sorted({region for region, _ in offers}))
        raise InputError(f"{provider} lists no GPU instance in {', '.join(sorted(regions))}: choose from {there}.")
    version = lists.version(provider)
    # The day a list was made, of a version such as 20260601-1234.
    day = re.match(r"(20\d\d)-?(\d\d)-?(\d\d)", version)
    as_of = "-".join(day.groups()) if day else date.today().isoformat()
    prices = []
    for region, item in found:
        gpu = _gpu_of(provider, item)
        name = _name_of(provider, item, gpu, known)
        if name is not None:
            price = PublishedPrice(
                instance=name,
                gpu_count=item.gpu_count,
                region=region,
                market=market_of(provider, spot=item.spot),
                usd_per_hour=item.price,
                as_of=as_of,
                source=f"{SOURCE_PREFIX} {provider} {version}".strip(),
                provider=provider,
                gpu=gpu,
                vcpus=item.cpu or None,
                host=machine_facts(provider, item.instance_name).host,
            )
            prices.append(price)
    return prices


def _is_offer(provider: str, item: Any) -> bool:
    """Whether a row is for rent by the hour alone: no part of a cluster, and no reservation."""
    if item.provider_data.get("is_dws_calendar_mode") or "runpod-cluster" in item.flags:
        return False
    # RunPod's community cloud has countries; data centers are "EU-RO-1".
    return provider != "runpod" or "-" in item.location


def _region_of(provider: str, location: str) -> str:
    """The catalog's region of a location: of Google's zones the region, of RunPod's data centers the country."""
    if provider == "gcp":
        return re.sub(r"-[a-z]$", "", location)
    if provider == "runpod":
        return location.partition("-")[0]
    return ANYWHERE if provider in LIVE_PROVIDERS else location


def _gpu_of(provider: str, item: Any) -> Gpu | None:
    """The specs of a row's GPU; None if there is none, if only a part is rented, or if its form factor is unknown."""
    if (provider, item.gpu_name) in _FORM_NOT_TOLD or not item.gpu_name or not item.gpu_memory:
        return None
    known = machine_facts(provider, item.instance_name).gpu
    # RunPod's rows are named by the GPU as NVIDIA's driver writes it.
    name = known or (item.instance_name if provider == "runpod" else item.gpu_name)
    for joined, apart in _JOINED:
        name = re.sub(joined, apart, name).strip()
    try:
        gpu = load_gpus().find(name, item.gpu_memory)
    except InputError:
        return None
    return gpu if gpu.has_memory(item.gpu_memory) else None


def _name_of(provider: str, item: Any, gpu: Gpu | None, catalog: Catalog) -> str | None:
    """The name of a row's offer in the catalog, or the one it would have; None if that is unknown."""
    if provider == "gcp" and item.instance_name.startswith("n1-"):
        return offer_name(provider, f"{item.instance_name}+{item.gpu_count}x{item.gpu_name}")
    if provider == "nebius":
        return offer_name(provider, item.instance_name.replace(" ", "_"))
    if provider not in ("runpod", "vast"):
        return offer_name(provider, item.instance_name)
    if gpu is None:
        return None
    # These rent out so many of a GPU, not a machine of some name.
    machine = provider, gpu.name, item.gpu_count
    known = next((one for one in catalog.values() if (one.provider, one.gpu, one.gpu_count) == machine), None)
    return known.name if known else f"{provider}/{item.gpu_count}x-{gpu.name.replace(' ', '_')}"


def _live_provider() -> Any:
    from gpuhunt.providers.vastai import VastAIProvider

    return VastAIProvider()


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
