"""`profet instances` and `profet instances list`: the catalogue, with the basis of each instance's prediction."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from profet_cli.arguments import add_format
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.catalog import Instance, load_catalog, load_gpus
from profet_core.catalog.own_gpus import with_offers_of
from profet_core.documents.instances import instances_document
from profet_core.errors import ArtifactError
from profet_core.units import listed_price

if TYPE_CHECKING:
    from profet_core.answers.questions import InstancesQuestion


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
    # Numbers are for the list only, not for `add` and its like.
    from profet_core.answers.questions import InstancesQuestion

    question = InstancesQuestion(all=bool(options.all), region=options.region, market=options.market)
    rows = _answered(question)
    if options.format == "json":
        print_json(instances_document(rows))
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


def _answered(question: InstancesQuestion) -> list[tuple[Instance, str]]:
    """Offers with their basis; without readable models the catalogue is listed too, which is said."""
    from profet_cli.inputs import own_gpus
    from profet_core.answers.instances import answer_instances
    from profet_core.answers.questions import Knowledge
    from profet_core.artifacts.models import load_models

    own, gpus = own_gpus(), load_gpus()
    catalog = load_catalog()
    try:
        known = Knowledge(load_models(), catalog, gpus).with_own_gpus(own)
        return answer_instances(known.models, known.catalog, question)
    except ArtifactError as error:
        print_warnings([f"nothing is known of what can be predicted: {error}"])
        return answer_instances(None, with_offers_of(catalog, own), question)


def _text_row(offer: Instance, basis: str) -> tuple[str, ...]:
    return (
        offer.name,
        offer.gpu,
        str(offer.gpu_count),
        listed_price(offer.usd_per_hour),
        offer.region,
        f"{offer.market}, own" if offer.own else offer.market,
        offer.as_of,
        offer.status,
        basis,
    )
