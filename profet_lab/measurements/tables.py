"""The PROFET measurements: read from their tables, and summed to operation classes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow  # noqa: F401  (reads the tables: missing, it is named before any work)
from msgspec import Struct

from profet_core.ensemble.members import StepInputs, size_inputs, step_inputs
from profet_core.ensemble.operations import IDLE_CLASS, ClassTimes, OperationClasses, load_operation_classes
from profet_core.errors import InputError, ProfetError
from profet_core.files import sha256_hex
from profet_profiles.profet_json import VERSION_1_STEPS
from profet_profiles.record import DEVICE_PREFIX, HOST_PREFIX

WITH_LATENCY, WITHOUT_LATENCY = "with_latency", "without_latency"
#: Whether the anchor's latency is given -> the case.
CASES = {True: WITH_LATENCY, False: WITHOUT_LATENCY}


DATA_VARIABLE = "PROFET_DATA"
PROFILES_FILE = Path("profet") / "profiles.parquet"
LATENCIES_FILE = Path("profet") / "latencies.parquet"
ARCHITECTURES_FILE = Path("architectures.csv")
#: Columns that tell workloads apart; the repeats of one have another.
WORKLOAD = ["model", "pixels", "batch_size"]
_RUN = [*WORKLOAD, "repeat"]
#: Anchor and target.
Pair = tuple[str, str]


class DataError(ProfetError):
    """The measurements are missing or not what they should be."""


class MeasuredRows(Struct, frozen=True):
    """Rows of the same workloads on every instance.

    Attributes
    ----------
    workloads : columns model, pixels, batch_size, repeat; shape (rows, 4).
    latency_ms : instance -> float64 (rows,), milliseconds a step.
    """

    workloads: pd.DataFrame
    latency_ms: Mapping[str, np.ndarray]

    @property
    def instances(self) -> tuple[str, ...]:
        """Instances that were measured."""
        return tuple(self.latency_ms)

    @property
    def architectures(self) -> np.ndarray:
        """Architecture of each row, the groups of the folds."""
        return self.workloads["model"].to_numpy()


class Measurements(MeasuredRows, frozen=True):
    """The profiles table, split by instance; row i is the same workload and repeat on each of them.

    Attributes
    ----------
    operations : names of the profile's columns ("Device_AddN", ...).
    times_us : instance -> float64 (rows, operations), microseconds of one step.
    all_latencies : every run, also of workloads that not all instances could hold and that have no profile; columns
        instance, model, pixels, batch_size, repeat, batch_latency_ms, epoch_latency_s.
    sha256 : file -> hash of what was read.
    """

    operations: tuple[str, ...]
    times_us: dict[str, np.ndarray]
    all_latencies: pd.DataFrame
    sha256: dict[str, str]

    def device_total_us(self, instance: str) -> np.ndarray:
        """Sum of all device rows of each profile, idle included."""
        device = [column for column, name in enumerate(self.operations) if name.startswith(DEVICE_PREFIX)]
        return self.times_us[instance][:, device].sum(axis=1)


def data_folder(given: Path | str | None = None) -> Path:
    """Return the folder given, else `$PROFET_DATA`, else `data/` of the checkout."""
    folder = Path(given or os.environ.get(DATA_VARIABLE) or Path(__file__).resolve().parents[2] / "data")
    if not (folder / PROFILES_FILE).is_file():
        raise DataError(f"No measurements in {folder}: name their folder with --data or {DATA_VARIABLE}.")
    return folder


def found_file(folder: Path, name: Path) -> Path:
    """Return a file of the measurements' folder; DataError where it is missing."""
    if not (folder / name).is_file():
        raise DataError(f"No {name} in {folder}: name a folder with all measurements.")
    return folder / name


def load_measurements(folder: Path) -> Measurements:
    """Read `profet/profiles.parquet` and `profet/latencies.parquet` below `folder`."""
    path, latencies = (found_file(folder, name) for name in (PROFILES_FILE, LATENCIES_FILE))
    table = pd.read_parquet(path).sort_values(["instance", *_RUN], ignore_index=True)
    by_instance = {str(name): part.reset_index(drop=True) for name, part in table.groupby("instance")}
    workloads = next(iter(by_instance.values()))[_RUN]
    for instance, part in by_instance.items():
        if not part[_RUN].equals(workloads):
            raise DataError(f"{path}: {instance} has other workloads than the rest.")
    operations = tuple(column for column in table.columns if column.startswith((DEVICE_PREFIX, HOST_PREFIX)))
    return Measurements(
        workloads=workloads,
        operations=operations,
        # The published profiles hold two steps each.
        times_us={name: part[list(operations)].to_numpy(float) / VERSION_1_STEPS for name, part in by_instance.items()},
        latency_ms={name: part["batch_latency_ms"].to_numpy(float) for name, part in by_instance.items()},
        all_latencies=pd.read_parquet(latencies),
        sha256={str(name): sha256_hex((folder / name).read_bytes()) for name in (PROFILES_FILE, LATENCIES_FILE)},
    )


def load_architectures(folder: Path) -> pd.DataFrame:
    """`architectures.csv`: one row a model and pixel size that can be built (Inception* not under 75 pixels)."""
    return pd.read_csv(found_file(folder, ARCHITECTURES_FILE))


def load_parameters(folder: Path) -> pd.Series:
    """Return the number of parameters by (model, pixels), from `architectures.csv` below `folder`."""
    return load_architectures(folder).set_index(["model", "pixels"])["parameters"]


def pairs(instances: Sequence[str]) -> list[Pair]:
    """Every (anchor, target) pair."""
    return [(anchor, target) for anchor in instances for target in instances if target != anchor]


def check_instances(measurements: Measurements, names: Sequence[str]) -> None:
    """Refuse names of instances that were not measured."""
    for name in names:
        if name not in measurements.instances:
            raise InputError(f"Unknown instance {name!r}: choose one of {', '.join(measurements.instances)}.")


class ClassBank(MeasuredRows, frozen=True):
    """Class times of all profiles.

    Attributes
    ----------
    classes : the operation classes, device classes first.
    times : instance -> class times as recorded.
    inputs : (instance, latency known) -> the profiles' inputs, each profile imputed on its own.
    sizes : (rows, 2), batch and pixel size as inputs.
    """

    classes: OperationClasses
    times: Mapping[str, ClassTimes]
    inputs: Mapping[tuple[str, bool], StepInputs]
    sizes: np.ndarray

    @property
    def device_classes(self) -> int:
        """Number of device classes."""
        return len(self.classes.device)

    @property
    def idle_column(self) -> int:
        """Column of idle device time."""
        return self.classes.names.index(IDLE_CLASS)

    @property
    def repeats(self) -> np.ndarray:
        """Number of the repeat in each row."""
        return self.workloads["repeat"].to_numpy()


def class_bank(measurements: Measurements) -> ClassBank:
    """Class times of all measurements."""
    classes, workloads = load_operation_classes(), measurements.workloads
    idle = classes.names.index(IDLE_CLASS)
    sizes = size_inputs(np, workloads[["batch_size"]].to_numpy(float), workloads[["pixels"]].to_numpy(float))
    times = {
        name: classes.encode_table(measurements.operations, times_us)
        for name, times_us in measurements.times_us.items()
    }
    inputs = {
        (name, latency_known): step_inputs(
            times[name], len(classes.device), idle, measurements.latency_ms[name] if latency_known else None, sizes
        )
        for name in times
        for latency_known in (True, False)
    }
    return ClassBank(workloads, dict(measurements.latency_ms), classes, times, inputs, sizes)
