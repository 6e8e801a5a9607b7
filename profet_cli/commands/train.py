"""`profet train`: fit all models from the measurements."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from profet_cli.arguments import add_anchors, add_dask, add_format, add_models
from profet_cli.lab import on_dask, open_measurements, training_set
from profet_cli.output import print_json
from profet_core.artifacts.models import load_models
from profet_core.catalog import load_catalog
from profet_core.catalog.own_gpus import own_gpus_path, read_own_gpus
from profet_core.documents.parts import Document
from profet_core.errors import InputError
from profet_core.files import HOME_VARIABLE, shipped_folder
from profet_core.latency import NORMAL_90
from profet_core.transfer.own_gpu import with_own_gpus

if TYPE_CHECKING:
    from profet_lab.datasets.dataset import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The measurements, the folder to write, and which part of it."""
    add_format(parser)
    parser.add_argument(
        "--data",
        action="append",
        metavar="DIR",
        help="measurements (default: PROFET_DATA or ../shared/data); several times: published ones and your own",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder to write (default: models; with measurements of your own: PROFET_HOME)"
    )
    add_models(parser)
    add_anchors(parser)
    parser.add_argument("--transfer", action="store_true", help="only transfer.json, for GPUs nobody profiled")
    parser.add_argument("--memory", action="store_true", help="only memory.json, for what fits in a GPU's memory")
    parser.add_argument("--scaleout", action="store_true", help="only scaleout.json, for several GPUs")
    parser.add_argument("--sizes", action="store_true", help="only growth.json, for other batch and pixel sizes")
    parser.add_argument("--estimate", action="store_true", help="only estimate.json, for networks without a profile")
    parser.add_argument("--seed", type=int, default=0)
    add_dask(parser)


@on_dask
def run(options: argparse.Namespace) -> None:
    """Train and write the models folder, or one of its files of coefficients alone."""
    folders = [Path(one) for one in options.data or ()]
    with training_set():
        from profet_lab.own_gpus.given_data import is_own_data
    if is_own_data(folders):
        document, lines = _train_own(options, folders)
        _say(options, document, lines)
        return
    options.data = options.data[0] if options.data else None
    options.out = options.out or "models"
    if options.sizes:
        document, line = _train_sizes(options)
    elif options.estimate:
        document, line = _train_estimate(options)
    elif options.memory:
        document, line = _train_memory(options)
    elif options.transfer:
        document, line = _train_transfer(options)
    elif options.scaleout:
        document, line = _train_scaleout(options)
    else:
        document, line = _train_all(options)
    _say(options, document, [line])


def _say(options: argparse.Namespace, document: Document, lines: Sequence[str]) -> None:
    if options.format == "json":
        print_json(document)
    else:
        print("\n".join(lines))


def _train_only_own(options: argparse.Namespace, dataset: Dataset, out: Path) -> tuple[Document, list[str]]:
    """Models between the instances of one's own, where the data hold no other."""
    with training_set():
        from profet_lab.own_gpus.common_workloads import common_workloads
        from profet_lab.scalers.growth_file import GROWTH_NAME, growth_content, measured_sizes
        from profet_lab.train import train
    common = common_workloads(dataset)
    measurements = common.measurements
    growth = {GROWTH_NAME: growth_content(measurements)} if measured_sizes(measurements) else {}
    source = ", ".join(one.name for one in dataset.sources)
    manifest = train(measurements, out, coefficients=growth, seed=options.seed, source=source)
    networks = sorted(set(measurements.architectures))
    document: Document = {
        "out": str(out),
        "instances": list(measurements.instances),
        "framework": common.framework,
        "precision": common.precision,
        "workloads": len(measurements.workloads.drop_duplicates(["model", "pixels", "batch_size"])),
        "networks": networks,
        "members": sum(len(row["targets"]) for row in manifest["members"]),
        "without": [{"instance": one.instance, "why": one.why} for one in common.without],
    }
    line = (
        f"models between {', '.join(measurements.instances)}, of {document['workloads']} workloads of {len(networks)} "
        f"networks in {common.framework or 'an unknown framework'}, {common.precision}"
    )
    lines = [line, *_how_to_see(measurements.instances)]
    return document, [*lines, *(f"{one.instance}: no models: {one.why}" for one in common.without), f"written to {out}"]


def _how_to_see(instances: Iterable[str]) -> list[str]:
    """What is still to do for instances that no catalogue has: their prices aren't known."""
    known = load_catalog()
    return [
        f"{name} is shown once it has a price: profet instances add {name} --gpu GPU --usd-per-hour N"
        for name in dict.fromkeys(instances)
        if name not in known
    ]


def _train_own(options: argparse.Namespace, folders: Sequence[Path]) -> tuple[Document, list[str]]:
    """What cells of other GPUs tell, beside the models there are."""
    with training_set():
        from profet_lab.own_gpus.given_data import read_data
        from profet_lab.own_gpus.models_of_own import check_out, sharpened_file, write_sharpened
        from profet_lab.own_gpus.sharpen_gpus import sharpen_gpus
    parts = [name for name in ("transfer", "memory", "scaleout", "sizes", "estimate") if getattr(options, name)]
    if parts or options.anchor:
        named = [f"--{name}" for name in parts] + (["--anchor"] if options.anchor else [])
        raise InputError(f"Measurements of your own are added to models as they are: leave {', '.join(named)} out.")
    if not (given := options.out or os.environ.get(HOME_VARIABLE)):
        raise InputError(f"Say where models of your own go, with --out or {HOME_VARIABLE}.")
    out = Path(given)
    check_out(out)
    dataset = read_data(folders)
    base = Path(options.models) if options.models else shipped_folder("models")
    known = load_models(base).transfer
    if known is None or not set(known.instances) & set(dataset.instances):
        return _train_only_own(options, dataset, out)
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
    lines = [
        f"{one.instance} ({one.gpu}{', TF32' if one.tf32 else ''}): {one.cells} workloads of {one.networks} networks; "
        f"new networks within {100 * math.expm1(NORMAL_90 * one.log_sd):.0f} %, in 90 of 100"
        for one in found
    ]
    lines += _how_to_see([one.instance for one in found])
    return document, [*lines, *(f"{one.instance}: nothing learned: {one.why}" for one in without), f"written to {out}"]


def _train_sizes(options: argparse.Namespace) -> tuple[Document, str]:
    with training_set():
        from profet_lab.scalers.growth_file import growth_content, write_growth
    content = growth_content(open_measurements(options)[0])
    path = write_growth(content, Path(options.out))
    document: Document = {"out": str(path), "checksum": content["checksum"]}
    return document, f"{path}: how steps grow, from profiles of {len(content['laws'])} instances"


def _train_estimate(options: argparse.Namespace) -> tuple[Document, str]:
    with training_set():
        from profet_core.estimate.model import ESTIMATE_NAME
        from profet_lab.estimate.estimate_file import fit_and_write
    model = fit_and_write(open_measurements(options)[0], Path(options.out))
    path = Path(options.out) / ESTIMATE_NAME
    document: Document = {"out": str(path), "checksum": model.checksum}
    return document, f"{path}: costs of {len(model.costs)} GPUs and three corrections"


def _train_memory(options: argparse.Namespace) -> tuple[Document, str]:
    with training_set():
        from profet_lab.memory.memory_file import memory_content, write_memory
    content = memory_content(*open_measurements(options))
    path = write_memory(content, Path(options.out))
    document: Document = {"out": str(path), "checksum": content["checksum"]}
    return document, f"{path}: what {content['fitted_on']['cells']} workloads needed of memory"


def _train_transfer(options: argparse.Namespace) -> tuple[Document, str]:
    with training_set():
        from profet_core.transfer.model import TRANSFER_NAME
        from profet_lab.transfer.transfer_file import transfer_content, write_transfer
    model = write_transfer(transfer_content(*open_measurements(options)), Path(options.out))
    path = Path(options.out) / TRANSFER_NAME
    document: Document = {"out": str(path), "checksum": model.checksum}
    return document, f"{path}: {len(model.derived)} derived GPUs, {len(model.points)} with a published benchmark"


def _train_scaleout(options: argparse.Namespace) -> tuple[Document, str]:
    with training_set():
        from profet_core.scaleout.model import SCALEOUT_NAME
        from profet_lab.measurements.tables import data_folder
        from profet_lab.scaleout.scaleout_file import scaleout_content, write_scaleout
    content = scaleout_content(data_folder(options.data))
    model = write_scaleout(content, Path(options.out))
    path = Path(options.out) / SCALEOUT_NAME
    document: Document = {"out": str(path), "checksum": model.checksum}
    return document, f"{path}: a step on several GPUs, from {sum(content['fitted_on']['rows'].values())} published ones"


def _train_all(options: argparse.Namespace) -> tuple[Document, str]:
    with training_set():
        from profet_core.memory.model import MEMORY_NAME
        from profet_core.scaleout.model import SCALEOUT_NAME
        from profet_core.scaling.growth_file import GROWTH_NAME
        from profet_core.transfer.model import TRANSFER_NAME
        from profet_lab.memory.memory_file import memory_content
        from profet_lab.scaleout.rows import has_scale_rows
        from profet_lab.scaleout.scaleout_file import scaleout_content
        from profet_lab.scalers.growth_file import growth_content, measured_sizes
        from profet_lab.train import train
        from profet_lab.transfer.transfer_file import transfer_content
    measurements, folder = open_measurements(options)
    out = Path(options.out)
    # Seconds of work that fail if a file is missing: before the minutes.
    coefficients = {
        TRANSFER_NAME: transfer_content(measurements, folder),
        MEMORY_NAME: memory_content(measurements, folder),
        **({GROWTH_NAME: growth_content(measurements)} if measured_sizes(measurements) else {}),
        **({SCALEOUT_NAME: scaleout_content(folder)} if has_scale_rows(folder) else {}),
    }
    manifest = train(measurements, out, anchors=options.anchor, coefficients=coefficients, seed=options.seed)
    members = sum(len(row["targets"]) for row in manifest["members"])
    size_mb = sum(path.stat().st_size for path in out.rglob("*.npz")) / 2**20
    document: Document = {"out": str(out), "members": members, "size_mb": size_mb, "checksum": manifest["checksum"]}
    return document, f"{out}: {members} members, {size_mb:.1f} MB"
