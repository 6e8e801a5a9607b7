"""Trains on measurements of one's own: beside the models there are, or alone where the data hold no other."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path

from profet_cli.commands.train.only_own import train_only_own
from profet_cli.commands.train.prices import still_to_price
from profet_cli.commands.train.trained import Trained
from profet_cli.lab import training_set
from profet_core.artifacts.models import load_models
from profet_core.catalog.own_gpus import own_gpus_path, read_own_gpus
from profet_core.documents.parts import Document
from profet_core.errors import InputError
from profet_core.files import HOME_VARIABLE, shipped_folder
from profet_core.latency import NORMAL_90
from profet_core.transfer.own_gpu import with_own_gpus


def train_own(options: argparse.Namespace, folders: Sequence[Path], parts: Sequence[str]) -> Trained:
    """What cells of other GPUs tell.

    Parameters
    ----------
    parts : options that train a part of the published models, which own data go without.
    """
    with training_set():
        from profet_lab.own_gpus.given_data import read_data
        from profet_lab.own_gpus.models_of_own import check_out, sharpened_file, write_sharpened
        from profet_lab.own_gpus.sharpen_gpus import sharpen_gpus
    out = _out(options, parts)
    check_out(out)
    dataset = read_data(folders)
    base = Path(options.models) if options.models else shipped_folder("models")
    known = load_models(base).transfer
    if known is None or not set(known.instances) & set(dataset.instances):
        return train_only_own(options, dataset, out)
    transfer = with_own_gpus(known, read_own_gpus(own_gpus_path(), known.gpus))
    found, without = sharpen_gpus(dataset, transfer)
    if not found:
        said = "; ".join(f"{one.instance}: {one.why}" for one in without) or "the models know all of its instances"
        raise InputError(f"Nothing to learn from these measurements: {said}.")
    write_sharpened(sharpened_file(found, transfer, dataset), base, out)
    document: Document = {
        "out": str(out),
        "gpus": [
            {
                "instance": one.instance,
                "gpu": one.gpu,
                "precision": "tf32" if one.tf32 else "fp32",
                "cells": one.cells,
                "networks": one.networks,
                "log_sd": one.log_sd,
            }
            for one in found
        ],
        "without": [{"instance": one.instance, "why": one.why} for one in without],
    }
    lines = (
        *(
            f"{one.instance} ({one.gpu}{', TF32' if one.tf32 else ''}): {one.cells} workloads of {one.networks} "
            f"networks; new networks within {100 * math.expm1(NORMAL_90 * one.log_sd):.0f} %, in 90 of 100"
            for one in found
        ),
        *still_to_price([one.instance for one in found]),
        *(f"{one.instance}: nothing learned: {one.why}" for one in without),
        f"written to {out}",
    )
    return Trained(document, lines)


def _out(options: argparse.Namespace, parts: Sequence[str]) -> Path:
    """The folder to write; refuses options that are about the published models."""
    # As the help lists them.
    listed = [name for name in ("transfer", "memory", "scaleout", "sizes", "estimate") if name in parts]
    named = [f"--{name}" for name in listed if getattr(options, name)] + (["--anchor"] if options.anchor else [])
    if named:
        raise InputError(f"Measurements of your own are added to models as they are: leave {', '.join(named)} out.")
    if not (given := options.out or os.environ.get(HOME_VARIABLE)):
        raise InputError(f"Say where models of your own go, with --out or {HOME_VARIABLE}.")
    return Path(given)
