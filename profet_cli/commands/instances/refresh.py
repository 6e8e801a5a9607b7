"""`profet instances refresh`: today's published prices, laid over the catalogue in the user's own file."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.commands.instances.add import writable_path
from profet_cli.commands.instances.published_prices import SOURCE_PREFIX, published_prices
from profet_cli.output import print_json, print_table
from profet_core.catalog import HOME_REGION, load_catalog, load_shipped
from profet_core.catalog.own import laid_over, read_own, write_own
from profet_core.catalog.refresh import PriceChange, check_believable, price_changes
from profet_core.errors import InputError
from profet_core.units import format_price


def refresh(options: argparse.Namespace) -> None:
    """Fetch, compare, refuse what is not believable, write, and say what changed."""
    path, catalog, shipped = writable_path(), load_catalog(), load_shipped()
    published = published_prices(options.provider, options.region or [HOME_REGION])
    changes = price_changes(catalog, published, source_prefix=SOURCE_PREFIX)
    if not changes:
        raise InputError(f"{options.provider} lists none of the catalogue's instances there: nothing was changed.")
    if not options.force:
        check_believable(changes)
    if not options.dry_run:
        new = [change.offer for change in changes if not change.kept]
        write_own(path, laid_over(read_own(path, shipped), new), shipped)
    listed = {change.offer.name for change in changes}
    missing = [name for name in catalog if name not in listed]
    if options.format == "json":
        print_json(
            {
                "file": str(path),
                "written": not options.dry_run,
                "changes": [_document(change) for change in changes],
                "not_listed": missing,
            }
        )
        return
    print_table(("instance", "region", "market", "before", "now", "change"), [_cells(change) for change in changes])
    if missing:
        print(f"not listed there: {', '.join(missing)}")
    print(f"nothing was written (--dry-run); it would be in {path}" if options.dry_run else f"written to {path}")


def _document(change: PriceChange) -> dict[str, object]:
    return {
        "old_usd_per_hour": change.old_usd_per_hour,
        "change_percent": change.change_percent,
        "kept": change.kept,
        **asdict(change.offer),
    }


def _cells(change: PriceChange) -> tuple[str, ...]:
    offer, old = change.offer, change.old_usd_per_hour
    if change.kept:
        said = "yours is kept"
    elif old is None:
        said = "new"
    else:
        said = "same" if offer.usd_per_hour == old else f"{change.change_percent:+.1f} %"
    before = "-" if old is None else format_price(old)
    return offer.name, offer.region, offer.market, before, format_price(offer.usd_per_hour), said
