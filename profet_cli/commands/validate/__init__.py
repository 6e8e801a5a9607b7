"""`profet validate`: accuracy on architectures, GPUs and profiles that the models have not seen."""

from __future__ import annotations

import argparse

from profet_cli.arguments import add_anchors, add_data, add_format, add_models
from profet_cli.commands.validate import estimate, left_out, real, transfer
from profet_core.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The measurements, and what is validated on them."""
    add_format(parser)
    add_data(parser)
    add_anchors(parser)
    parser.add_argument("--target", action="append", metavar="INSTANCE", help="only pairs to this target")
    parser.add_argument("--method", choices=["default", "profet"], default="default", help="profet: the documented one")
    parser.add_argument("--card", action="store_true", help="everything; writes validation.json and MODEL_CARD.md")
    add_models(parser)
    parser.add_argument(
        "--no-clustering", action="store_true", help="documented method, every operation a feature of its own"
    )
    parser.add_argument("--scaler", action="store_true", help="the scaler: batch and pixels, true and predicted ends")
    parser.add_argument(
        "--sizes",
        action="store_true",
        help="other batch and pixel sizes from one profile; --card writes its section of the report and card",
    )
    parser.add_argument(
        "--transfer",
        action="store_true",
        help="GPUs nobody profiled: each GPU left out, derived targets; --card writes its report and card",
    )
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="networks without a profile: the paper's judgements and ours; --card writes its report and card",
    )
    parser.add_argument(
        "--real",
        metavar="DIR",
        help="profiles that others recorded, by DIR's index.json, against what was measured; --card writes the report "
        "and its section of the card",
    )
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> None:
    """Validate and print."""
    if options.real is not None:
        _check_alone(options, "--real compares whole profiles with what was measured")
        real.run(options)
    elif options.estimate:
        _check_alone(options, "--estimate validates on all instances at once")
        estimate.run(options)
    elif options.sizes:
        _check_alone(options, "--sizes validates on all instances at once")
        left_out.run(options)
    elif options.transfer:
        _check_alone(options, "--transfer validates on all instances at once")
        transfer.run(options)
    else:
        left_out.run(options)


def _check_alone(options: argparse.Namespace, what: str) -> None:
    others = {
        "--anchor": options.anchor,
        "--target": options.target,
        "--method": options.method != "default",
        "--no-clustering": options.no_clustering,
        "--scaler": options.scaler,
        "--transfer": options.transfer and (options.real is not None or options.sizes or options.estimate),
        "--sizes": options.sizes and (options.real is not None or options.estimate),
        "--estimate": options.estimate and options.real is not None,
    }
    named = [name for name, given in others.items() if given]
    if named:
        raise InputError(f"{what}: leave {', '.join(named)} out.")
