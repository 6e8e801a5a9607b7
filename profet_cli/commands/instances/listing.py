"""`profet instances` and `profet instances list`: the catalogue, with the basis of each instance's prediction."""

from __future__ import annotations

import argparse

from profet_cli.arguments import add_format
from profet_cli.documents import offer_document
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.catalog import Catalog, Instance, load_catalog
from profet_core.errors import ArtifactError
from profet_core.latency import Basis
from profet_core.units import format_price

#: The basis of an instance that nothing is predicted for.
PRICE_ONLY = "price only"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which offers, before any action."""
    add_format(parser)
    _add_offers(parser, default=None)


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    """The same after the word `list`: nothing is a default there, for it would overwrite what came before the word."""
    add_format(parser, default=argparse.SUPPRESS)
    _add_offers(parser, default=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> None:
    """Every instance at its usual price, or all offers of a market and region; "measured" ones can be the anchor."""
    catalog = load_catalog()
    basis_of = _basis(catalog)
    rows = [(offer, basis_of.get(offer.name, PRICE_ONLY)) for offer in _wanted(catalog, options)]
    if options.format == "json":
        print_json([{**offer_document(offer), "basis": basis} for offer, basis in rows])
        return
    if not rows:
        print_warnings(["the catalogue has no such offers; `profet instances add` and `refresh` bring some"])
    print_table(
        ("instance", "GPU", "GPUs", "$ an hour", "region", "market", "as of", "status", "basis"),
        [_text_row(offer, basis) for offer, basis in rows],
    )


def _add_offers(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument("--all", action="store_true", default=default, help="every offer: regions and markets")
    parser.add_argument("--region", default=default, help="only offers of this region")
    parser.add_argument("--market", default=default, help="only offers of this market")


def _wanted(catalog: Catalog, options: argparse.Namespace) -> list[Instance]:
    market, region = options.market, options.region
    if not (options.all or market or region):
        return list(catalog.values())
    return [row for row in catalog.all_offers if market in (None, row.market) and region in (None, row.region)]


def _basis(catalog: Catalog) -> dict[str, Basis]:
    """Basis of the prediction for each instance that has one; without models none has, which is said."""
    from profet_core.artifacts.models import load_models
    from profet_core.prediction.unprofiled import basis_by_instance

    try:
        return basis_by_instance(load_models(), catalog)
    except ArtifactError as error:
        print_warnings([f"nothing is known of what can be predicted: {error}"])
        return {}


def _text_row(offer: Instance, basis: str) -> tuple[str, ...]:
    return (
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
