"""`profet validate --transfer`: accuracy on unprofiled GPUs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from profet_core.catalog.gpus import load_gpus
from profet_core.transfer.model import transfer_model
from profet_lab.classes.bank import class_bank
from profet_lab.classes.fit_networks import STEPS
from profet_lab.measurements.epoch_times import load_epochs
from profet_lab.measurements.published_points import published_ratios
from profet_lab.measurements.tables import Measurements
from profet_lab.progress import Progress
from profet_lab.transfer.benchmark_points import benchmark_points
from profet_lab.transfer.epoch_correction import corrected_held_out
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import all_steps, median_steps
from profet_lab.transfer.transfer_file import REFERENCE, transfer_content
from profet_lab.validation.derived import derived_report, route_report
from profet_lab.validation.ensemble_latencies import ensemble_latencies
from profet_lab.validation.held_out_anchors import fold_models, held_out_anchors
from profet_lab.validation.held_out_gpus import other_gpus, plain_specs_log_sd, profiled_gpus
from profet_lab.validation.memory import memory_report
from profet_lab.validation.published import published_report, self_checks


def transfer_report(
    measurements: Measurements, folder: Path, *, seed: int = 0, steps: int = STEPS, progress: Progress | None = None
) -> dict:
    """The seed; GPUs held out as target and as anchor; published tables; derived GPUs; memory fit.

    Parameters
    ----------
    steps : of each network's training.
    """
    gpus, bank = load_gpus(), class_bank(measurements)
    every = all_steps(bank, measurements.workloads)
    medians = median_steps(every)
    # Every run as the default method predicts it that never saw the architecture.
    ensemble = ensemble_latencies(bank, seed=seed, steps=steps, progress=progress)
    median_ensemble = ensemble.medians(every)
    law = fit_step_law(medians, medians.instances, np.ones(len(medians.workloads), bool))
    points = benchmark_points(published_ratios(folder), law, REFERENCE, gpus)[1]
    sheet_log_sd = plain_specs_log_sd(points, law, REFERENCE, gpus)
    model = transfer_model(transfer_content(measurements, folder), gpus)
    epochs = load_epochs(folder, measurements.all_latencies)
    corrected = epochs.assign(step_ms=corrected_held_out(epochs))
    models = fold_models(bank, seed=seed, steps=steps, progress=progress)
    return {
        "seed": seed,
        "left_out_gpus": {
            **profiled_gpus(every, medians, ensemble, sheet_log_sd),
            "other_gpus": other_gpus(medians, median_ensemble, corrected, points, REFERENCE, sheet_log_sd),
        },
        "left_out_anchors": held_out_anchors(models, every, medians),
        "published": {
            "tables": published_report(model, medians, folder, gpus),
            "self_checks": self_checks(model, medians, gpus),
        },
        "derived": {
            "routes": route_report(epochs),
            "gpus": derived_report(epochs, medians, median_ensemble),
        },
        "memory": memory_report(measurements, folder),
    }
