"""`profet instances refresh`: today's published prices, laid over the catalog in the user's file."""

from __future__ import annotations

import argparse

from profet_cli.arguments import add_format
from profet_cli.commands.instances.published_prices import (
    ANYWHERE,
    LIVE_PROVIDERS,
    PROVIDERS,
    SOURCE_PREFIX,
    PriceLists,
    published_prices,
)
from profet_cli.output import cell, print_json, print_table, print_warnings
from profet_core.catalog import HOME_REGION, Catalog, load_catalog, load_shipped, own_path
from profet_core.catalog.clouds import (
    PriceChange,
    PublishedPrice,
    check_believable,
    price_changes,
    usable_prices,
)
from profet_core.catalog.own import OWN_VARIABLE, changing_own, checked_text, laid_over, read_own, writable, write_own
from profet_core.documents.parts import OFFER
from profet_core.errors import InputError, ProfetError
from profet_core.fields.field import names
from profet_core.units import listed_price

#: Refreshed where no cloud is named.
DEFAULT_CLOUD = "aws"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which list, and whether to write."""
    add_format(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "--provider",
        type=names,
        metavar="A,B",
        default=argparse.SUPPRESS,
        help=f"{', '.join(PROVIDERS)}, or all (default: {DEFAULT_CLOUD})",
    )
    parser.add_argument(
        "--region", action="append", help="region (default: where the catalog has offers); can be repeated"
    )
    parser.add_argument("--new", action="store_true", help="also add new offers of known GPUs")
    parser.add_argument("--force", action="store_true", help="accept prices that change more than fivefold")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")


def run(options: argparse.Namespace) -> None:
    """Fetch, compare, refuse what is not believable, write, and print what changed."""
    path, catalog, shipped = writable(own_path(), OWN_VARIABLE), load_catalog(), load_shipped()
    published, answered = _published(options, catalog)
    changes = price_changes(catalog, published, source_prefix=SOURCE_PREFIX, with_new=options.new)
    if not changes:
        raise InputError(f"{', '.join(_clouds(options))} lists no catalog instances there: nothing was changed.")
    if not options.force:
        check_believable(changes)
    new = [change.offer for change in changes if not change.kept]
    if options.dry_run:
        checked_text(laid_over(read_own(path, shipped), new), shipped)
    else:
        with changing_own(path):
            write_own(path, laid_over(read_own(path, shipped), new), shipped)
    listed = {change.offer.name for change in changes}
    not_listed = [name for name, row in catalog.items() if name not in listed and row.provider in answered]
    known_gpu = {price.instance for price in published if price.gpu is not None and price.usd_per_hour}
    more = 0 if options.new else len(known_gpu - catalog.keys())
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
                        **OFFER.document(change.offer),
                    }
                    for change in changes
                ],
                "not_listed": not_listed,
            }
        )
        return
    print_table(("instance", "region", "market", "before", "now", "change"), [_text_row(change) for change in changes])
    if not_listed:
        print(f"not listed there: {', '.join(not_listed)}")
    if more:
        print(f"{more} more {'offer has' if more == 1 else 'offers have'} a known GPU: --new adds them")
    print(f"nothing was written (--dry-run); it would be in {path}" if options.dry_run else f"written to {path}")


def _published(options: argparse.Namespace, catalog: Catalog) -> tuple[list[PublishedPrice], list[str]]:
    """The prices of every cloud asked for, and these clouds; of several, an unavailable one is reported and skipped."""
    found: list[PublishedPrice] = []
    answered: list[str] = []
    problems: list[ProfetError] = []
    clouds, lists, damaged = _clouds(options), PriceLists(), 0
    for name in clouds:
        try:
            listed = published_prices(lists, name, options.region or _usual_regions(catalog, name), catalog)
            usable = usable_prices(catalog, listed)
            damaged += len(listed) - len(usable)
            found += usable
            answered.append(name)
        except ProfetError as problem:
            problems.append(problem)
    if len(problems) == len(clouds):
        raise problems[0]
    print_warnings(str(problem).replace("nothing was changed", "it is skipped") for problem in problems)
    if damaged:
        print_warnings([f"{damaged} damaged {'row is' if damaged == 1 else 'rows are'} skipped"])
    return found, answered


def _clouds(options: argparse.Namespace) -> list[str]:
    """The clouds asked for, as the catalog calls them; raises InputError for an unknown one."""
    given = [name.lower() for name in getattr(options, "provider", ())] or [DEFAULT_CLOUD]
    if "all" in given:
        return list(PROVIDERS)
    ours = {gpuhunt: name for name, gpuhunt in PROVIDERS.items()}
    clouds = list(dict.fromkeys(ours.get(name, name) for name in given))
    if unknown := [name for name in clouds if name not in PROVIDERS]:
        raise InputError(f"Unknown cloud {unknown[0][:60]!a}: choose from {', '.join(PROVIDERS)}, or all.")
    return clouds


def _usual_regions(catalog: Catalog, provider: str) -> list[str]:
    """Where the catalog has offers of a cloud."""
    if provider in LIVE_PROVIDERS:
        return [ANYWHERE]
    regions = {offer.region for offer in catalog.all_offers if offer.provider == provider}
    return sorted(regions) or [HOME_REGION]


def _text_row(change: PriceChange) -> tuple[str, ...]:
    offer = change.offer
    before, now = cell(change.old_usd_per_hour, listed_price), listed_price(offer.usd_per_hour)
    if change.kept:
        text = "yours is kept"
    elif change.change_percent is None:
        text = "new"
    else:
        text = "same" if offer.usd_per_hour == change.old_usd_per_hour else f"{change.change_percent:+.1f}%"
    return offer.name, offer.region, offer.market, before, now, text
