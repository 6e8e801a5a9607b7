"""Write `transfer.json`: the transfer of steps between GPUs, and the rates of all GPUs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import to_builtins
from msgspec.structs import asdict

from profet_core.catalog.gpus import load_gpus
from profet_core.files import sha256_hex
from profet_core.transfer.model import TRANSFER_VERSION
from profet_core.transfer.step_model import StepModel
from profet_lab.measurements.published import (
    FORWARD_FILE,
    MLPERF_FILE,
    MORE_POINTS_FILE,
    POINTS_FILE,
    THROUGHPUT_FILE,
)
from profet_lab.measurements.tables import ARCHITECTURES_FILE, Measurements
from profet_lab.models_folder import rounded, signed
from profet_lab.transfer.leave_one_gpu_out import anchor_spread, spread
from profet_lab.transfer.rates import (
    evidence_widths,
    fit_rates,
    held_out_tables,
    published_evidence,
    rates_content,
)
from profet_lab.transfer.step_model import fit_step_model, measured_medians
from profet_lab.transfer.work import fit_readers, readers_content, with_launches

_FILES = (ARCHITECTURES_FILE, POINTS_FILE, MORE_POINTS_FILE, THROUGHPUT_FILE, MLPERF_FILE, FORWARD_FILE)
#: Instance with the GPU that rates are relative to.
REFERENCE = "p3.2xlarge"


def _step_content(step_model: StepModel) -> dict:
    content = to_builtins(step_model)
    for name, row in content["instances"].items():
        content["instances"][name] = {key.replace("inferred_", "own_"): value for key, value in row.items()}
    return content


def transfer_content(measurements: Measurements, folder: Path) -> dict:
    """What `transfer.json` holds, fitted on all measurements and the files of `folder/external`."""
    medians = measured_medians(measurements)
    everything = np.ones(len(medians.workloads), bool)
    step_model = fit_step_model(medians, medians.instances, everything)
    evidence = published_evidence(measurements, folder, step_model, REFERENCE, load_gpus())
    between_gpus = spread(medians, medians.instances, everything)
    widths = evidence_widths(held_out_tables(evidence, between_gpus))
    content = {
        "schema_version": TRANSFER_VERSION,
        "reference": REFERENCE,
        "step": _step_content(step_model),
        "spread": asdict(between_gpus),
        "anchor_spread": asdict(anchor_spread(medians, medians.instances, everything)),
        "rates": rounded(rates_content(fit_rates(evidence), evidence, widths)),
        "work": readers_content(with_launches(fit_readers(medians, everything), medians, step_model, everything)),
        "fitted_on": {
            **measurements.sha256,
            **{str(name): sha256_hex((folder / name).read_bytes()) for name in _FILES},
        },
    }
    return signed(content)
