"""The arguments of `profet instances` and of its actions list, add, remove and refresh."""

from __future__ import annotations

import argparse

from profet_cli.output import add_format


def add_instances_arguments(command: argparse.ArgumentParser) -> None:
    """Declare them; actions are parsed by parsers of the command's own class."""
    _add_offers(command)
    actions = command.add_subparsers(dest="action", metavar="ACTION")
    listing = _action(actions, "list", "list the catalogue (as without an action)")
    _add_offers(listing, default=argparse.SUPPRESS)
    adding = _action(actions, "add", "lay an instance or a price of your own over the catalogue")
    adding.add_argument("name", metavar="NAME")
    adding.add_argument("--usd-per-hour", required=True, type=float, help="of the whole instance with all its GPUs")
    adding.add_argument("--gpu", metavar="GPU", help="such as L4; not needed for an instance of the catalogue")
    adding.add_argument("--gpu-count", type=int, metavar="N", help="default 1")
    adding.add_argument("--memory-gib", type=float, help="of one GPU; default: its data sheet's")
    adding.add_argument("--vcpus", type=int)
    adding.add_argument("--region")
    adding.add_argument("--os", help="default linux")
    adding.add_argument("--market", choices=["on-demand", "spot", "reserved", "own"], help="default on-demand")
    adding.add_argument("--as-of", metavar="DATE", help="such as 2026-06-30; default today")
    adding.add_argument("--source", help="where the price is from")
    adding.add_argument("--status", choices=["available", "retired"])
    adding.add_argument("--other-gpu", action="store_true", help="accept a GPU without a data sheet here: price only")
    removing = _action(actions, "remove", "take rows of your own away")
    removing.add_argument("name", metavar="NAME")
    removing.add_argument("--region", help="only this region's")
    removing.add_argument("--market", help="only this market's")
    refreshing = _action(actions, "refresh", "fetch published prices into your own file (needs gpuhunt and a network)")
    refreshing.add_argument("--provider", default="aws", help="default aws")
    refreshing.add_argument("--region", action="append", help="default us-east-1; may be given several times")
    refreshing.add_argument("--force", action="store_true", help="believe prices that change more than fivefold")
    refreshing.add_argument("--dry-run", action="store_true", help="only say what would change")


def _add_offers(command: argparse.ArgumentParser, default: object = None) -> None:
    # In an action's parser nothing is a default: it would overwrite what was said before the action.
    command.add_argument("--all", action="store_true", default=default, help="every offer: regions and markets")
    command.add_argument("--region", default=default, help="only offers of this region")
    command.add_argument("--market", default=default, help="only offers of this market")


def _action(actions, name: str, description: str) -> argparse.ArgumentParser:
    action = actions.add_parser(name, help=description, description=description[0].upper() + description[1:] + ".")
    add_format(action, default=argparse.SUPPRESS)
    return action
