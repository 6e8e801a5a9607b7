"""`profet instances refresh`: published prices of gpuhunt or SkyPilot, laid over the catalog in the user's file."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import socket
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from msgspec.structs import asdict, replace

from profet_cli.options import add_format
from profet_cli.output import INSTANCE, Column, print_json, print_rows, print_warnings
from profet_cli.skypilot_prices import LISTS, SkyPilotLists
from profet_core.answers.context import OfferDocument
from profet_core.catalog import HOME_REGION, Catalog, Gpu, custom_path, load_catalog, load_gpus, load_shipped
from profet_core.catalog.clouds import (
    ANYWHERE,
    MARKETPLACES,
    PriceChange,
    check_believable,
    machine_facts,
    market_of,
    offer_name,
    price_changes,
)
from profet_core.catalog.custom_instances import (
    CUSTOM_VARIABLE,
    changing_custom,
    checked_text,
    read_custom_instances,
    with_updates,
    writable,
    write_custom_instances,
)
from profet_core.catalog.instance import Instance
from profet_core.catalog.tables import MAX_NAME_LENGTH
from profet_core.errors import CatalogError, InputError, ProfetError, nearest
from profet_core.questions import names
from profet_profiles.units import listed_price, positive_number

#: The catalog's clouds -> gpuhunt's names of them.
PROVIDERS: Mapping[str, str] = {
    "aws": "aws",
    "azure": "azure",
    "gcp": "gcp",
    "lambda": "lambdalabs",
    "nebius": "nebius",
    "oci": "oci",
    "runpod": "runpod",
    "vast": "vastai",
    "verda": "verda",
    "vultr": "vultr",
}
#: Read from the market or cloud itself; of the others lists are published.
LIVE_PROVIDERS = frozenset({"vast", "vultr"})
GPUHUNT, SKYPILOT = "gpuhunt", "skypilot"
#: How sources of refreshed rows begin.
SOURCE_PREFIXES = ("gpuhunt", SkyPilotLists.prefix)
#: All clouds that either source lists.
REFRESHED = tuple(sorted({*PROVIDERS, *LISTS}))
#: A folder of CSV files that gpuhunt reads instead of its published ones.
FOLDER_VARIABLE = "GPUHUNT_CATALOG_DIR"
#: gpuhunt's names without spaces: 'RTX4090', 'RTX6000Ada', 'H100NVL'.
_JOINED = ((r"^RTX(\d{4})(Ti)?$", r"RTX \1 \2"), (r"^RTX(\d{4})Ada$", r"RTX \1 Ada"), (r"^(H\d+)NVL$", r"\1 NVL"))
#: GPUs that gpuhunt calls the same in either form; the market rents out both.
_FORM_NOT_TOLD = {("vast", "A100"), ("vast", "H100")}
_TIMEOUT_S = 30.0
#: Refreshed where no cloud is named.
DEFAULT_CLOUD = "aws"


def add_refresh(parser: argparse.ArgumentParser) -> None:
    """Which list, and whether to write."""
    add_format(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "--provider",
        metavar="A,B",
        default=argparse.SUPPRESS,
        help=f"{', '.join(REFRESHED)}, or all (default: {DEFAULT_CLOUD})",
    )
    parser.add_argument(
        "--source",
        choices=(GPUHUNT, SKYPILOT),
        help="whose lists; SkyPilot's have no new offers (default: gpuhunt's where they have the cloud)",
    )
    parser.add_argument(
        "--version", metavar="VERSION", help="version of gpuhunt's lists, such as 20260818-42 (default: the newest)"
    )
    parser.add_argument(
        "--region", action="append", help="region (default: where the catalog has offers); can be repeated"
    )
    parser.add_argument("--new", action="store_true", help="also add new offers of known GPUs")
    parser.add_argument("--force", action="store_true", help="accept prices that change more than fivefold")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")


def run_refresh(options: argparse.Namespace) -> None:
    """Fetch, compare, refuse what is not believable, write, and print what changed."""
    path, catalog, shipped = writable(custom_path(), CUSTOM_VARIABLE), load_catalog(), load_shipped()
    published, answered = _published(options, catalog)
    changes = price_changes(catalog, published, source_prefix=SOURCE_PREFIXES, with_new=options.new)
    if not changes:
        raise InputError(f"{', '.join(_clouds(options))} lists no catalog instances there: nothing was changed.")
    if not options.force:
        check_believable(changes)
    new = [change.offer for change in changes if not change.kept]
    if options.dry_run:
        checked_text(with_updates(read_custom_instances(path, shipped), new), shipped)
    else:
        with changing_custom(path):
            write_custom_instances(path, with_updates(read_custom_instances(path, shipped), new), shipped)
    listed = {change.offer.name for change in changes}
    not_listed = [name for name, row in catalog.items() if name not in listed and row.provider in answered]
    more = 0 if options.new else len({offer.name for offer in published} - catalog.keys())
    if options.format == "json":
        print_json(
            {
                "file": str(path),
                "written": not options.dry_run,
                "changes": [
                    {
                        "old_usd_per_hour": change.old_usd_per_hour,
                        "change_percent": change.change_percent,
                        "kept": change.kept,
                        **asdict(OfferDocument.of(change.offer)),
                    }
                    for change in changes
                ],
                "not_listed": not_listed,
            }
        )
        return
    columns: list[Column] = [
        INSTANCE,
        ("region", "offer.region"),
        ("market", "offer.market"),
        ("before", "old_usd_per_hour", listed_price),
        ("now", "offer.usd_per_hour", listed_price),
        ("change", _change_words),
    ]
    print_rows(changes, columns)
    if not_listed:
        print(f"not listed there: {', '.join(not_listed)}")
    if more:
        print(f"{more} more {'offer has' if more == 1 else 'offers have'} a known GPU: --new adds them")
    print(f"nothing was written (--dry-run); it would be in {path}" if options.dry_run else f"written to {path}")


def _change_words(change: PriceChange) -> str:
    if change.kept or change.change_percent is None:
        return "yours is kept" if change.kept else "new"
    return "same" if change.offer.usd_per_hour == change.old_usd_per_hour else f"{change.change_percent:+.1f}%"


def _published(options: argparse.Namespace, catalog: Catalog) -> tuple[list[Instance], list[str]]:
    """Fetch the offers of every cloud asked for, and these clouds; of several, an unavailable one is skipped."""
    offers: list[Instance] = []
    answered: list[str] = []
    problems: dict[str, ProfetError] = {}
    clouds, damaged = _clouds(options), 0
    made: dict[str, PriceLists | SkyPilotLists] = {}
    for number, name in enumerate(clouds):
        _show_progress(number, clouds)
        try:
            source = _source(options, name)
            if source not in made:
                made[source] = SkyPilotLists() if source == SKYPILOT else PriceLists(options.version)
            lists = made[source]
            # Where the catalog has offers of the cloud; one that is wherever its market finds it has no region.
            listed = sorted({offer.region for offer in catalog.all_offers if offer.provider == name})
            usual = [ANYWHERE] if name in MARKETPLACES else listed or [HOME_REGION]
            usable, skipped = published_offers(lists, name, options.region or usual, catalog)
            damaged += skipped
            offers += usable
            answered.append(name)
        except ProfetError as problem:
            problems[name] = problem
    _show_progress(len(clouds), clouds)
    if len(problems) == len(clouds):
        raise problems[clouds[0]]
    print_warnings(f"{name} is skipped: {problem}" for name, problem in problems.items())
    if damaged:
        print_warnings([f"{damaged} damaged {'row is' if damaged == 1 else 'rows are'} skipped"])
    return offers, answered


def _clouds(options: argparse.Namespace) -> list[str]:
    """Return the clouds asked for, as the catalog calls them; raises InputError for an unknown one."""
    given = [name.lower() for name in names(getattr(options, "provider", ""))] or [DEFAULT_CLOUD]
    if "all" in given:
        return list(REFRESHED)
    ours = {gpuhunt: name for name, gpuhunt in PROVIDERS.items()}
    clouds = list(dict.fromkeys(ours.get(name, name) for name in given))
    if unknown := [name for name in clouds if name not in REFRESHED]:
        raise InputError(f"Unknown cloud {unknown[0][:60]!a}: choose from {nearest(unknown[0], REFRESHED)}, or all.")
    return clouds


def _source(options: argparse.Namespace, cloud: str) -> str:
    """Whose list of a cloud is read; raises InputError if the source asked for has none."""
    source: str = options.source or (GPUHUNT if cloud in PROVIDERS else SKYPILOT)
    if cloud not in (LISTS if source == SKYPILOT else PROVIDERS):
        raise InputError(f"{source} lists no {cloud}: leave --source out.")
    if options.version and source == SKYPILOT:
        raise InputError(f"--version is of gpuhunt's lists, and {cloud} is read from SkyPilot's.")
    return source


def _show_progress(done: int, clouds: Sequence[str]) -> None:
    """Show a bar on a terminal's stderr while several clouds are fetched."""
    if len(clouds) > 1 and sys.stderr.isatty():
        bar = "#" * round(20 * done / len(clouds))
        name = clouds[done] if done < len(clouds) else ""
        print(f"\r[{bar:<20}] {done}/{len(clouds)} {name:<14}", end="" if name else "\n", file=sys.stderr, flush=True)


class PriceLists:
    """gpuhunt's lists of every provider, fetched once; raises InputError if gpuhunt is not installed.

    `pinned` : their version; "" or None: the newest.
    """

    prefix = "gpuhunt"

    def __init__(self, pinned: str | None = None) -> None:
        try:
            import gpuhunt
        except ImportError:
            raise InputError("Published prices need gpuhunt: pip install gpuhunt.") from None
        self.errors = (OSError, ValueError, gpuhunt.GPUHuntError)
        self.catalog = gpuhunt.Catalog(auto_reload=False)
        self._is_loaded = FOLDER_VARIABLE in os.environ
        self.pinned = pinned or ""

    def items(self, provider: str) -> list[Any]:
        """Return a provider's `CatalogItem`s with a GPU, from its list or from the market itself; raises `errors`."""
        if provider in LIVE_PROVIDERS:
            self.catalog.add_provider(_live_provider(provider))
        elif not self._is_loaded:
            self.catalog.load(version=self.pinned or None)
            self._is_loaded = True
        return self.catalog.query(provider=PROVIDERS[provider], min_gpu_count=1)

    def version(self, provider: str) -> str:
        """Of a provider's list; empty if it has none."""
        return getattr(self.catalog.catalog.get(PROVIDERS[provider]), "version", "")

    def name_of(self, provider: str, item: Any, gpu: Gpu | None, catalog: Catalog) -> str | None:
        """Return the name of a row's offer in the catalog, or the one it would have; None if that is unknown."""
        return _name_of(provider, item, gpu, catalog)


def published_offers(
    lists: PriceLists | SkyPilotLists, provider: str, regions: Collection[str], catalog: Catalog
) -> tuple[list[Instance], int]:
    """On-demand and spot offers that a provider of `PROVIDERS` has in the regions, and how many rows are damaged.

    They are the instances of `catalog`, and others that it could hold: with specs of their GPU and a price.
    Raises InputError if there is none in the regions, CatalogError if the list can't be fetched or is damaged.
    """
    items: list[Any] = []
    # What the errors say is of the library's insides.
    with _quiet_and_impatient(), contextlib.suppress(*lists.errors):
        items = lists.items(provider)
    if not items:
        of = f" of version {lists.pinned}" if lists.pinned else ""
        raise CatalogError(f"The price list of {provider}{of} can't be fetched: check the network or try again later.")
    offers = []
    for item in items:
        # Nothing that is part of a cluster, or has to be reserved. RunPod's community cloud has countries; data centers
        # are "EU-RO-1".
        in_cluster = item.provider_data.get("is_dws_calendar_mode") or "runpod-cluster" in item.flags
        if not in_cluster and (provider != "runpod" or "-" in item.location):
            offers.append((_region_of(provider, item.location), item))
    wanted = [(region, item) for region, item in offers if region in regions]
    if not wanted:
        (first, *_), there = sorted(regions), sorted({region for region, _ in offers})
        raise InputError(f"{provider} lists no GPU instance in {first}: choose from {nearest(first, there)}.")
    version = lists.version(provider)
    # The day a list was made, of a version such as 20260601-1234.
    day = re.match(r"(20\d\d)-?(\d\d)-?(\d\d)", version)
    dated = {
        "as_of": "-".join(day.groups()) if day else date.today().isoformat(),
        "source": f"{lists.prefix} {provider} {version}".strip(),
    }
    usable: list[Instance] = []
    damaged = 0
    for region, item in wanted:
        gpu, facts = _gpu_of(provider, item), machine_facts(provider, item.instance_name)
        name = lists.name_of(provider, item, gpu, catalog)
        price: Any = {"region": region, "os": "linux", "usd_per_hour": item.price, "custom": True, **dated}
        price["market"] = market_of(provider, spot=item.spot)
        if name is not None and name in catalog:
            try:
                positive_number(f"The published price of {name}", item.price)
            except InputError as error:
                raise CatalogError(f"{error} The price list of {provider} is damaged.") from None
            usable.append(replace(catalog[name], gpu_count=item.gpu_count, **price))
        elif name is not None and gpu is not None and item.price:
            # Some lists write 0 for a missing price.
            try:
                if not name.isprintable() or len(name) > MAX_NAME_LENGTH:
                    raise InputError(f"{name!a} is no name.")
                offer = Instance(
                    name=name,
                    gpu=gpu.name,
                    gpu_count=item.gpu_count,
                    gpu_memory_gib=gpu.memory_gib,
                    vcpus=item.cpu or None,
                    status="retired" if facts.retired else "available",
                    provider=provider,
                    host=facts.host,
                    **price,
                )
                usable.append(offer)
            except InputError:
                damaged += 1
    return usable, damaged


def _region_of(provider: str, location: str) -> str:
    """Return the catalog's region of a location: of Google's zones the region, of RunPod's data centers the country."""
    if provider == "gcp":
        return re.sub(r"-[a-z]$", "", location)
    if provider == "runpod":
        return location.partition("-")[0]
    return ANYWHERE if provider in MARKETPLACES else location


def _gpu_of(provider: str, item: Any) -> Gpu | None:
    """Return the specs of a row's GPU; None without one, if only a part is rented, or of an unknown form factor."""
    if (provider, item.gpu_name) in _FORM_NOT_TOLD or not item.gpu_name or not item.gpu_memory:
        return None
    stated = machine_facts(provider, item.instance_name).gpu
    # RunPod's rows are named by the GPU as NVIDIA's driver writes it.
    name = stated or (item.instance_name if provider == "runpod" else item.gpu_name)
    for joined, apart in _JOINED:
        name = re.sub(joined, apart, name).strip()
    try:
        gpu = load_gpus().find(name, item.gpu_memory)
    except InputError:
        return None
    return gpu if gpu.has_memory(item.gpu_memory) else None


def _name_of(provider: str, item: Any, gpu: Gpu | None, catalog: Catalog) -> str | None:
    """Return the name of a row's offer in the catalog, or the one it would have; None if that is unknown."""
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
    same = next((row for row in catalog.values() if (row.provider, row.gpu, row.gpu_count) == machine), None)
    return same.name if same else f"{provider}/{item.gpu_count}x-{gpu.name.replace(' ', '_')}"


def _live_provider(provider: str) -> Any:
    if provider == "vultr":
        from gpuhunt.providers.vultr import VultrProvider

        # What a key shows besides is one user's.
        return VultrProvider()
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
