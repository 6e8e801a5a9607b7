"""`profet validate --transfer`: accuracy on unprofiled GPUs."""

from __future__ import annotations

from collections.abc import Callable
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
from profet_lab.measurements.tables import Measurements
from profet_lab.progress import Progress
from profet_lab.transfer.benchmark_points import benchmark_points, load_published, sheet_log_sd
from profet_lab.transfer.epoch_correction import corrected_held_out
from profet_lab.transfer.leave_one_gpu_out import Kernels
from profet_lab.transfer.step_law import fit_step_law
from profet_lab.transfer.steps import Steps, all_steps, median_steps
from profet_lab.transfer.transfer_file import REFERENCE, transfer_content
from profet_lab.validation.derived import derived_report, route_report
from profet_lab.validation.ensemble_latencies import EnsembleLatencies, ensemble_latencies
from profet_lab.validation.held_out_anchors import fold_models, held_out_anchors
from profet_lab.validation.held_out_gpus import other_gpus, profiled_gpus
from profet_lab.validation.memory import memory_report
from profet_lab.validation.published import published_report, self_checks


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
        return benchmark_points(load_published(self.folder), self.law, self.medians, REFERENCE, load_gpus())[0]

    @cached_property
    def law(self) -> StepLaw:
        """Fitted on everything."""
        return fit_step_law(self.medians, self.medians.instances, np.ones(len(self.medians.workloads), bool))

    @cached_property
    def sheet_log_sd(self) -> float:
        """Error of specs."""
        return sheet_log_sd(self.points, self.law, REFERENCE, load_gpus())

    @cached_property
    def kernels(self) -> Kernels:
        """Speeds of single kernels."""
        return load_kernel_speeds(self.folder)

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """The other source's rows."""
        return load_epochs(self.folder, self.measurements.all_latencies)


def held_out_gpus_section(data: TransferData) -> dict:
    """Leave-one-GPU-out over the profiled GPUs, then over those of the other source."""
    epochs = data.epochs.assign(step_ms=corrected_held_out(data.epochs))
    return {
        **profiled_gpus(data.steps, data.medians, data.kernels, data.ensemble, data.sheet_log_sd),
        "other_gpus": other_gpus(
            data.medians,
            data.kernels,
            data.median_ensemble,
            epochs,
            data.points,
            REFERENCE,
            data.sheet_log_sd,
        ),
    }


def derived_section(data: TransferData) -> dict:
    """The routes between T4 and V100, then A10G and P100."""
    gpus = derived_report(data.epochs, data.medians, data.median_ensemble)
    return {"routes": route_report(data.epochs), "gpus": gpus}


def memory_section(data: TransferData) -> dict:
    """Does it fit: answers for architectures that nothing was fitted on."""
    return memory_report(data.measurements, data.folder)


def held_out_anchors_section(data: TransferData) -> dict:
    """Leave-one-GPU-out as anchor."""
    models = fold_models(data.bank, seed=data.seed, steps=data.network_steps, progress=data.progress)
    return held_out_anchors(models, data.steps, data.medians, data.kernels)


def published_section(data: TransferData) -> dict:
    """Published tables and self-checks of the shipped model."""
    gpus, model = load_gpus(), transfer_model(transfer_content(data.measurements, data.folder), load_gpus())
    published = load_published(data.folder)
    return {
        "tables": published_report(model, published, data.medians, data.folder, gpus),
        "self_checks": self_checks(model, data.medians, gpus),
    }


#: Name in the report -> what makes it. A section of another subject is one more line here and a printer in the command.
SECTIONS: dict[str, Callable[[TransferData], dict]] = {
    "left_out_gpus": held_out_gpus_section,
    "left_out_anchors": held_out_anchors_section,
    "published": published_section,
    "derived": derived_section,
    "memory": memory_section,
}


def transfer_report(data: TransferData) -> dict:
    """The "seed", and all sections by name."""
    return {"seed": data.seed, **{name: make(data) for name, make in SECTIONS.items()}}
