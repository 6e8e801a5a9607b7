"""`profet data`: measurements in one layout: imported, checked, merged."""

from __future__ import annotations

import argparse

from profet_cli.commands.data import checking, importing, merging
from profet_cli.parsing import OneLineParser, add_commands

#: Action -> its line in `profet data --help`.
ACTIONS = {
    "import": "convert collections, PROFET pickles or tables to a folder in the data layout",
    "check": "show a folder's contents, missing cells per pair of instances, and anomalies",
    "merge": "merge folders in the data layout into a new one",
}
_MODULES = {"import": importing, "check": checking, "merge": merging}


def add_arguments(parser: OneLineParser) -> None:
    """The actions with their arguments; one must be chosen."""
    for name, action in add_commands(parser, ACTIONS, dest="action", required=True).items():
        _MODULES[name].add_arguments(action)


def run(options: argparse.Namespace) -> None:
    """Run the chosen action."""
    _MODULES[options.action].run(options)
