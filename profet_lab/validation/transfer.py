"""`profet validate --transfer`: how well GPUs are reached that nobody profiled, section by section."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from profet_core.accuracy.transfer_report import TRANSFER_REPORT_NAME, read_transfer_accuracy
from profet_core.files import manifest_checksum
from profet_core.memory.model import MemoryModel
from profet_core.transfer.model import BenchmarkPoint, TransferModel
from profet_lab.cards.transfer import TRANSFER_CARD_NAME, transfer_card
from profet_lab.classes.bank import ClassBank, class_bank
from profet_lab.classes.stacked import STEPS
from profet_lab.measurements.data import Measurements
from profet_lab.measurements.epoch_times import corrected_left_out, load_epochs
from profet_lab.measurements.published_points import benchmark_points, load_speeds
from profet_lab.transfer.fit import REFERENCE
from profet_lab.transfer.steps import Steps, all_steps, median_steps
from profet_lab.validation.default import Progress
from profet_lab.validation.derived import derived_report, route_report
from profet_lab.validation.gpus import LeftOutNetworks, left_out_networks, median_networks, other_gpus, profiled_gpus
from profet_lab.validation.memory import memory_report


@dataclass(frozen=True)
class TransferData:
    """What sections read; the costly parts are made once, when first asked for."""

    measurements: Measurements
    folder: Path
    seed: int = 0
    network_steps: int = STEPS
    progress: Progress = None

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
    def networks(self) -> LeftOutNetworks:
        """Predictions of networks that never saw the architecture."""
        return left_out_networks(self.bank, seed=self.seed, steps=self.network_steps, progress=self.progress)

    @cached_property
    def points(self) -> dict[str, BenchmarkPoint]:
        """Published speeds of other GPUs."""
        return benchmark_points(load_speeds(self.folder), self.medians, REFERENCE)

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """The other source's rows."""
        return load_epochs(self.folder, self.measurements.all_latencies)


def left_out_gpus_section(data: TransferData) -> dict:
    """Leave-one-GPU-out over the profiled GPUs, then over those of the other source."""
    medians, networks = data.medians, median_networks(data.networks, data.steps)
    return {
        **profiled_gpus(data.steps, medians, data.networks),
        "other_gpus": other_gpus(
            medians, networks, data.epochs, corrected_left_out(data.epochs), data.points, REFERENCE
        ),
    }


def derived_section(data: TransferData) -> dict:
    """The routes between T4 and V100, then A10G and P100."""
    networks = median_networks(data.networks, data.steps)
    return {"routes": route_report(data.epochs), "gpus": derived_report(data.epochs, data.medians, networks)}


def memory_section(data: TransferData) -> dict:
    """Does it fit, asked of architectures that nothing was fitted on."""
    return memory_report(data.measurements, data.folder)


#: Name in the report -> what makes it. A section of another subject is one more line here and a printer in the command.
SECTIONS: dict[str, Callable[[TransferData], dict]] = {
    "left_out_gpus": left_out_gpus_section,
    "derived": derived_section,
    "memory": memory_section,
}


def transfer_report(data: TransferData) -> dict:
    """The "seed", and all sections by name."""
    return {"seed": data.seed, **{name: make(data) for name, make in SECTIONS.items()}}


def write_transfer_report(report: Mapping, model: TransferModel, memory: MemoryModel, folder: Path) -> dict:
    """Write report and card beside `transfer.json` and `memory.json`; returns the report as it was written.

    Checksums tie it to those two files and to itself; the app shows it only beside them.
    """
    content = {
        "made": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "transfer_checksum": model.checksum,
        "memory_checksum": memory.checksum,
        **report,
    }
    content = {**content, "checksum": manifest_checksum(content)}
    card = transfer_card(read_transfer_accuracy(content), model, memory)
    (folder / TRANSFER_REPORT_NAME).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (folder / TRANSFER_CARD_NAME).write_text(card, encoding="utf-8")
    return content
