"""`profet validate`: accuracy on architectures, GPUs and profiles that the models have not seen."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from profet_cli.arguments import add_anchors, add_dask, add_data, add_format, add_models
from profet_cli.commands.validate import left_out, manycore, own, parts, real
from profet_cli.lab import on_dask
from profet_core.errors import InputError

#: Option -> help: what is validated instead of the shipped models, one at a time, on all instances at once.
PARTS = {
    "transfer": "unprofiled GPUs and memory: leave-one-GPU-out, derived targets",
    "cells": "error by number of cells of a new GPU: each profiled GPU in turn, networks held out",
    "estimate": "networks without a profile: the paper's tests and ours",
    "manycore": "many-core models against published predictions",
    "scaleout": "several GPUs: leave-one-network-out and leave-one-GPU-out",
    "precision": "AMP and TF32: leave-one-network-out and leave-one-GPU-out on published pairs",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The measurements, and what is validated on them."""
    add_format(parser)
    add_data(parser)
    add_anchors(parser)
    parser.add_argument("--target", action="append", metavar="INSTANCE", help="only pairs with this target")
    parser.add_argument(
        "--method", choices=["default", "profet"], default="default", help="default or profet (the documented method)"
    )
    parser.add_argument(
        "--card", action="store_true", help="run all validations; writes validation.json and MODEL_CARD.md"
    )
    add_models(parser)
    parser.add_argument(
        "--scaler", action="store_true", help="the scaler: batch and pixels, with true and predicted endpoints"
    )
    for part, said in PARTS.items():
        parser.add_argument(f"--{part}", action="store_true", help=f"{said}; --card writes the report and card")
    parser.add_argument(
        "--real",
        metavar="DIR",
        help="third-party profiles listed in DIR/index.json, against measurements; --card writes the report and "
        "updates the card",
    )
    parser.add_argument("--seed", type=int, default=0)
    add_dask(parser)


@on_dask
def run(options: argparse.Namespace) -> None:
    """Validate and print."""
    question = own.own_question(options)
    options.data = options.data[0] if options.data else None
    given = [part for part in sorted([*PARTS, "real"]) if getattr(options, part)]
    if question is not None:
        card = ["card"] if options.card else []
        _check_alone(options, "Your own measurements are validated on all pairs at once", [*given, *card])
        own.run(options, *question)
    elif not given:
        left_out.run(options)
    else:
        part, *others = given
        _check_alone(options, f"--{part} validates all of one thing", others)
        if part in (by_itself := {"manycore": manycore.run, "real": real.run}):
            by_itself[part](options)
        else:
            parts.run(options, part)


def _check_alone(options: argparse.Namespace, what: str, parts: Sequence[str]) -> None:
    others = {
        "--anchor": options.anchor,
        "--target": options.target,
        "--method": options.method != "default",
        "--scaler": options.scaler,
    }
    named = [name for name, given in others.items() if given] + [f"--{part}" for part in parts]
    if named:
        raise InputError(f"{what}: remove {', '.join(named)}.")
