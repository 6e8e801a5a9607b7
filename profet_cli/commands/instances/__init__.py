"""`profet instances`: the catalog, the user's rows in it, and prices of today."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from profet_cli.arguments import add_fields, add_format
from profet_cli.commands.instances import custom, refresh
from profet_cli.output import print_json, print_table, print_warnings
from profet_cli.parsing import OneLineParser, add_commands
from profet_core.catalog import Instance, load_catalog, load_gpus
from profet_core.catalog.collection import NoOffersError
from profet_core.catalog.naming import price_age_years
from profet_core.catalog.own_gpus import own_gpus_path, read_own_gpus, with_offers_of
from profet_core.documents.parts import OFFERS
from profet_core.errors import ArtifactError
from profet_core.fields.questions import INSTANCES
from profet_core.units import listed_price

if TYPE_CHECKING:
    from profet_core.fields.questions import InstancesQuestion

#: Action -> its line in `profet instances --help`.
ACTIONS = {
    "list": "list the catalog (default action)",
    "add": "add a custom instance or price",
    "remove": "remove custom rows",
    "refresh": "fetch published prices into your file (needs gpuhunt and network access)",
}


def add_arguments(parser: OneLineParser) -> None:
    """The list's arguments, and the actions with theirs."""
    _add_list(parser)
    actions = add_commands(parser, ACTIONS, dest="action")
    _add_list(actions["list"], default=argparse.SUPPRESS)
    for name, declare, run_action in (
        ("add", custom.add_arguments, custom.run),
        ("remove", custom.add_remove_arguments, custom.remove),
        ("refresh", refresh.add_arguments, refresh.run),
    ):
        declare(actions[name])
        actions[name].set_defaults(run=run_action)


def _add_list(parser: argparse.ArgumentParser, **default: str) -> None:
    """Which offers; `default=argparse.SUPPRESS` after the word `list`, for it would overwrite what came before."""
    add_format(parser, **default)
    add_fields(parser, INSTANCES)


def run(options: argparse.Namespace) -> None:
    """Every instance at its usual price, or all offers of a market and region; "measured" ones can be the anchor."""
    # Numbers are for the list only, not for `add` and its like.
    from profet_cli.inputs import given_values
    from profet_core.fields.questions import InstancesQuestion

    question = InstancesQuestion(**given_values(options, INSTANCES))
    try:
        rows = _answered(question)
    except NoOffersError as error:
        rows = []
        if options.format != "json":
            print_warnings([f"{error} `profet instances add` and `refresh` add more"])
    if options.format == "json":
        print_json(OFFERS.document(rows))
        return
    print_table(
        ("instance", "cloud", "GPU", "GPUs", "$/h", "$/GPU/h", "region", "market", "date", "status", "basis"),
        [_text_row(offer, basis) for offer, basis in rows],
    )
    old = sum(bool(price_age_years(offer.as_of)) for offer, _ in rows)
    if old:
        print(f"old: {old} of these prices are more than a year old; `profet instances refresh` updates them")


def _answered(question: InstancesQuestion) -> list[tuple[Instance, str]]:
    """Offers with their basis; without readable models the catalog is listed too, which is said."""
    from profet_core.answers.questions import Context, answer_instances
    from profet_core.artifacts.models import load_models

    gpus = load_gpus()
    own = read_own_gpus(own_gpus_path(), gpus)
    catalog = load_catalog()
    try:
        known = Context(load_models(), catalog, gpus).with_own_gpus(own)
        return answer_instances(known.models, known.catalog, question)
    except ArtifactError as error:
        print_warnings([f"the basis of predictions is unknown: {error}"])
        return answer_instances(None, with_offers_of(catalog, own), question)


def _text_row(offer: Instance, basis: str) -> tuple[str, ...]:
    return (
        offer.name,
        offer.provider,
        offer.gpu,
        str(offer.gpu_count),
        listed_price(offer.usd_per_hour),
        listed_price(offer.usd_per_gpu_hour),
        offer.region,
        f"{offer.market}, own" if offer.own else offer.market,
        f"{offer.as_of}, old" if price_age_years(offer.as_of) else offer.as_of,
        offer.status,
        basis,
    )
