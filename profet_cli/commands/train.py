"""`profet train`: fit all models from the measurements."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.arguments import add_anchors, add_data, add_format
from profet_cli.lab import open_measurements, training_set
from profet_cli.output import print_json
from profet_core.documents.parts import Document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The measurements, the folder to write, and which part of it."""
    add_format(parser)
    add_data(parser)
    parser.add_argument("--out", default="models", metavar="DIR", help="folder to write (default: models)")
    add_anchors(parser)
    parser.add_argument("--transfer", action="store_true", help="only transfer.json, for GPUs nobody profiled")
    parser.add_argument("--memory", action="store_true", help="only memory.json, for what fits in a GPU's memory")
    parser.add_argument("--scaleout", action="store_true", help="only scaleout.json, for several GPUs")
    parser.add_argument("--sizes", action="store_true", help="only growth.json, for other batch and pixel sizes")
    parser.add_argument("--estimate", action="store_true", help="only estimate.json, for networks without a profile")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> None:
    """Train and write the models folder, or one of its files of coefficients alone."""
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
    if options.format == "json":
        print_json(document)
    else:
        print(line)


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
