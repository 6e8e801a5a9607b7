"""SkyPilot's published price lists, a CSV file for each cloud, as rows that `profet instances refresh` lays over."""

from __future__ import annotations

import csv
import io
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from profet_core.catalog import Catalog, Gpu
from profet_core.catalog.clouds import offer_name
from profet_core.errors import CatalogError

#: Where its lists are, unless this variable names another place.
BASE_URL = "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master/catalogs"
URL_VARIABLE = "PROFET_SKYPILOT_CATALOGS"
#: Versions of the lists' form, the newest first.
_FORMS = ("v9", "v8")
_SHADEFORM = "shadeform"
#: The catalog's clouds -> SkyPilot's list of them. Google's machines and GPUs are priced apart there, and Vast's market
#: is read itself.
LISTS: Mapping[str, str] = {
    **{
        cloud: cloud for cloud in ("aws", "jarvislabs", "lambda", "nebius", "oci", "runpod", "seeweb", "verda", "yotta")
    },
    **dict.fromkeys(("crusoe", "denvr", "hyperstack", "massedcompute", "paperspace", "scaleway"), _SHADEFORM),
}
_TIMEOUT_S, _MAX_BYTES = 30.0, 50_000_000


class ListedMachine(Struct, frozen=True):
    """A row of a list, in one market; its names are those of gpuhunt's rows. GPUs of new machines aren't named."""

    instance_name: str
    location: str
    price: float
    gpu_count: int
    spot: bool
    cpu: int | None = None
    gpu_name: str = ""
    gpu_memory: float | None = None
    flags: tuple[str, ...] = ()
    provider_data: Mapping[str, Any] = field(default_factory=dict)


class SkyPilotLists:
    """SkyPilot's lists, each fetched once."""

    prefix, pinned = "SkyPilot", ""
    errors = (OSError, ValueError)

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def items(self, provider: str) -> list[ListedMachine]:
        """Return a provider's machines with a GPU, once for each market with a price; raises `errors`."""
        name = LISTS[provider]
        if name not in self._texts:
            self._texts[name] = _fetched(name)
        rows = csv.DictReader(io.StringIO(self._texts[name]))
        if not {"InstanceType", "AcceleratorCount", "Region", "Price", "SpotPrice"} <= set(rows.fieldnames or ()):
            raise ValueError("a column is missing")
        prefix = f"{provider}_" if name == _SHADEFORM else ""
        return [item for row in rows if row["InstanceType"].startswith(prefix) for item in _items(provider, row)]

    def version(self, provider: str) -> str:
        """None: the lists are today's."""
        return ""

    def name_of(self, provider: str, item: ListedMachine, gpu: Gpu | None, catalog: Catalog) -> str | None:
        """Return the catalog's name of a machine."""
        return offer_name(provider, item.instance_name)


def _items(provider: str, row: Mapping[str, str]) -> Iterator[ListedMachine]:
    count = float(row["AcceleratorCount"] or 0)
    if count < 1 or count % 1:
        return
    # RunPod's zones are its data centers, as gpuhunt lists them.
    location = row["AvailabilityZone"] if provider == "runpod" else row["Region"]
    prices = {False: row["Price"], True: "" if provider == "runpod" else row["SpotPrice"]}
    for spot, price in prices.items():
        if price and float(price):
            yield ListedMachine(row["InstanceType"], location, float(price), int(count), spot)


def _fetched(name: str) -> str:
    base = os.environ.get(URL_VARIABLE, BASE_URL).rstrip("/")
    for form in _FORMS:
        try:
            with urllib.request.urlopen(f"{base}/{form}/{name}/vms.csv", timeout=_TIMEOUT_S) as answer:
                data: bytes = answer.read(_MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            if error.code != 404 or form == _FORMS[-1]:
                raise
            continue
        if len(data) > _MAX_BYTES:
            raise CatalogError(f"SkyPilot's list of {name} has more than {_MAX_BYTES // 10**6} MB.")
        return data.decode()
    return ""
