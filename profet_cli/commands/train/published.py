"""Train on the published measurements: a whole models folder, or one of its files of coefficients."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from profet_cli.lab import open_measurements, training_set
from profet_core.documents.records import Document

if TYPE_CHECKING:
    from profet_lab.measurements.tables import Measurements

#: What `--format json` prints, and the lines that are printed without it.
Trained = tuple[Document, Sequence[str]]


def train_part(options: argparse.Namespace, part: str) -> Trained:
    """One file of coefficients, beside the models there are."""
    with training_set():
        from profet_core.from_layers.model import ESTIMATE_NAME
        from profet_lab.coefficient_files import write_coefficients
        from profet_lab.estimate.estimate_file import fit_and_write
    out = Path(options.out)
    measurements, folder = open_measurements(options)
    if part == "estimate":
        path, checksum = out / ESTIMATE_NAME, fit_and_write(measurements, out).checksum
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
        from profet_core.memory.model import MEMORY_NAME
        from profet_core.multi_gpu.law import SCALEOUT_NAME
        from profet_core.precision.model import PRECISION_NAME
        from profet_core.sizes.growth import GROWTH_NAME
        from profet_core.transfer.model import TRANSFER_NAME
        from profet_lab.memory.memory_file import memory_content
        from profet_lab.precision.pairs import has_pairs
        from profet_lab.precision.precision_file import precision_content
        from profet_lab.scaleout.folds import scaleout_content
        from profet_lab.scaleout.rows import has_scale_rows
        from profet_lab.scalers.growth import growth_content, measured_sizes
        from profet_lab.transfer.transfer_file import transfer_content
    return {
        "transfer": (TRANSFER_NAME, lambda: transfer_content(data, folder), lambda: True),
        "memory": (MEMORY_NAME, lambda: memory_content(data, folder), lambda: True),
        "sizes": (GROWTH_NAME, lambda: growth_content(data), lambda: bool(measured_sizes(data))),
        "precision": (PRECISION_NAME, lambda: precision_content(data, folder), lambda: has_pairs(folder, data)),
        "scaleout": (SCALEOUT_NAME, lambda: scaleout_content(folder), lambda: has_scale_rows(folder)),
    }
