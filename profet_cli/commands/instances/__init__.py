"""`profet instances`: the catalog, the user's rows in it, and prices of today."""

from __future__ import annotations

import argparse

from profet_cli.commands.instances import add, listing, refresh, remove
from profet_cli.parsing import OneLineParser, add_commands

#: Action -> its line in `profet instances --help`.
ACTIONS = {
    "list": "list the catalog (default action)",
    "add": "add a custom instance or price",
    "remove": "remove custom rows",
    "refresh": "fetch published prices into your file (needs gpuhunt and network access)",
}

#: Without an action.
run = listing.run


def add_arguments(parser: OneLineParser) -> None:
    """The list's arguments, and the actions with theirs; an action is a `Command` too."""
    listing.add_arguments(parser)
    actions = add_commands(parser, ACTIONS, dest="action")
    listing.add_arguments(actions["list"], default=argparse.SUPPRESS)
    add.add_arguments(actions["add"])
    remove.add_arguments(actions["remove"])
    refresh.add_arguments(actions["refresh"])
    for name, module in (("add", add), ("remove", remove), ("refresh", refresh)):
        actions[name].set_defaults(run=module.run)
