"""The arguments of `profet profile`: its own before `--`, the script's after it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from profet_core.errors import InputError

COMMAND = "profile"
_SEPARATOR = "--"


def add_profile_arguments(command: argparse.ArgumentParser) -> None:
    """Declare them; all but the output's name are fields of `RecordPlan` or arguments of `record_script`."""
    command.usage = f"{command.prog} [options] SCRIPT [-- ARGUMENT ...]"
    command.add_argument("script", metavar="SCRIPT", help="the Python file that trains; its own arguments follow `--`")
    command.add_argument("-m", "--module", action="store_true", help="SCRIPT names a module, as in python -m")
    command.add_argument("-o", "--output", default="profile.json", metavar="FILE", help="default: profile.json")
    command.add_argument("--force", action="store_true", help="overwrite FILE")
    command.add_argument("--warm-up", type=int, default=5, metavar="N", help="steps before anything is measured (5)")
    command.add_argument("--timed", type=int, default=10, metavar="N", help="steps whose median is the latency (10)")
    command.add_argument("--profiled", type=int, default=1, metavar="N", help="steps in the profile, averaged (1)")
    command.add_argument("--batch-size", type=int, metavar="N", help="instead of what the data show")
    command.add_argument("--pixels", type=int, metavar="N", help="instead of what the data show")
    command.add_argument("--parameters", type=int, metavar="N", help="instead of what the network shows")
    command.add_argument("--precision", metavar="NAME", help="fp32, tf32, mixed fp16 ...; instead of what is detected")
    command.add_argument("--keep-running", action="store_true", help="let the script go on after the recording")
    command.add_argument("--keep-trace", metavar="DIR", help="keep the raw trace too; it names the network's layers")
    command.set_defaults(script_arguments=[])


def parse_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; for `profile` what follows `--` is the script's."""
    if list(arguments[:1]) != [COMMAND]:
        return parser.parse_args(arguments)
    end = arguments.index(_SEPARATOR) if _SEPARATOR in arguments else len(arguments)
    options, unknown = parser.parse_known_args(arguments[:end])
    if unknown:
        raise InputError(f"Unknown arguments {' '.join(unknown)}: what belongs to the script follows `--`.")
    options.script_arguments = list(arguments[end + 1 :])
    return options
