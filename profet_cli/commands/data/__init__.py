"""`profet data`: measurements in one layout: imported, checked, merged."""

from __future__ import annotations

import argparse

from profet_cli.commands.data import checking, importing, merging
from profet_cli.parsing import OneLineParser, add_commands

#: Action -> its line in `profet data --help`.
ACTIONS = {
    "import": "turn collections, PROFET's pickles or its tables into a folder of the data layout",
    "check": "what a folder holds, what is missing for which pair of instances, what looks wrong",
    "merge": "join folders of the layout into a new one",
}
_MODULES = {"import": importing, "check": checking, "merge": merging}


def add_arguments(parser: OneLineParser) -> None:
    """The actions with their arguments; one must be chosen."""
    for name, action in add_commands(parser, ACTIONS, dest="action", required=True).items():
        _MODULES[name].add_arguments(action)


def run(options: argparse.Namespace) -> None:
    """Run the chosen action."""
    _MODULES[options.action].run(options)
