"""Training data of the default method: imputed class times of every profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profet_core.ensemble.classes import IDLE_CLASS, ClassTimes, OperationClasses, load_operation_classes
from profet_core.ensemble.members import StepInputs, size_inputs, step_inputs
from profet_lab.measurements.tables import Measurements

#: A class that takes time in less than this share of a fold's training profiles is unseen to it.
SEEN_SHARE = 0.002
#: A class ratio counts where the class takes at least this share of the device time (or of 7.5 ms, if less) ...
RATIO_SHARE, RATIO_TOTAL_MS = 0.02, 7.5
#: ... and is a median over at least this many profiles; else the typical ratio stands in.
RATIO_ROWS = 20


@dataclass(frozen=True)
class Training:
    """What one model learns: a pair, from some rows of the measurements.

    rows : boolean mask.
    latency_known, sizes_known : what the model sees of a profile besides its operations.
    """

    anchor: str
    target: str
    rows: np.ndarray
    latency_known: bool
    sizes_known: bool = False

    @property
    def pair(self) -> tuple[str, str]:
        """Anchor and target."""
        return self.anchor, self.target


@dataclass(frozen=True)
class ClassBank:
    """Class times of all profiles; row i is the same workload on each instance.

    times : instance -> class times as recorded.
    inputs : (instance, latency known) -> the profiles' inputs.
    latency_ms : instance -> (rows,).
    sizes : (rows, 2), batch and pixel size as inputs.
    architectures, repeats : (rows,).
    """

    classes: OperationClasses
    times: dict[str, ClassTimes]
    inputs: dict[tuple[str, bool], StepInputs]
    latency_ms: dict[str, np.ndarray]
    sizes: np.ndarray
    architectures: np.ndarray
    repeats: np.ndarray

    @property
    def device_classes(self) -> int:
        """Number of device classes, which come first."""
        return len(self.classes.device)

    @property
    def idle_column(self) -> int:
        """Column of idle device time."""
        return self.classes.names.index(IDLE_CLASS)

    @property
    def instances(self) -> tuple[str, ...]:
        """Instances that were measured."""
        return tuple(self.latency_ms)

    def unseen(self, anchor: str, rows: np.ndarray) -> np.ndarray:
        """Device classes that the anchor's profiles of `rows` never have, boolean (classes,)."""
        seen = (self.inputs[anchor, True].classes_ms[rows] > 0).mean(axis=0) > SEEN_SHARE
        seen[self.device_classes :] = True
        return ~seen

    def log_ratios(self, training: Training) -> tuple[np.ndarray, float]:
        """Median log ratio of target to anchor time of each device class, and the typical one."""
        profiles = self.inputs[training.anchor, training.latency_known], self.inputs[training.target, True]
        here, there = (inputs.classes_ms[training.rows][:, : self.device_classes] for inputs in profiles)
        least = RATIO_SHARE * np.minimum(here.sum(axis=1, keepdims=True), RATIO_TOTAL_MS)
        counts = (here > least) & (there > 5e-4)
        logs = np.where(counts, np.log(np.maximum(there, 5e-5) / np.maximum(here, 5e-5)), np.nan)
        enough = counts.sum(axis=0) >= RATIO_ROWS
        medians = np.full(self.device_classes, np.nan)
        medians[enough] = np.nanmedian(logs[:, enough], axis=0)
        typical = float(np.nanmedian(medians)) if enough.any() else 0.0
        return np.where(enough, medians, typical), typical


def class_bank(measurements: Measurements) -> ClassBank:
    """Class times of all measurements, each profile imputed on its own."""
    classes = load_operation_classes()
    device, idle = len(classes.device), classes.names.index(IDLE_CLASS)
    workloads = measurements.workloads
    sizes = size_inputs(np, workloads[["batch_size"]].to_numpy(float), workloads[["pixels"]].to_numpy(float))
    recorded, inputs = {}, {}
    for instance in measurements.instances:
        times = recorded[instance] = classes.encode_table(measurements.operations, measurements.times_us[instance])
        for known in (True, False):
            latency_ms = measurements.latency_ms[instance] if known else None
            inputs[instance, known] = step_inputs(times, device, idle, latency_ms, sizes)
    return ClassBank(
        classes=classes,
        times=recorded,
        inputs=inputs,
        latency_ms=dict(measurements.latency_ms),
        sizes=sizes,
        architectures=measurements.architectures,
        repeats=workloads["repeat"].to_numpy(),
    )
