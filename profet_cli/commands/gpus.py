"""`profet gpus`: GPUs of the user's, each an instance of the catalog, and the precisions of all."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.arguments import add_format
from profet_cli.inputs import known_gpus
from profet_cli.output import MISSING, print_json, print_table
from profet_cli.parsing import OneLineParser, add_commands
from profet_core.artifacts.models import MANIFEST_NAME, load_models
from profet_core.catalog import load_catalog, load_gpus
from profet_core.catalog.own import changing_own, writable
from profet_core.catalog.own_gpus import (
    GPU_COLUMNS,
    HAS_NONE,
    OWN_GPUS_VARIABLE,
    PRECISIONS,
    USD_PER_KWH,
    OwnGpu,
    ThroughputPoint,
    changed_cells,
    own_gpu_of,
    own_gpus_path,
    read_own_gpus,
    write_own_gpus,
)
from profet_core.documents.gpus import GPU_PRECISIONS, OWN_GPU
from profet_core.documents.records import many
from profet_core.errors import InputError
from profet_core.files import home_folder, shipped_folder
from profet_core.precision.model import amp_words, supported_precisions
from profet_core.transfer.own_gpu import check_own_gpu
from profet_core.units import listed_price

#: Action -> its line in `profet gpus --help`.
ACTIONS = {
    "list": "list your custom GPUs (default action)",
    "known": "list all GPUs with the precisions they support, and what AMP does on each",
    "add": "add or change a custom GPU",
    "remove": "remove a custom GPU",
}
#: Column of the file -> what its option is for.
_OPTIONS = {
    "like": "similar GPU that missing specs are taken from, such as L4",
    "fp32_tflops": "peak FP32 throughput",
    "tf32_tensor_dense_tflops": f"peak TF32 throughput without sparsity; {HAS_NONE}: no TF32",
    "memory_gib": "memory size",
    "bandwidth_gb_per_s": "memory bandwidth",
    "tdp_w": "power limit",
    "images_per_s": "training throughput on one GPU, measured or published",
    "network": "network of the throughput, such as ResNet50",
    "pixels": "pixel size of the throughput (default: 224)",
    "batch_size": "batch size of the throughput",
    "precision": f"{' or '.join(PRECISIONS)} (default: {PRECISIONS[0]})",
    "times_reference": "speed relative to a V100, instead of a throughput",
    "times_log_sd": "uncertainty of that speed: standard deviation of its logarithm, such as 0.1",
    "usd_per_hour": f"price per hour (default: electricity for the power limit at ${USD_PER_KWH:.2f} per kWh)",
    "as_of": "date of these values, such as 2026-06-30 (default: today)",
    "source": "source of the throughput",
}


def add_arguments(parser: OneLineParser) -> None:
    """The actions with their arguments."""
    add_format(parser)
    actions = add_commands(parser, ACTIONS, dest="action")
    for name, action in actions.items():
        add_format(action, default=argparse.SUPPRESS)
        if name in ("add", "remove"):
            action.add_argument("name", metavar="NAME")
    for column in GPU_COLUMNS[1:]:
        actions["add"].add_argument(f"--{column.replace('_', '-')}", metavar="X", help=_OPTIONS[column])
    actions["known"].set_defaults(run=_list_known)
    actions["add"].set_defaults(run=_add)
    actions["remove"].set_defaults(run=_remove)


def run(options: argparse.Namespace) -> None:
    """List the custom GPUs."""
    rows = read_own_gpus(own_gpus_path(), load_gpus())
    if options.format == "json":
        print_json(many(OWN_GPU).document(rows))
        return
    print_table(
        ("GPU", "instance", "like", "GiB", "images/s", "$/h"),
        [
            (
                row.name,
                row.instance,
                row.like,
                f"{row.gpu.memory_gib:g}",
                f"{row.point.images_per_s:g} of {row.point.network}"
                if isinstance(row.point, ThroughputPoint)
                else MISSING,
                listed_price(row.offer.usd_per_hour),
            )
            for row in rows
        ],
    )


def _list_known(options: argparse.Namespace) -> None:
    gpus = known_gpus().values()
    if options.format == "json":
        print_json(many(GPU_PRECISIONS).document(gpus))
        return
    print_table(
        ("GPU", "GiB", "precisions", "AMP"),
        [
            (gpu.name, f"{gpu.memory_gib:g}", ", ".join(map(str.upper, supported_precisions(gpu))), amp_words(gpu))
            for gpu in gpus
        ],
    )


def _add(options: argparse.Namespace) -> None:
    shipped, home, path = load_gpus(), home_folder(), writable(own_gpus_path(), OWN_GPUS_VARIABLE)
    # A custom folder may have no models to check a speed against.
    has_models = home is None or (home / MANIFEST_NAME).exists()
    transfer = load_models(None if has_models else shipped_folder("models")).transfer
    given = {column: getattr(options, column) or "" for column in GPU_COLUMNS[1:]}
    with changing_own(path):
        rows = read_own_gpus(path, shipped)
        old = next((row for row in rows if row.name == options.name), None)
        # What was said of the GPU before counts if it is still like the same one.
        if old is not None and given["like"] and shipped.find(given["like"]).name != old.like:
            old = None
        new = own_gpu_of({"gpu": options.name, **given} if old is None else changed_cells(old, given), shipped)
        if transfer is not None:
            check_own_gpu(transfer, new)
        if new.instance in load_catalog():
            raise InputError(f"Instance {new.instance} exists: give {new.name} another name.")
        write_own_gpus(path, [*(row for row in rows if row.name != new.name), new])
    _say(options, path, "gpu", new, f"is {new.instance}, {listed_price(new.offer.usd_per_hour)}/h; saved in {path}")


def _remove(options: argparse.Namespace) -> None:
    path, shipped = writable(own_gpus_path(), OWN_GPUS_VARIABLE), load_gpus()
    with changing_own(path):
        rows = read_own_gpus(path, shipped)
        removed = next((row for row in rows if row.name == options.name), None)
        if removed is None:
            names = ", ".join(row.name for row in rows) or "none"
            raise InputError(f"Your file {path} has no GPU {options.name!r}; it has: {names}.")
        write_own_gpus(path, [row for row in rows if row is not removed])
    _say(options, path, "removed", removed, f"is removed from {path}")


def _say(options: argparse.Namespace, path: Path, key: str, own: OwnGpu, text: str) -> None:
    if options.format == "json":
        print_json({"file": str(path), key: OWN_GPU.document(own)})
    else:
        print(f"{own.name} {text}")
