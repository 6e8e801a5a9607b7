"""`profet train`: fit all models, one file of coefficients, or custom models."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.arguments import add_anchors, add_dask, add_data, add_format, add_models
from profet_cli.commands.train.own import train_own
from profet_cli.commands.train.published import train_all, train_part
from profet_cli.lab import on_dask, training_set
from profet_cli.output import print_json

#: Option -> help: what is trained alone; of several the first counts.
PARTS = {
    "transfer": "only transfer.json, for unprofiled GPUs",
    "memory": "only memory.json, for the memory fit",
    "scaleout": "only scaleout.json, for several GPUs",
    "precision": "only precision.json, for AMP and TF32",
    "sizes": "only growth.json, for other batch and pixel sizes",
    "estimate": "only estimate.json, for networks without a profile",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The measurements, the folder to write, and which part of it."""
    add_format(parser)
    add_data(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="folder to write (default: models; with your own measurements: PROFET_HOME)"
    )
    add_models(parser)
    add_anchors(parser)
    for part, said in PARTS.items():
        parser.add_argument(f"--{part}", action="store_true", help=said)
    parser.add_argument("--seed", type=int, default=0)
    add_dask(parser)


@on_dask
def run(options: argparse.Namespace) -> None:
    """Train and write the models folder, or one of its files of coefficients alone."""
    folders = [Path(one) for one in options.data or ()]
    with training_set():
        from profet_lab.own_gpus.given_data import is_own_data
    parts = [part for part in PARTS if getattr(options, part)]
    if is_own_data(folders):
        document, lines = train_own(options, folders, parts)
    else:
        options.data = options.data[0] if options.data else None
        options.out = options.out or "models"
        document, lines = train_part(options, parts[0]) if parts else train_all(options)
    if options.format == "json":
        print_json(document)
    else:
        print("\n".join(lines))
