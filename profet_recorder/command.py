"""`profet profile`: records a step of a training script into a profile; where only the recorder is, all of `profet`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from profet_recorder import VERSION
from profet_recorder.errors import InputError, ProfetError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

#: Between the command's own arguments and the script's.
SEPARATOR = "--"
_BAD_INPUT, _STOPPED = 2, 130


class OneLineParser(argparse.ArgumentParser):
    """Reports what is wrong in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError instead of ending the process."""
        raise InputError(f"{message} (see `{self.prog} --help`)")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help or the version; argparse's own hides that the output can't be written."""
        print(message, end="", file=file)


def main() -> int:
    """Run `profet profile`, the one command that the recorder has by itself; returns the exit status."""
    parser = OneLineParser(
        prog="profet",
        description="The recorder of PROFET. `pip install .` in the project's folder installs the other commands.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"profet {VERSION}", help="print the version")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=OneLineParser)
    line = "Record a profile of your own training script."
    add_arguments(commands.add_parser("profile", help=line, description=line))
    arguments = sys.argv[1:]
    try:
        if arguments and not arguments[0].startswith("-") and arguments[0] != "profile":
            raise InputError(
                f"Only the recorder is installed, without `profet {arguments[0]}`: install the whole project with "
                "`pip install .` in its folder."
            )
        run(parse_arguments(parser, arguments))
    except ProfetError as error:
        print(f"profet: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print("profet: stopped", file=sys.stderr, flush=True)
        return _STOPPED
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The script and the recording; no `--format`, for stdout belongs to the script."""
    parser.usage = f"{parser.prog} [options] SCRIPT [{SEPARATOR} ARGUMENT ...]"
    parser.add_argument("script", metavar="SCRIPT", help="Python training script; its arguments follow `--`")
    parser.add_argument("-m", "--module", action="store_true", help="SCRIPT names a module, as in python -m")
    parser.add_argument("-o", "--output", default="profile.json", metavar="FILE", help="default: profile.json")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument("--warm-up", type=int, default=5, metavar="N", help="warm-up steps (default: 5)")
    parser.add_argument(
        "--timed", type=int, default=10, metavar="N", help="timed steps; their median is the latency (default: 10)"
    )
    parser.add_argument("--profiled", type=int, default=1, metavar="N", help="profiled steps, averaged (default: 1)")
    parser.add_argument("--batch-size", type=int, metavar="N", help="instead of what the data show")
    parser.add_argument("--pixels", type=int, metavar="N", help="instead of what the data show")
    parser.add_argument("--parameters", type=int, metavar="N", help="instead of what the network shows")
    parser.add_argument("--precision", metavar="NAME", help="fp32, tf32, mixed fp16, ... (default: detected)")
    parser.add_argument(
        "--device",
        choices=["gpu", "cpu"],
        default="gpu",
        help="cpu: CPU operations count as GPU operations, as in `profet collect --device cpu`",
    )
    parser.add_argument("--keep-running", action="store_true", help="let the script continue after the recording")
    parser.add_argument("--keep-trace", metavar="DIR", help="also keep the raw trace, which names the network's layers")


def parse_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options; what follows `--` is the script's, in `script_arguments`."""
    # `profet` has other commands, which start without it.
    from profet_recorder.script import LAUNCHERS

    end = arguments.index(SEPARATOR) if SEPARATOR in arguments else len(arguments)
    options, unknown = parser.parse_known_args(arguments[:end])
    name = Path(options.script).name
    if re.fullmatch(r"python[\d.]*(\.exe)?", name):
        right = ["-m"] * options.module + (unknown[:1] or ["SCRIPT"]) + [SEPARATOR] * bool(unknown[1:]) + unknown[1:]
        raise InputError(f"Leave {options.script} out: {parser.prog} profile {' '.join(right)}")
    if unknown and name not in LAUNCHERS:
        raise InputError(f"Unknown arguments {' '.join(unknown)}: put the script's arguments after `{SEPARATOR}`.")
    options.script_arguments = list(arguments[end + 1 :])
    return options


def run(options: argparse.Namespace) -> None:
    """Run the script and write the profile; every message is on stderr, stdout and exit status are the script's."""
    from profet_recorder.plan import record_plan
    from profet_recorder.script import record_script

    names = ("warm_up", "timed", "profiled", "batch_size", "pixels", "parameters", "precision", "force", "keep_trace")
    fields = {name: getattr(options, name) for name in names}
    plan = record_plan(options.output, **fields, as_device=options.device == "cpu")
    status = record_script(
        options.script, options.script_arguments, plan, module=options.module, keep_running=options.keep_running
    )
    if status:
        # The script's own; its output is on stderr.
        raise SystemExit(status)
