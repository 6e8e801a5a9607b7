"""The commands, of which only the chosen one's module is imported."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from profet_core.answers import ENTRIES
from profet_core.errors import nearest
from profet_profiles import VERSION
from profet_recorder.command import OneLineParser

PROGRAM = "profet"
_DESCRIPTION = "Which cloud GPU should I train my vision network on, how long will it take, what will it cost?"
#: Module -> its commands, each with its line in `profet --help`. Arguments of a command are declared by its `add_NAME`;
#: its `run_NAME` prints the result, and raises ProfetError for what the user can put right.
_EVERY = {
    "answers": {name: entry.summary for name, entry in ENTRIES.items()},
    "manycore": {"manycore": "predict the training time on a many-core CPU with two published models"},
    "instances": {
        "instances": "list the catalog of GPUs and prices; add custom instances",
        "gpus": "list and add custom GPUs: specs, throughput, price",
    },
    "inspect": {
        "inspect": "show the operations of a profile and how the models classify them",
        "convert": "reduce a trace to a profile without names of the network",
    },
    "collect": {
        "collect": "measure a grid of workloads on this machine's GPU",
        "data": "import, check and merge measurements",
    },
    "profile": {"profile": "record a profile of your own training script"},
    "serve": {
        "app": "serve the web app on this machine",
        "serve": "serve predict, cost, advise, estimate, scaleout and instances as JSON over HTTP",
    },
    "train": {
        "train": "fit all models from the measurements",
        "validate": "measure the accuracy on held-out architectures",
    },
}
COMMANDS = {name: line for commands in _EVERY.values() for name, line in commands.items()}


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the options of the chosen command, with its `run`; only its module is imported."""
    parser = OneLineParser(prog=PROGRAM, description=_DESCRIPTION)
    parser.add_argument("-V", "--version", action="version", version=f"{PROGRAM} {VERSION}", help="print the version")
    # No option comes before the command.
    chosen = {name: COMMANDS[name] for name in arguments[:1] if name in COMMANDS}
    if arguments and not chosen and not arguments[0].startswith("-"):
        parser.error(f"unknown command {arguments[0][:60]!a}: choose from {nearest(arguments[0], COMMANDS)}")
    parsers = add_commands(parser, chosen or COMMANDS, dest="command", required=True)
    parse = OneLineParser.parse_args
    for name in chosen:
        module = _module(name)
        add = getattr(module, f"add_{name}", None) or module.add_arguments
        add(parsers[name])
        parsers[name].set_defaults(run=getattr(module, f"run_{name}", None) or module.run)
        # `profile` has a command line that is not all its own.
        parse = getattr(module, "parse_arguments", parse)
    return parse(parser, arguments)


def _module(command: str) -> Any:
    # The recorder is also installed alone.
    if command == "profile":
        return import_module("profet_recorder.command")
    return import_module(f"profet_cli.{next(module for module, names in _EVERY.items() if command in names)}")


def add_commands(
    parser: OneLineParser, descriptions: Mapping[str, str], *, dest: str, required: bool = False
) -> dict[str, OneLineParser]:
    """Declare commands, or actions of a command; returns the parser of each by its name.

    Parameters
    ----------
    descriptions : name -> its line in the list of commands, which is also the sentence above its own help.
    dest : attribute of the options that holds the chosen name.
    """
    commands = parser.add_subparsers(
        dest=dest, required=required, metavar=dest.upper(), parser_class=OneLineParser, prog=parser.prog
    )
    return {
        name: commands.add_parser(name, help=description, description=f"{description[0].upper()}{description[1:]}.")
        for name, description in descriptions.items()
    }
