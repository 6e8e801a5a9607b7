"""Map gpuhunt's rows to the catalog's offers, regions and GPUs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from profet_core.catalog import Catalog, Gpu, load_gpus
from profet_core.catalog.clouds import machine_facts, offer_name
from profet_core.errors import InputError

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
#: The same, the other way round.
GPUHUNT_NAMES = {gpuhunt: ours for ours, gpuhunt in PROVIDERS.items()}
#: Read from the market itself; of the others lists are published.
LIVE_PROVIDERS = frozenset({"vast"})
#: The region of an offer that is wherever its market finds it.
ANYWHERE = "any"
#: gpuhunt's names without spaces: 'RTX4090', 'RTX6000Ada', 'H100NVL'.
_JOINED = ((r"^RTX(\d{4})(Ti)?$", r"RTX \1 \2"), (r"^RTX(\d{4})Ada$", r"RTX \1 Ada"), (r"^(H\d+)NVL$", r"\1 NVL"))
#: GPUs that gpuhunt calls the same in either form; the market rents out both.
_FORM_NOT_TOLD = {("vast", "A100"), ("vast", "H100")}


class Item(Protocol):
    """What is read of gpuhunt's `CatalogItem`."""

    instance_name: str
    location: str
    price: float
    cpu: int
    gpu_count: int
    gpu_name: str | None
    gpu_memory: float | None
    spot: bool
    flags: list[str]
    provider_data: Mapping[str, object]


def is_offer(provider: str, item: Item) -> bool:
    """Whether a row is for rent by the hour alone: no part of a cluster, and no reservation."""
    if item.provider_data.get("is_dws_calendar_mode") or "runpod-cluster" in item.flags:
        return False
    # RunPod's community cloud has countries; data centers are "EU-RO-1".
    return provider != "runpod" or "-" in item.location


def region_of(provider: str, location: str) -> str:
    """The catalog's region of a location: of Google's zones the region, of RunPod's data centers the country."""
    if provider == "gcp":
        return re.sub(r"-[a-z]$", "", location)
    if provider == "runpod":
        return location.partition("-")[0]
    return ANYWHERE if provider in LIVE_PROVIDERS else location


def gpu_of(provider: str, item: Item) -> Gpu | None:
    """The specs of a row's GPU; None if there is none, if only a part of the GPU is rented, or if which one it is
    is not told.
    """
    if (provider, item.gpu_name) in _FORM_NOT_TOLD or not item.gpu_name or not item.gpu_memory:
        return None
    gpus = load_gpus()
    told = machine_facts(provider, item.instance_name).gpu
    # RunPod's rows are named by the GPU as NVIDIA's driver writes it.
    name = told or (item.instance_name if provider == "runpod" else item.gpu_name)
    for joined, apart in _JOINED:
        name = re.sub(joined, apart, name).strip()
    try:
        gpu = gpus.find(name, item.gpu_memory)
    except InputError:
        return None
    return gpu if gpu.has_memory(item.gpu_memory) else None


def name_of(provider: str, item: Item, gpu: Gpu | None, catalog: Catalog) -> str | None:
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
