"""The table of commands, and the dispatch: only the chosen command's module is imported."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from profet_cli.commands import Command
from profet_cli.parsing import PROGRAM, OneLineParser, add_commands

_DESCRIPTION = "Which cloud GPU should I train my CNN on, how long will it take, what will it cost?"

#: Command -> its line in `profet --help`; `profet_cli.commands.<command>` declares its arguments and runs it.
_EVERY = {
    "predict": "step latency of a profiled network on every instance",
    "scale": "latency at a size between two known ones",
    "cost": "time and cost per epoch and per training on every instance",
    "advise": "which instance to rent for a training, and how sure that is",
    "estimate": "step latency of a network without a profile, from its layers",
    "scaleout": "a training on 1 to 64 GPUs: time, cost, and where more stop paying",
    "manycore": "a training on a many-core processor over threads, by two published models",
    "instances": "the catalogue: GPUs, prices, dates; rows of your own",
    "gpus": "GPUs of your own: data sheet, throughput, price",
    "inspect": "what a profile holds and how the models see it",
    "convert": "reduce a trace to a profile that names nothing of the network",
    "collect": "measure a grid of workloads on the GPU at hand",
    "profile": "record a step of your own training script as a profile",
    "serve": "the JSON of predict, cost, advise and instances over HTTP",
    "data": "measurements in one layout: import, check, merge",
    "train": "fit all models from the measurements",
    "validate": "accuracy on architectures the models have not seen",
}
#: Those that are installed: where only the recorder is, `profile`.
COMMANDS = {name: line for name, line in _EVERY.items() if find_spec(f"profet_cli.commands.{name}")}


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the chosen command, with its `run`."""
    # No option comes before the command, so that the first word that names one is the choice.
    chosen = next((word for word in arguments if word in COMMANDS), None)
    if chosen is None:
        return build_parser([]).parse_args(arguments)
    parse = getattr(_command(chosen), "parse_arguments", OneLineParser.parse_args)
    return parse(build_parser([chosen]), arguments)


def build_parser(commands: Iterable[str] = COMMANDS) -> OneLineParser:
    """The command line; arguments are declared for `commands`, whose modules are imported, and for no others."""
    parser = OneLineParser(prog=PROGRAM, description=_DESCRIPTION)
    parsers = add_commands(parser, COMMANDS, dest="command", required=True)
    for name in commands:
        command = _command(name)
        command.add_arguments(parsers[name])
        parsers[name].set_defaults(run=command.run)
    return parser


def _command(name: str) -> Command:
    return cast(Command, import_module(f"profet_cli.commands.{name}"))
