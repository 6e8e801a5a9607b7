"""Find the instances of a dataset that share enough workloads to train models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.dataset import AMP, OK, Dataset
from profet_lab.measurements.tables import WORKLOAD, DataError, Measurements
from profet_lab.own_gpus.calibrate_gpus import Untrained

#: With fewer networks nothing remains to learn from when one is held out for the intervals; with fewer workloads hardly
#: anything is.
LEAST_NETWORKS, LEAST_WORKLOADS = 3, 9


@dataclass(frozen=True, slots=True)
class Common:
    """Measurements that models are trained on, and the instances that are not among them."""

    measurements: Measurements
    framework: str
    precision: str
    without: tuple[Untrained, ...]


def common_workloads(dataset: Dataset) -> Common:
    """The instances that have enough workloads in common, in the framework and precision that most of these ran in.

    The instance with the fewest profiles is dropped while they have not.

    Raises
    ------
    DataError : no two instances have enough.
    """
    names = sorted(dataset.instances)
    without: list[Untrained] = []
    while len(names) > 1:
        tried = [_common(dataset, names, *kind) for kind in _kinds(dataset)]
        enough = [one for one in tried if _is_enough(one.measurements)]
        if enough:
            best = max(enough, key=lambda one: len(one.measurements.workloads))
            return Common(best.measurements, best.framework, best.precision, tuple(without))
        fewest = min(names, key=lambda name: (dataset.profiled["instance"] == name).sum())
        shared = max((_workloads(one.measurements) for one in tried), default=0)
        why = f"{shared} workloads in common with {', '.join(name for name in names if name != fewest)}: too few"
        without.append(Untrained(fewest, why))
        names.remove(fewest)
    raise DataError(
        f"No two instances have {LEAST_WORKLOADS} profiled workloads of {LEAST_NETWORKS} networks in common, in one "
        "framework and precision: collect more, or name the published measurements with --data too."
    )


def _kinds(dataset: Dataset) -> list[tuple[str, str]]:
    """Every framework and precision, but mixed precision."""
    ran = dataset.profiled
    ran = ran[(ran["status"] == OK) & (ran["precision"] != AMP)]
    return sorted(set(zip(ran["framework"], ran["precision"], strict=True)))


def _common(dataset: Dataset, names: Sequence[str], framework: str, precision: str) -> Common:
    return Common(measurements_of(dataset, names, framework=framework, precision=precision), framework, precision, ())


def _workloads(measurements: Measurements) -> int:
    return len(measurements.workloads[WORKLOAD].drop_duplicates())


def _is_enough(measurements: Measurements) -> bool:
    networks = measurements.workloads["model"].nunique()
    return networks >= LEAST_NETWORKS and _workloads(measurements) >= LEAST_WORKLOADS
