"""Parses arguments and hands over to one module a command; heavy imports wait until a command needs them."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from profet_cli.commands.instances.arguments import add_instances_arguments
from profet_cli.commands.profile_arguments import COMMAND, add_profile_arguments, parse_arguments
from profet_cli.output import add_format
from profet_core.errors import ProfetError

PROGRAM = "profet"


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage text."""

    def error(self, message: str) -> None:
        raise ProfetError(f"{message} (see `{self.prog} --help`)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, or 2 with one line on stderr for bad input."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A profile's texts may hold what a terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = parse_arguments(build_parser(), sys.argv[1:] if arguments is None else list(arguments))
        options.run(options)
        sys.stdout.flush()
    except ProfetError as error:
        # Arguments and paths may hold line breaks; the error stays one line.
        print(f"{PROGRAM}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{PROGRAM}: stopped; nothing was changed", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) went away: not an error, but stdout must not be flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = _OneLineParser(
        prog=PROGRAM, description="Which cloud GPU should I train my CNN on, how long will it take, what will it cost?"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_OneLineParser)
    _add_predict(commands)
    _add_scale(commands)
    _add_cost(commands)
    _add_advise(commands)
    _add_instances(commands)
    _add_inspect(commands)
    _add_convert(commands)
    _add_record(commands)
    _add_train(commands)
    _add_validate(commands)
    return parser


def _add_predict(commands) -> None:
    command = _command(commands, "predict", "predict", "step latency of a profiled network on every instance")
    _add_profile(command)
    command.add_argument(
        "--measured",
        action="append",
        type=_price,
        default=[],
        metavar="INSTANCE=MS",
        help="a latency you measured on a target with the same network",
    )
    command.add_argument(
        "--measured-trace", metavar="TRACE", help="the anchor's profile of what was measured, if not TRACE"
    )
    command.add_argument("--measured-trace-latency-ms", type=float, help="its anchor latency")
    command.add_argument("--targets", type=_names, metavar="A,B", help="instances to predict (default: all others)")


def _add_scale(commands) -> None:
    command = _command(commands, "scale", "scale", "latency at a size between two known ones")
    command.add_argument("--instance", required=True)
    command.add_argument("--axis", required=True, choices=["batch", "pixels"])
    command.add_argument("--min-ms", required=True, type=float, help="latency at batch 16 or 32 pixels, milliseconds")
    command.add_argument("--max-ms", required=True, type=float, help="latency at batch 256 or 256 pixels, milliseconds")
    command.add_argument("--at", required=True, type=int, help="batch size 16-256 or pixel size 32-256")
    command.add_argument(
        "--method", choices=["default", "profet"], default="default", help="default; profet: the documented polynomial"
    )
    command.add_argument(
        "--other-size", type=int, metavar="N", help="the size that stays: pixels along batch, batch size along pixels"
    )
    command.add_argument("--largest", metavar="TRACE", help="profile at the largest size: sharpens the curve")
    command.add_argument(
        "--fixed-classes",
        action="store_true",
        help="along pixels: the number of classes stays (in the data it grows from 10 to 1000)",
    )
    _add_models(command)


def _add_cost(commands) -> None:
    command = _command(commands, "cost", "cost", "time and cost per epoch and per training on every instance")
    _add_training(command)


def _add_advise(commands) -> None:
    command = _command(commands, "advise", "advise", "which instance to rent for a training, and how sure that is")
    _add_training(command)
    command.add_argument("--deadline-hours", type=float, metavar="H", help="when it must be done: the cheapest in time")
    command.add_argument("--budget-usd", type=float, metavar="USD", help="what it may cost: the fastest within it")
    command.add_argument(
        "--certainty", type=float, default=0.9, metavar="SHARE", help="chance that a limit is kept to (default: 0.9)"
    )
    command.add_argument(
        "--market",
        choices=["on-demand", "spot", "reserved", "any"],
        default="on-demand",
        help="offers to choose from (default: on-demand)",
    )
    command.add_argument("--region", help="offers there only (default: the usual one of each instance)")
    command.add_argument(
        "--spot-discount",
        type=float,
        metavar="SHARE",
        help="guess spot prices this far below on-demand, 0 to 1, where the catalogue has none",
    )
    command.add_argument("--include-retired", action="store_true", help="instances that can't be rented any more too")
    command.add_argument("--compare", type=_names, metavar="A,B", help="two instances: which one, and how sure")


def _add_training(command: argparse.ArgumentParser) -> None:
    _add_profile(command)
    command.add_argument("--images", required=True, type=int, help="training images per epoch")
    command.add_argument("--validation-images", type=int, default=0)
    command.add_argument("--profiled-batch", type=int, help="batch size the profile was recorded at")
    command.add_argument("--epochs", type=int, default=1)
    command.add_argument(
        "--price", action="append", type=_price, default=[], metavar="INSTANCE=USD", help="a price of your own, an hour"
    )
    command.add_argument(
        "--at-batch",
        type=int,
        metavar="N",
        help="cost at another batch size: TRACE at batch 16, --largest at batch 256",
    )
    command.add_argument("--largest", metavar="TRACE", help="profile of the same network at batch 256, for --at-batch")
    command.add_argument("--largest-latency-ms", type=float, help="its anchor latency")


def _add_instances(commands) -> None:
    add_instances_arguments(
        _command(commands, "instances", "instances.listing", "the catalogue: GPUs, prices, dates; rows of your own")
    )


def _add_inspect(commands) -> None:
    command = _command(commands, "inspect", "inspect", "what a profile holds and how the models see it")
    command.add_argument("trace", metavar="TRACE")
    _add_steps(command)
    _add_models(command)


def _add_convert(commands) -> None:
    command = _command(commands, "convert", "convert", "reduce a trace to a profile that names nothing of the network")
    command.add_argument("trace", metavar="TRACE", help="trace or profile in any format that is read")
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="profile to write; - for stdout")
    command.add_argument("--force", action="store_true", help="replace FILE if it is there")
    _add_steps(command)
    command.add_argument("--batch-size", type=int, metavar="N", help="batch size of the profiled step")
    command.add_argument("--pixels", type=int, metavar="N", help="side of its images")
    command.add_argument("--latency-ms", type=float, metavar="MS", help="step latency without the profiler")
    command.add_argument("--precision", metavar="P", help="fp32, tf32, mixed_float16 ...")
    command.add_argument("--gpu", metavar="NAME", help="GPU it was recorded on")


def _add_record(commands) -> None:
    # No --format: stdout belongs to the script.
    text = "record a step of your own training script as a profile"
    command = commands.add_parser(COMMAND, help=text, description=text.capitalize() + ".")
    add_profile_arguments(command)
    command.set_defaults(run=_lazily("profile"))


def _add_train(commands) -> None:
    command = _command(commands, "train", "train", "fit all models from the measurements")
    _add_data(command)
    command.add_argument("--out", default="models", metavar="DIR", help="folder to write (default: models)")
    command.add_argument("--anchor", action="append", metavar="INSTANCE", help="only pairs from this anchor")
    command.add_argument("--transfer", action="store_true", help="only transfer.json, for GPUs nobody profiled")
    command.add_argument("--memory", action="store_true", help="only memory.json, for what fits in a GPU's memory")
    command.add_argument("--seed", type=int, default=0)


def _add_validate(commands) -> None:
    command = _command(commands, "validate", "validate.left_out", "accuracy on architectures the models have not seen")
    _add_data(command)
    command.add_argument("--anchor", action="append", metavar="INSTANCE", help="only pairs from this anchor")
    command.add_argument("--target", action="append", metavar="INSTANCE", help="only pairs to this target")
    command.add_argument(
        "--method", choices=["default", "profet"], default="default", help="profet: the documented one"
    )
    command.add_argument("--card", action="store_true", help="everything; writes validation.json and MODEL_CARD.md")
    _add_models(command)
    command.add_argument(
        "--no-clustering", action="store_true", help="documented method, every operation a feature of its own"
    )
    command.add_argument("--scaler", action="store_true", help="the scaler: batch and pixels, true and predicted ends")
    command.add_argument(
        "--transfer",
        action="store_true",
        help="GPUs nobody profiled: each GPU left out, derived targets; --card writes its report and card",
    )
    command.add_argument(
        "--real",
        metavar="DIR",
        help="profiles that others recorded, by DIR's index.json, against what was measured; --card writes the report "
        "and its section of the card",
    )
    command.add_argument("--seed", type=int, default=0)


def _command(commands, name: str, module: str, description: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=description, description=description[0].upper() + description[1:] + ".")
    add_format(command)
    command.set_defaults(run=_lazily(module))
    return command


def _lazily(module: str) -> Callable[[argparse.Namespace], None]:
    return lambda options: import_module(f"profet_cli.commands.{module}").run(options)


def _add_profile(command: argparse.ArgumentParser) -> None:
    command.add_argument("trace", metavar="TRACE", help="profile of training steps")
    command.add_argument("--anchor", required=True, help="instance the profile was recorded on")
    _add_steps(command)
    command.add_argument("--latency-ms", type=float, help="measured step latency on the anchor, milliseconds")
    command.add_argument("--without-latency", action="store_true", help="ignore the latency in the profile's meta")
    command.add_argument("--trust-latency", action="store_true", help="use the latency even if it looks wrong")
    command.add_argument("--method", default="default", help="default, or profet: the documented ensemble")
    command.add_argument(
        "--fp32",
        action="store_true",
        help="without TF32 on Ampere and later (frameworks use it for convolutions unasked)",
    )
    _add_models(command)


def _add_steps(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="training steps TRACE covers (default: what it tells, else what its latency tells, else one; two for "
        "PROFET's own files)",
    )


def _add_models(command: argparse.ArgumentParser) -> None:
    command.add_argument("--models", metavar="DIR", help="models folder (default: PROFET_HOME or the shipped one)")


def _add_data(command: argparse.ArgumentParser) -> None:
    command.add_argument("--data", metavar="DIR", help="measurements (default: PROFET_DATA or ../shared/data)")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _price(text: str) -> tuple[str, float]:
    """INSTANCE=NUMBER."""
    name, _, price = text.partition("=")
    try:
        return name.strip(), float(price)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4") from None
