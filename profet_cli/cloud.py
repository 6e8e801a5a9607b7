"""`profet collect --cloud`: a fleet's tasks, with what they take and cost, from arguments to a folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from profet_cli.output import print_json, print_table
from profet_collect.fleet import (
    MARKETS,
    CloudTask,
    accelerator_of,
    bucket_of,
    cheapest_of,
    check_new,
    cloud_tasks,
    fetch_text,
    instances_named,
    launch_text,
    task_text,
    write_folder,
)
from profet_collect.grid import Grid
from profet_collect.run import Protocol
from profet_core.catalog import load_catalog
from profet_core.catalog.instance import ON_DEMAND, SPOT
from profet_core.documents.records import Document
from profet_core.errors import InputError
from profet_core.fields.field import names
from profet_core.units import format_duration

#: Options that say what is measured: a machine of the fleet gets them as they were given here.
_PASSED_ON = ("models_list", "pixels", "batch", "precision", "repeats", "warm_up", "timed", "timeout", "seed")


def add_cloud(parser: argparse.ArgumentParser) -> None:
    """What a fleet is made of."""
    add = parser.add_argument_group("a fleet").add_argument
    add("--cloud", metavar="DIR", help="write one SkyPilot task per GPU type to a new folder; rents nothing")
    add(
        "--gpu",
        type=names,
        metavar="A,B",
        help="GPU types, such as V100,T4; uses the cheapest machine of each (or --instance A,B)",
    )
    add("--bucket", metavar="URL", help="bucket for the cells: s3://my-bucket or gs://my-bucket/folder")
    add("--market", choices=MARKETS, help="spot, which resumes after interruptions, or on-demand (default: spot)")
    add("--provider", type=names, metavar="A,B", help="only these clouds: aws,gcp")


def is_cloud(options: argparse.Namespace) -> bool:
    """Whether a fleet is asked for.

    Raises
    ------
    InputError : a fleet's options without it, or this machine's with it.
    """
    of_fleet = [name for name in ("gpu", "bucket", "market", "provider") if getattr(options, name) is not None]
    if options.cloud is None:
        if of_fleet:
            raise InputError(f"--{of_fleet[0]} is for a fleet: use it with --cloud DIR.")
        return False
    here = {"--out": options.out, "--threads": options.threads, "--device cpu": options.device == "cpu" or None}
    for name, given in here.items():
        if given is not None:
            raise InputError(f"{name} is for this machine: remove it with --cloud.")
    if (options.gpu is None) == (options.instance is None):
        raise InputError("Name GPU types with --gpu V100,T4, or instances with --instance g4dn.xlarge,g5.xlarge.")
    if options.instance is not None and options.provider is not None:
        raise InputError("--provider is for --gpu: remove it with --instance.")
    return True


def run_cloud(options: argparse.Namespace, grid: Grid, protocol: Protocol) -> None:
    """Choose machines, tell what they cost, and write the folder (with `--plan`: not that)."""
    market = options.market or SPOT
    catalog = load_catalog()
    if options.instance is not None:
        fleet = instances_named(catalog, names(options.instance), market)
    else:
        fleet = cheapest_of(catalog, options.gpu, market, [name.lower() for name in options.provider or ()])
    if not fleet:
        raise InputError("Name at least one GPU: --gpu V100,T4.")
    tasks = cloud_tasks(catalog, fleet, grid, protocol, is_quick=options.quick)
    folder = Path(options.cloud).expanduser()
    if not options.plan:
        _write(options, grid, tasks, folder, market)
    _show(options, tasks, folder, market)


def _write(options: argparse.Namespace, grid: Grid, tasks: Sequence[CloudTask], folder: Path, market: str) -> None:
    check_new(folder)
    if options.bucket is None:
        raise InputError("Name your bucket for the cells: --bucket s3://my-bucket.")
    bucket = bucket_of(options.bucket)
    collect = ["--frameworks", ",".join(grid.frameworks), *(["--quick"] if options.quick else [])]
    for name in _PASSED_ON:
        collect += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    texts = {f"{one.name}.yaml": task_text(one, bucket, market, grid.frameworks, collect) for one in tasks}
    write_folder(folder, {**texts, "launch.sh": launch_text(tasks), "fetch.sh": fetch_text(tasks, bucket)})


def _show(options: argparse.Namespace, tasks: Sequence[CloudTask], folder: Path, market: str) -> None:
    out = None if options.plan else str(folder)
    total = sum(one.usd(market) or 0.0 for one in tasks)
    if options.format == "json":
        document: Document = {
            "out": out,
            "market": market,
            "usd": round(total, 2),
            "tasks": [_document(one) for one in tasks],
        }
        print_json(document)
        return
    print_table(
        ("instance", "GPU", "cloud", "cells", "time", "spot", "on demand"),
        [
            (
                one.offer.name,
                one.gpu.model,
                one.offer.provider,
                str(len(one.cells)),
                format_duration(one.seconds),
                _price(one, SPOT),
                _price(one, ON_DEMAND),
            )
            for one in tasks
        ],
    )
    longest = max(one.seconds for one in tasks)
    print(
        f"{len(tasks)} {'machine' if len(tasks) == 1 else 'machines'}, {market}: about ${total:.2f} and "
        f"{format_duration(longest)}, including start-up and installation; SkyPilot's jobs controller, a small "
        "machine, costs extra"
    )
    if out is not None:
        print(
            f"written to {out}; nothing is rented: run {out}/launch.sh to launch and {out}/fetch.sh to fetch and merge"
        )


def _document(task: CloudTask) -> Document:
    return {
        "name": task.name,
        "instance": task.offer.name,
        "gpu": task.gpu.name,
        "provider": task.offer.provider,
        "accelerator": accelerator_of(task.offer),
        "cells": len(task.cells),
        "minutes": round(task.seconds / 60, 1),
        "usd_spot": _rounded(task.usd(SPOT)),
        "usd_on_demand": _rounded(task.usd(ON_DEMAND)),
    }


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 2)


def _price(task: CloudTask, market: str) -> str:
    usd = task.usd(market)
    return "-" if usd is None else f"${usd:.2f}"
