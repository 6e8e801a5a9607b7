"""Fit and write `transfer.json`: the transfer to unprofiled GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from profet_core.catalog.gpus import load_gpus
from profet_core.files import sha256_hex
from profet_core.transfer.model import TRANSFER_NAME, TRANSFER_VERSION, TransferModel, transfer_model
from profet_lab.classes.bank import class_bank
from profet_lab.coefficient_files import signed, write_coefficients
from profet_lab.measurements.epoch_times import EPOCHS_FILE, load_epochs
from profet_lab.measurements.published_points import MORE_POINTS_FILE, POINTS_FILE, THROUGHPUT_FILE, published_ratios
from profet_lab.measurements.tables import ARCHITECTURES_FILE, Measurements
from profet_lab.transfer.benchmark_points import benchmark_points
from profet_lab.transfer.derived_law import fit_derived
from profet_lab.transfer.leave_one_gpu_out import anchor_spread, spread
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import all_steps, median_steps

_FILES = (ARCHITECTURES_FILE, EPOCHS_FILE, POINTS_FILE, MORE_POINTS_FILE, THROUGHPUT_FILE)
#: Instance with the GPU that published points are relative to.
REFERENCE = "p3.2xlarge"


def transfer_content(measurements: Measurements, folder: Path) -> dict:
    """What `transfer.json` holds, fitted on all measurements and the files of `folder/external`.

    Raises
    ------
    DataError : one of the files is missing.
    """
    epochs = load_epochs(folder, measurements.all_latencies)
    medians = median_steps(all_steps(class_bank(measurements), measurements.workloads))
    gpus = load_gpus()
    everything = np.ones(len(medians.workloads), bool)
    law = fit_step_law(medians, medians.instances, everything)
    specs, points, fp32_points = benchmark_points(published_ratios(folder), law, REFERENCE, gpus)
    content = {
        "schema_version": TRANSFER_VERSION,
        "reference": REFERENCE,
        "step": asdict(law),
        "spread": asdict(spread(medians, medians.instances, everything)),
        "anchor_spread": asdict(anchor_spread(medians, medians.instances, everything)),
        "specs": {
            **asdict(specs),
            "coefficients": specs.coefficients.tolist(),
            "covariance": specs.covariance.tolist(),
        },
        "points": {name: asdict(row) for name, row in points.items()},
        "fp32_points": {name: asdict(row) for name, row in fp32_points.items()},
        "derived": {name: asdict(row) for name, row in fit_derived(epochs).items()},
        "fitted_on": {
            **measurements.sha256,
            **{str(name): sha256_hex((folder / name).read_bytes()) for name in _FILES},
        },
    }
    return signed(content)


def write_transfer(content: Mapping, out: Path) -> TransferModel:
    """Write `out/transfer.json`; the folder's other files stay as they are."""
    write_coefficients(content, out / TRANSFER_NAME)
    return transfer_model(content, load_gpus())
