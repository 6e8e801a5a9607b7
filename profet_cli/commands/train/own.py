"""Train on your own measurements, beside the shipped models or alone."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from profet_cli.commands.train.only_own import train_only_own
from profet_cli.commands.train.prices import still_to_price
from profet_cli.commands.train.trained import Trained
from profet_cli.lab import training_set
from profet_core.artifacts.models import load_models
from profet_core.catalog.own_gpus import own_gpus_path, read_own_gpus
from profet_core.documents.records import Document
from profet_core.errors import InputError
from profet_core.files import HOME_VARIABLE, shipped_folder
from profet_core.latency import quantile
from profet_core.transfer.model import CalibratedGpu
from profet_core.transfer.own_gpu import with_own_gpus

if TYPE_CHECKING:
    from profet_lab.own_gpus.pair_groups import PairGroup


def train_own(options: argparse.Namespace, folders: Sequence[Path], parts: Sequence[str]) -> Trained:
    """What cells of other GPUs tell.

    Parameters
    ----------
    parts : options that train a part of the published models, which own data go without.
    """
    with training_set():
        from profet_lab.own_gpus.calibrate_gpus import calibrate_gpus
        from profet_lab.own_gpus.given_data import read_data
        from profet_lab.own_gpus.models_of_own import calibrated_file, check_out, read_files, write_own
        from profet_lab.own_gpus.pair_groups import pair_groups
    out = _out(options, parts)
    check_out(out)
    dataset = read_data(folders)
    base = Path(options.models) if options.models else shipped_folder("models")
    models = load_models(base)
    known = models.transfer
    if known is None or not set(known.instances) & set(dataset.instances):
        return train_only_own(options, dataset, out)
    models.verify()
    transfer = with_own_gpus(known, read_own_gpus(own_gpus_path(), known.gpus))
    found, without = calibrate_gpus(dataset, transfer)
    groups, pairs_without = pair_groups(dataset, transfer)
    if not found and not groups:
        said = "; ".join(f"{one.instance}: {one.why}" for one in without) or "the models already cover all instances"
        raise InputError(f"These measurements add nothing: {said}.")

    def write_pairs(folder: Path) -> None:
        with training_set():
            from profet_lab.own_gpus import pair_models
        checksum, files = str(models.manifest["checksum"]), read_files(dataset)
        pair_models.write_pairs(groups, folder, base_checksum=checksum, fitted_on=files, seed=options.seed)

    write_own(
        base,
        out,
        calibrated=calibrated_file(found, transfer, dataset) if found else None,
        write_pairs=write_pairs if groups else None,
    )
    machines = [one.instance for one in found] + [one.instance for group in groups for one in group.machines]
    without = [one for one in without if one.instance not in machines]
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
        "pairs": [
            {"anchor": anchor, "target": target, "workloads": group.workloads, "networks": group.networks}
            for group in groups
            for anchor, target in group.pairs
        ],
        "pairs_without": [{"anchor": one.anchor, "target": one.target, "why": one.why} for one in pairs_without],
        "without": [{"instance": one.instance, "why": one.why} for one in without],
    }
    lines = (
        *(_calibrated_line(one) for one in found),
        *(_group_line(group) for group in groups),
        *still_to_price(machines, dataset),
        *(f"{one.anchor} to {one.target}: no models: {one.why}" for one in pairs_without),
        *(f"{one.instance}: nothing learned: {one.why}" for one in without),
        f"written to {out}",
    )
    return Trained(document, lines)


def _calibrated_line(one: CalibratedGpu) -> str:
    return (
        f"{one.instance} ({one.gpu}{', TF32' if one.tf32 else ''}): {one.cells} workloads of {one.networks} "
        f"networks; 90% prediction interval for new networks: +{100 * math.expm1(quantile() * one.log_sd):.0f}%"
    )


def _group_line(group: PairGroup) -> str:
    by_anchor: dict[str, list[str]] = {}
    for anchor, target in group.pairs:
        by_anchor.setdefault(anchor, []).append(target)
    pairs = "; ".join(f"{anchor} to {', '.join(targets)}" for anchor, targets in by_anchor.items())
    return f"models of {group.workloads} common workloads of {group.networks} networks: {pairs}"


def _out(options: argparse.Namespace, parts: Sequence[str]) -> Path:
    """The folder to write; refuses options that are about the published models."""
    # As the help lists them.
    listed = [name for name in ("transfer", "memory", "scaleout", "sizes", "estimate") if name in parts]
    named = [f"--{name}" for name in listed if getattr(options, name)] + (["--anchor"] if options.anchor else [])
    if named:
        raise InputError(f"Your measurements are added to the existing models: remove {', '.join(named)}.")
    if not (given := options.out or os.environ.get(HOME_VARIABLE)):
        raise InputError(f"Give a folder for your models with --out or {HOME_VARIABLE}.")
    return Path(given)
