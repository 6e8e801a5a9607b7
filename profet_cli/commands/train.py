"""`profet train`: fit all models, one file of coefficients, or calibrate custom GPUs."""

from __future__ import annotations

import argparse
import math
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from profet_cli.arguments import add_anchors, add_dask, add_data, add_format, add_models
from profet_cli.lab import on_dask, open_measurements, training_set
from profet_cli.output import print_json
from profet_core.answers.schema import Document
from profet_core.catalog import load_catalog, load_gpus
from profet_core.catalog.custom_gpus import custom_gpus_path, read_custom_gpus
from profet_core.errors import InputError
from profet_core.files import HOME_VARIABLE, shipped_folder
from profet_core.latency import quantile
from profet_core.prediction.models import load_models
from profet_core.transfer.custom_gpu import with_custom_gpus
from profet_core.transfer.model import CalibratedGpu

if TYPE_CHECKING:
    from profet_core.catalog import Gpus
    from profet_lab.dataset import Dataset
    from profet_lab.measurements.tables import Measurements

#: What `--format json` prints, and the lines that are printed without it.
Trained = tuple[Document, Sequence[str]]


def train_part(options: argparse.Namespace, part: str) -> Trained:
    """One file of coefficients, beside the models there are."""
    with training_set():
        from profet_core.layers.rates import RATES_NAME
        from profet_lab.estimate_report import fit_and_write
        from profet_lab.models_folder import write_coefficients
    out = Path(options.out)
    measurements, folder = open_measurements(options)
    if part == "estimate":
        path, checksum = out / RATES_NAME, fit_and_write(measurements, folder, out).checksum
    else:
        name, make, _ = _coefficients(measurements, folder)[part]
        content = make()
        path, checksum = write_coefficients(content, out / name), content["checksum"]
    return {"out": str(path), "checksum": checksum}, [f"{path}: checksum {checksum[:16]}"]


def train_all(options: argparse.Namespace) -> Trained:
    """Every member of every pair, and the coefficients that the data tell."""
    with training_set():
        from profet_lab.train import train
    measurements, folder = open_measurements(options)
    out = Path(options.out)
    # Seconds of work that fail if a file is missing: before the minutes.
    coefficients = {name: make() for name, make, has_data in _coefficients(measurements, folder).values() if has_data()}
    manifest = train(measurements, out, anchors=options.anchor, coefficients=coefficients, seed=options.seed)
    members = sum(len(row["targets"]) for row in manifest["members"])
    size_mb = sum(path.stat().st_size for path in out.rglob("*.npz")) / 2**20
    document: Document = {"out": str(out), "members": members, "size_mb": size_mb, "checksum": manifest["checksum"]}
    return document, [f"{out}: {members} members, {size_mb:.1f} MB"]


def _coefficients(data: Measurements, folder: Path) -> dict[str, tuple[str, Callable[[], Mapping], Callable[[], bool]]]:
    """Option -> file, what fits its content, and whether the measurements hold what it needs."""
    with training_set():
        from profet_core.prediction.growth import GROWTH_NAME
        from profet_core.training.memory import MEMORY_NAME
        from profet_core.training.scaling_model import SCALEOUT_NAME
        from profet_core.transfer.model import TRANSFER_NAME
        from profet_lab.memory import memory_content
        from profet_lab.scaleout import has_scale_rows, scaleout_content
        from profet_lab.sizes import growth_content, measured_sizes
        from profet_lab.transfer.transfer_file import transfer_content
    return {
        "transfer": (TRANSFER_NAME, lambda: transfer_content(data, folder), lambda: True),
        "memory": (MEMORY_NAME, lambda: memory_content(data, folder), lambda: True),
        "sizes": (GROWTH_NAME, lambda: growth_content(data), lambda: bool(measured_sizes(data))),
        "scaleout": (SCALEOUT_NAME, lambda: scaleout_content(folder), lambda: has_scale_rows(folder)),
    }


def calibrate(options: argparse.Namespace, folders: Sequence[Path], parts: Sequence[str]) -> Trained:
    """What measured cells of other GPUs tell; `parts`: options that are about the published models."""
    with training_set():
        from profet_lab.custom_gpus import calibrate_gpus, calibrated_file, check_out, read_data, write_calibrated
    out = _out(options, parts)
    check_out(out)
    dataset = read_data(folders)
    base = Path(options.models) if options.models else shipped_folder("models")
    models = load_models(base)
    models.verify()
    transfer = with_custom_gpus(models.transfer, read_custom_gpus(custom_gpus_path(), models.transfer.gpus))
    found, without = calibrate_gpus(dataset, transfer)
    if not found:
        why = "; ".join(f"{name}: {why}" for name, why in without.items()) or "the models already cover all instances"
        raise InputError(f"These measurements add nothing: {why}.")
    write_calibrated(base, out, calibrated_file(found, transfer, dataset))
    without = {name: why for name, why in without.items() if name not in {one.instance for one in found}}
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
        "without": [{"instance": name, "why": why} for name, why in without.items()],
    }
    lines = (
        *(_calibrated_line(one) for one in found),
        *still_to_price([one.instance for one in found], dataset),
        *(f"{name}: nothing learned: {why}" for name, why in without.items()),
        f"written to {out}",
    )
    return document, lines


def _calibrated_line(one: CalibratedGpu) -> str:
    return (
        f"{one.instance} ({one.gpu}{', TF32' if one.tf32 else ''}): {one.cells} workloads of {one.networks} "
        f"networks; 90% prediction interval for new networks: +{100 * math.expm1(quantile() * one.log_sd):.0f}%"
    )


def _out(options: argparse.Namespace, parts: Sequence[str]) -> Path:
    """The folder to write; refuses options that are about the published models."""
    named = [f"--{name}" for name in parts] + (["--anchor"] if options.anchor else [])
    if named:
        raise InputError(f"Your measurements are added to the existing models: remove {', '.join(named)}.")
    if not (given := options.out or os.environ.get(HOME_VARIABLE)):
        raise InputError(f"Give a folder for your models with --out or {HOME_VARIABLE}.")
    return Path(given)


def still_to_price(instances: Iterable[str], dataset: Dataset) -> list[str]:
    """A line for each instance that no catalog has: the offer that `gpus add` made of its GPU, or how to add one."""
    catalog, own = load_catalog(), read_custom_gpus(custom_gpus_path(), load_gpus())
    gpus, offered = load_gpus().with_custom(row.gpu for row in own), {row.name: row.instance for row in own}
    return [
        _line(name, dataset.instances[name].gpu, gpus, offered)
        for name in dict.fromkeys(instances)
        if name not in catalog and name not in offered.values()
    ]


def _line(name: str, gpu: str, gpus: Gpus, offered: Mapping[str, str]) -> str:
    same = next((offered[one.name] for one in gpus.named(gpu) if one.name in offered), None) if gpu else None
    if same is not None:
        return f"{name} is shown as {same}, the instance of your custom GPU"
    return f"{name} needs a price to be shown: profet instances add {name} {_gpu_options(gpu, gpus)} --usd-per-hour N"


def _gpu_options(gpu: str, gpus: Gpus) -> str:
    """How `profet instances add` takes a GPU by the name that its collection has."""
    if not gpu:
        return "--gpu GPU"
    listed = "" if gpus.named(gpu) else " --other-gpu --memory-gib N"
    return f"--gpu {shlex.quote(gpu)}{listed}"


#: Option -> help: what is trained alone; of several the first counts.
PARTS = {
    "transfer": "only transfer.json, for unprofiled GPUs, AMP and TF32",
    "memory": "only memory.json, for the memory fit",
    "scaleout": "only scaleout.json, for several GPUs",
    "sizes": "only growth.json, for other batch and pixel sizes",
    "estimate": "only estimate.json, for networks without a profile",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The measurements, the folder to write, and which part of it."""
    add_format(parser)
    add_data(parser, "; repeat to add your own, which calibrate your GPUs")
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
        from profet_lab.custom_gpus import is_custom_data
    parts = [part for part in PARTS if getattr(options, part)]
    if is_custom_data(folders):
        document, lines = calibrate(options, folders, parts)
    else:
        options.data = options.data[0] if options.data else None
        options.out = options.out or "models"
        document, lines = train_part(options, parts[0]) if parts else train_all(options)
    if options.format == "json":
        print_json(document)
    else:
        print("\n".join(lines))
