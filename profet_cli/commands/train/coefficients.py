"""Trains one file of coefficients alone, beside the models there are."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.commands.train.trained import Trained
from profet_cli.lab import open_measurements, training_set


def train_sizes(options: argparse.Namespace) -> Trained:
    """`growth.json`."""
    with training_set():
        from profet_lab.scalers.growth_file import growth_content, write_growth
    content = growth_content(open_measurements(options)[0])
    path = write_growth(content, Path(options.out))
    said = f"{path}: scaling with batch and pixel size, from profiles of {len(content['laws'])} instances"
    return _written(path, content["checksum"], said)


def train_estimate(options: argparse.Namespace) -> Trained:
    """`estimate.json`, and its trees."""
    with training_set():
        from profet_core.from_layers.model import ESTIMATE_NAME
        from profet_lab.estimate.estimate_file import fit_and_write
    model = fit_and_write(open_measurements(options)[0], Path(options.out))
    path = Path(options.out) / ESTIMATE_NAME
    return _written(path, model.checksum, f"{path}: costs of {len(model.costs)} GPUs and three corrections")


def train_memory(options: argparse.Namespace) -> Trained:
    """`memory.json`."""
    with training_set():
        from profet_lab.memory.memory_file import memory_content, write_memory
    content = memory_content(*open_measurements(options))
    path = write_memory(content, Path(options.out))
    said = f"{path}: memory use of {content['fitted_on']['cells']} workloads"
    return _written(path, content["checksum"], said)


def train_transfer(options: argparse.Namespace) -> Trained:
    """`transfer.json`."""
    with training_set():
        from profet_core.transfer.model import TRANSFER_NAME
        from profet_lab.transfer.transfer_file import transfer_content, write_transfer
    model = write_transfer(transfer_content(*open_measurements(options)), Path(options.out))
    path = Path(options.out) / TRANSFER_NAME
    said = f"{path}: {len(model.derived)} derived GPUs, {len(model.points)} with a published benchmark"
    return _written(path, model.checksum, said)


def train_scaleout(options: argparse.Namespace) -> Trained:
    """`scaleout.json`."""
    with training_set():
        from profet_core.multi_gpu.law import SCALEOUT_NAME
        from profet_lab.measurements.tables import data_folder
        from profet_lab.scaleout.scaleout_file import scaleout_content, write_scaleout
    content = scaleout_content(data_folder(options.data))
    model = write_scaleout(content, Path(options.out))
    path = Path(options.out) / SCALEOUT_NAME
    rows = sum(content["fitted_on"]["rows"].values())
    return _written(path, model.checksum, f"{path}: multi-GPU steps, from {rows} published ones")


def train_precision(options: argparse.Namespace) -> Trained:
    """`precision.json`."""
    with training_set():
        from profet_core.precision.model import PRECISION_NAME
        from profet_lab.precision.precision_file import precision_content, write_precision
    content = precision_content(*open_measurements(options))
    model = write_precision(content, Path(options.out))
    path = Path(options.out) / PRECISION_NAME
    return _written(path, model.checksum, f"{path}: AMP and TF32, from {content['fitted_on']['pairs']} published pairs")


def _written(path: Path, checksum: str, said: str) -> Trained:
    return Trained({"out": str(path), "checksum": checksum}, (said,))
