"""The table of commands, and the dispatch: only the chosen command's module is imported."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from profet_cli.commands import Command
from profet_cli.parsing import PROGRAM, OneLineParser, add_commands
from profet_core.errors import InputError
from profet_core.version import VERSION

_DESCRIPTION = "Which cloud GPU should I train my CNN on, how long will it take, what will it cost?"

#: Command -> its line in `profet --help`; `profet_cli.commands.<command>` declares its arguments and runs it.
_EVERY = {
    "predict": "predict the step latency of a profiled network on every instance",
    "scale": "predict the latency at a size between two measured ones",
    "cost": "predict time and cost of a training on every instance",
    "advise": "recommend an instance for a training",
    "estimate": "estimate the step latency of a network from its layers, without a profile",
    "scaleout": "predict time and cost of a training on 1 to 64 GPUs",
    "manycore": "predict the training time on a many-core CPU with two published models",
    "instances": "list the catalog of GPUs and prices; add custom instances",
    "gpus": "list and add custom GPUs: specs, throughput, price",
    "inspect": "show the operations of a profile and how the models classify them",
    "convert": "reduce a trace to a profile without names of the network",
    "collect": "measure a grid of workloads on this machine's GPU",
    "profile": "record a profile of your own training script",
    "app": "serve the web app on this machine",
    "serve": "serve predict, cost, advise, estimate, scaleout and instances as JSON over HTTP",
    "data": "import, check and merge measurements",
    "train": "fit all models from the measurements",
    "validate": "measure the accuracy on held-out architectures",
}
#: Those that are installed: where only the recorder is, `profile`.
COMMANDS = {name: line for name, line in _EVERY.items() if find_spec(f"profet_cli.commands.{name}")}


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the chosen command, with its `run`."""
    if arguments and arguments[0] in _EVERY.keys() - COMMANDS.keys():
        raise InputError(
            f"Only the recorder is installed, without `{PROGRAM} {arguments[0]}`: install the whole project with "
            "`pip install .` in its folder."
        )
    # No option comes before the command, so that the first word that names one is the choice.
    chosen = next((word for word in arguments if word in COMMANDS), None)
    if chosen is None:
        return build_parser([]).parse_args(arguments)
    parse = getattr(_command(chosen), "parse_arguments", OneLineParser.parse_args)
    return parse(build_parser([chosen]), arguments)


def build_parser(commands: Iterable[str] = COMMANDS) -> OneLineParser:
    """The command line; arguments are declared for `commands`, whose modules are imported, and for no others."""
    parser = OneLineParser(prog=PROGRAM, description=_DESCRIPTION)
    parser.add_argument("-V", "--version", action="version", version=f"{PROGRAM} {VERSION}", help="print the version")
    parsers = add_commands(parser, COMMANDS, dest="command", required=True)
    for name in commands:
        command = _command(name)
        command.add_arguments(parsers[name])
        parsers[name].set_defaults(run=command.run)
    return parser


def _command(name: str) -> Command:
    return cast(Command, import_module(f"profet_cli.commands.{name}"))
