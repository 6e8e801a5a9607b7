"""`profet train`: fit all models, one file of coefficients, or custom models."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from profet_cli.arguments import add_anchors, add_dask, add_data, add_format, add_models
from profet_cli.commands.train import coefficients, everything, own
from profet_cli.commands.train.trained import Trained, print_trained
from profet_cli.lab import on_dask, training_set


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The measurements, the folder to write, and which part of it."""
    add_format(parser)
    add_data(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="folder to write (default: models; with your own measurements: PROFET_HOME)"
    )
    add_models(parser)
    add_anchors(parser)
    parser.add_argument("--transfer", action="store_true", help="only transfer.json, for unprofiled GPUs")
    parser.add_argument("--memory", action="store_true", help="only memory.json, for the memory fit")
    parser.add_argument("--scaleout", action="store_true", help="only scaleout.json, for several GPUs")
    parser.add_argument("--precision", action="store_true", help="only precision.json, for AMP and TF32")
    parser.add_argument("--sizes", action="store_true", help="only growth.json, for other batch and pixel sizes")
    parser.add_argument("--estimate", action="store_true", help="only estimate.json, for networks without a profile")
    parser.add_argument("--seed", type=int, default=0)
    add_dask(parser)


#: What is trained alone, by its option; of several the first counts.
_PARTS: dict[str, Callable[[argparse.Namespace], Trained]] = {
    "sizes": coefficients.train_sizes,
    "estimate": coefficients.train_estimate,
    "memory": coefficients.train_memory,
    "transfer": coefficients.train_transfer,
    "scaleout": coefficients.train_scaleout,
    "precision": coefficients.train_precision,
}


@on_dask
def run(options: argparse.Namespace) -> None:
    """Train and write the models folder, or one of its files of coefficients alone."""
    folders = [Path(one) for one in options.data or ()]
    with training_set():
        from profet_lab.own_gpus.given_data import is_own_data
    if is_own_data(folders):
        print_trained(options, own.train_own(options, folders, parts=list(_PARTS)))
        return
    options.data = options.data[0] if options.data else None
    options.out = options.out or "models"
    chosen = (train for part, train in _PARTS.items() if getattr(options, part))
    print_trained(options, next(chosen, everything.train_all)(options))
