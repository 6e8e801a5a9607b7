"""Fits and writes `transfer.json`: everything that reaches GPUs nobody profiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from profet_core.catalog.gpus import load_gpus
from profet_core.files import manifest_checksum, sha256_hex
from profet_core.transfer.model import TRANSFER_NAME, TRANSFER_VERSION, TransferModel, transfer_model
from profet_lab.classes.bank import class_bank
from profet_lab.coefficient_files import write_coefficients
from profet_lab.measurements.epoch_times import EPOCHS_FILE, load_epochs
from profet_lab.measurements.published_points import POINTS_FILE, load_speeds
from profet_lab.measurements.tables import ARCHITECTURES_FILE, Measurements
from profet_lab.transfer.benchmark_points import benchmark_points, other_chip_log_sd
from profet_lab.transfer.derived_law import fit_derived
from profet_lab.transfer.leave_one_gpu_out import spread
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import all_steps, median_steps

#: Instance with the GPU that published points are relative to.
REFERENCE = "p3.2xlarge"


def transfer_content(measurements: Measurements, folder: Path) -> dict:
    """What `transfer.json` holds, fitted on all measurements and the files of `folder/external`.

    Raises
    ------
    DataError : one of the files is missing.
    """
    epochs, speeds = load_epochs(folder, measurements.all_latencies), load_speeds(folder)
    medians = median_steps(all_steps(class_bank(measurements), measurements.workloads))
    everything = np.ones(len(medians.workloads), bool)
    law = fit_step_law(medians, medians.instances, everything)
    instances = medians.instances
    content = {
        "schema_version": TRANSFER_VERSION,
        "reference": REFERENCE,
        "step": {
            "start_ms": law.start_ms,
            "copy_factor": law.copy_factor,
            "profiling_slowdown": law.profiling_slowdown,
            "instances": {name: asdict(row) for name, row in law.instances.items()},
        },
        "spread": asdict(spread(medians, instances, everything, sheet_only=False)),
        "sheet_spread": asdict(spread(medians, instances, everything, sheet_only=True)),
        "relative_log_sd": other_chip_log_sd(speeds),
        "points": {name: asdict(row) for name, row in benchmark_points(speeds, medians, REFERENCE).items()},
        "derived": {name: asdict(row) for name, row in fit_derived(epochs).items()},
        "fitted_on": {
            **measurements.sha256,
            **{
                str(name): sha256_hex((folder / name).read_bytes())
                for name in (ARCHITECTURES_FILE, EPOCHS_FILE, POINTS_FILE)
            },
        },
    }
    return {**content, "checksum": manifest_checksum(content)}


def write_transfer(content: Mapping, out: Path) -> TransferModel:
    """Write `out/transfer.json`; the folder's other files stay as they are."""
    write_coefficients(content, out / TRANSFER_NAME)
    return transfer_model(content, load_gpus())
