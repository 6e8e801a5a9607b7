"""`profet validate --transfer`: accuracy on unprofiled GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_core.transfer.law import StepLaw
from profet_core.transfer.model import BenchmarkPoint, transfer_model
from profet_lab.classes.bank import ClassBank, class_bank
from profet_lab.classes.fit_networks import STEPS
from profet_lab.measurements.epoch_times import load_epochs
from profet_lab.measurements.kernels import load_kernel_speeds
from profet_lab.measurements.published_points import published_ratios
from profet_lab.measurements.tables import Measurements
from profet_lab.progress import Progress
from profet_lab.transfer.benchmark_points import benchmark_points
from profet_lab.transfer.epoch_correction import corrected_held_out
from profet_lab.transfer.leave_one_gpu_out import Kernels
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import Steps, all_steps, median_steps
from profet_lab.transfer.transfer_file import REFERENCE, transfer_content
from profet_lab.validation.derived import derived_report, route_report
from profet_lab.validation.ensemble_latencies import EnsembleLatencies, ensemble_latencies
from profet_lab.validation.held_out_anchors import fold_models, held_out_anchors
from profet_lab.validation.held_out_gpus import other_gpus, plain_specs_log_sd, profiled_gpus
from profet_lab.validation.memory import memory_report
from profet_lab.validation.published import published_report


@dataclass(frozen=True)
class TransferData:
    """What sections read; the costly parts are made once, when first needed."""

    measurements: Measurements
    folder: Path
    seed: int = 0
    network_steps: int = STEPS
    progress: Progress | None = None

    @cached_property
    def bank(self) -> ClassBank:
        """Class times of all profiles."""
        return class_bank(self.measurements)

    @cached_property
    def steps(self) -> Steps:
        """Every run."""
        return all_steps(self.bank, self.measurements.workloads)

    @cached_property
    def medians(self) -> Steps:
        """Every workload."""
        return median_steps(self.steps)

    @cached_property
    def ensemble(self) -> EnsembleLatencies:
        """Every run as the default method predicts it that never saw the architecture."""
        return ensemble_latencies(self.bank, seed=self.seed, steps=self.network_steps, progress=self.progress)

    @cached_property
    def median_ensemble(self) -> EnsembleLatencies:
        """The same of every workload."""
        return self.ensemble.medians(self.steps)

    @cached_property
    def points(self) -> dict[str, BenchmarkPoint]:
        """Published speeds of other GPUs."""
        return benchmark_points(published_ratios(self.folder), self.law, REFERENCE, load_gpus())[1]

    @cached_property
    def law(self) -> StepLaw:
        """Fitted on everything."""
        return fit_step_law(self.medians, self.medians.instances, np.ones(len(self.medians.workloads), bool))

    @cached_property
    def sheet_log_sd(self) -> float:
        """Error of specs."""
        return plain_specs_log_sd(self.points, self.law, REFERENCE, load_gpus())

    @cached_property
    def kernels(self) -> Kernels:
        """Speeds of single kernels."""
        return load_kernel_speeds(self.folder)

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """The other source's rows."""
        return load_epochs(self.folder, self.measurements.all_latencies)


def transfer_report(data: TransferData) -> dict:
    """The seed; GPUs held out as target and as anchor; published tables; derived GPUs; memory fit."""
    gpus, medians, kernels = load_gpus(), data.medians, data.kernels
    model = transfer_model(transfer_content(data.measurements, data.folder), gpus)
    epochs = data.epochs.assign(step_ms=corrected_held_out(data.epochs))
    models = fold_models(data.bank, seed=data.seed, steps=data.network_steps, progress=data.progress)
    ensemble, sheet_log_sd = data.median_ensemble, data.sheet_log_sd
    return {
        "seed": data.seed,
        "left_out_gpus": {
            **profiled_gpus(data.steps, medians, kernels, data.ensemble, sheet_log_sd),
            "other_gpus": other_gpus(medians, kernels, ensemble, epochs, data.points, REFERENCE, sheet_log_sd),
        },
        "left_out_anchors": held_out_anchors(models, data.steps, medians, kernels),
        "published": {"tables": published_report(model, medians, data.folder, gpus)},
        "derived": {
            "routes": route_report(data.epochs),
            "gpus": derived_report(data.epochs, medians, ensemble),
        },
        "memory": memory_report(data.measurements, data.folder),
    }
