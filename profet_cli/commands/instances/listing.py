"""`profet instances`: the catalogue, the user's own rows in it, and prices of today."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.output import print_json, print_table, print_warnings
from profet_core.catalog import Catalog, Instance, load_catalog
from profet_core.errors import ArtifactError
from profet_core.latency import Basis
from profet_core.units import format_price


def run(options: argparse.Namespace) -> None:
    """List, or do what the second word says."""
    if options.action == "add":
        from profet_cli.commands.instances.add import add

        add(options)
    elif options.action == "remove":
        from profet_cli.commands.instances.add import remove

        remove(options)
    elif options.action == "refresh":
        from profet_cli.commands.instances.refresh import refresh

        refresh(options)
    else:
        _list(options)


def _list(options: argparse.Namespace) -> None:
    """Every instance at its usual price, or all offers that were asked for; "measured" ones can be the anchor."""
    catalog = load_catalog()
    basis_of = _basis(catalog)
    rows = [(offer, basis_of.get(offer.name, "price only")) for offer in _wanted(catalog, options)]
    if options.format == "json":
        print_json([{**asdict(offer), "basis": basis} for offer, basis in rows])
        return
    if not rows:
        print_warnings(["the catalogue has no such offers; `profet instances add` and `refresh` bring some"])
    print_table(
        ("instance", "GPU", "GPUs", "$ an hour", "region", "market", "as of", "status", "basis"),
        [
            (
                offer.name,
                offer.gpu,
                str(offer.gpu_count),
                format_price(offer.usd_per_hour),
                offer.region,
                f"{offer.market}, own" if offer.own else offer.market,
                offer.as_of,
                offer.status,
                basis,
            )
            for offer, basis in rows
        ],
    )


def _wanted(catalog: Catalog, options: argparse.Namespace) -> list[Instance]:
    market, region = options.market, options.region
    if not (options.all or market or region):
        return list(catalog.values())
    return [row for row in catalog.all_offers if market in (None, row.market) and region in (None, row.region)]


def _basis(catalog: Catalog) -> dict[str, Basis]:
    """What a prediction for each instance rests on; without models every instance is a price only."""
    from profet_core.artifacts.models import load_models
    from profet_core.prediction.unprofiled import basis_by_instance

    try:
        return basis_by_instance(load_models(), catalog)
    except ArtifactError:
        return {}
