"""Trains all models from the published measurements, and writes a models folder of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.commands.train.trained import Trained
from profet_cli.lab import open_measurements, training_set


def train_all(options: argparse.Namespace) -> Trained:
    """Every member of every pair, and the coefficients that the data tell."""
    with training_set():
        from profet_core.memory.model import MEMORY_NAME
        from profet_core.multi_gpu.law import SCALEOUT_NAME
        from profet_core.precision.model import PRECISION_NAME
        from profet_core.sizes.growth import GROWTH_NAME
        from profet_core.transfer.model import TRANSFER_NAME
        from profet_lab.memory.memory_file import memory_content
        from profet_lab.precision.pairs import has_pairs
        from profet_lab.precision.precision_file import precision_content
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
        **({PRECISION_NAME: precision_content(measurements, folder)} if has_pairs(folder, measurements) else {}),
        **({SCALEOUT_NAME: scaleout_content(folder)} if has_scale_rows(folder) else {}),
    }
    manifest = train(measurements, out, anchors=options.anchor, coefficients=coefficients, seed=options.seed)
    members = sum(len(row["targets"]) for row in manifest["members"])
    size_mb = sum(path.stat().st_size for path in out.rglob("*.npz")) / 2**20
    document = {"out": str(out), "members": members, "size_mb": size_mb, "checksum": manifest["checksum"]}
    return Trained(document, (f"{out}: {members} members, {size_mb:.1f} MB",))
